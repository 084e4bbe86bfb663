"""Adds and removes episodes while others go on: JSON lines on a socket of the operator's."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mitmproxy.options import Options

from .acceptor import Listener
from .account import Account
from .authority import Authority
from .certificates import EpisodeTls
from .guard import Serve
from .index.client import Client
from .index.opening import open_indexes
from .index.store import Upstream
from .journal import Journal
from .policy_file import PolicyError, read_policy
from .rules import Policy

_LINE_BYTES = 1 << 20


class RefusedError(ValueError):
    """A command that cannot be done, with the reason."""


class Control:
    """The episodes of this process.

    Commands, one JSON object a line, each answered by one:
        ``{"op": "add", "episode", "folder", "log", "policy", "registries", "certificate", "key"}``
        (the last two to go on with an authority that was made before); the answer has them.
        Where a rule is as of a date, also ``as_of`` (RFC 3339), and if wanted ``denied`` (names of
        projects), ``markers`` (strings that no file may have in it) and ``frozen`` (a folder of
        records, which is answered from instead of upstream). Records are kept in the folder beside
        the log that is named like it, with the suffix ``.index``.
        ``{"op": "remove", "episode"}`` and ``{"op": "list"}``.
    An answer has ``ok``, and ``error`` where that is false; ``broken`` if it is the machine's.

    Args:
        options: mitmproxy's.
        inner: The event loop's origins within this process.
    """

    def __init__(self, options: Options, inner: dict[str, Serve]) -> None:
        self._options, self._inner = options, inner
        self._upstream = Upstream(Client.trusting(options.ssl_verify_upstream_trusted_ca))
        self._listeners: dict[str, Listener] = {}

    async def serve(self, path: Path) -> asyncio.Server:
        """Listen on a socket that only this user may use."""
        mask = os.umask(0o077)
        try:
            return await asyncio.start_unix_server(self._converse, path, limit=_LINE_BYTES)
        finally:
            os.umask(mask)

    def close(self) -> None:
        """End all episodes."""
        for listener in self._listeners.values():
            listener.close()
        self._listeners.clear()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if _peer_uid(writer) != os.geteuid():
                return
            while line := await reader.readline():
                writer.write(json.dumps(await self._answer(line)).encode() + b"\n")
                await writer.drain()
        except (ValueError, ConnectionError):
            return  # a line without an end, or a client that went away
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            command = json.loads(line)
            match command["op"]:
                case "add":
                    return {"ok": True} | await self._add(command)
                case "remove":
                    self._remove(command["episode"])
                    return {"ok": True}
                case "list":
                    return {"ok": True, "episodes": sorted(self._listeners)}
                case other:
                    raise RefusedError(f"no command {other!r}")
        except (KeyError, TypeError) as error:
            return {"ok": False, "error": f"not a command: {error!r}"}
        except ValueError as error:
            return {"ok": False, "error": str(error)}
        except OSError as error:
            return {"ok": False, "error": str(error), "broken": True}

    async def _add(self, command: dict[str, Any]) -> dict[str, str]:
        name = command["episode"]
        if name in self._listeners:
            raise RefusedError(f"there is an episode {name!r} already")
        policy = _policy(command)
        authority = Authority(command.get("certificate", ""), command.get("key", ""))
        account = Account(policy, Journal(Path(command["log"])), EpisodeTls(authority))
        with ExitStack() as undo:
            undo.callback(account.close)
            open_indexes(account, command, self._upstream, self._inner)
            listener = Listener(Path(command["folder"]), account, self._options)
            undo.pop_all()
        self._listeners[name] = listener
        try:
            await listener.open()
        except OSError:
            self._remove(name)
            raise
        return {"certificate": authority.certificate_pem(), "key": authority.key_pem()}

    def _remove(self, name: str) -> None:
        listener = self._listeners.pop(name, None)
        if listener is not None:
            listener.close()


def _policy(command: dict[str, Any]) -> Policy:
    try:
        return read_policy(command["policy"], command.get("registries", {}))
    except PolicyError as error:
        raise RefusedError(f"the policy: {error}") from error


def _peer_uid(writer: asyncio.StreamWriter) -> int:
    form = "3i"
    peer = writer.get_extra_info("socket").getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form)
    )
    return int(struct.unpack(form, peer)[1])
