"""Sending layers to a server that does not have them, each once however many ask."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from codegym.errors import NotFoundError, SandboxError, UnavailableError, UsageError
from codegym.sandbox.remote.codec import decode, encode
from codegym.sandbox.remote.dialing import Server
from codegym.sandbox.remote.folders import digest_of, entries_of, pieces_of
from codegym.sandbox.remote.link import failure
from codegym.sandbox.remote.messages import REPLIES, Entry, Failed, Go, Put
from codegym.sandbox.remote.wire import Kind, Messages, Wire
from codegym.store import Holds, LayerStore

_TOLD_EVERY_SEC = 5.0
_TOLD_BYTES = 1 << 20


class Uploads:
    """What is known of this host's layers, and what is being sent.

    Args:
        server: Where to.
        store: Where the layers are.
    """

    def __init__(self, server: Server, store: LayerStore) -> None:
        self._server, self._store, self._holds = server, store, Holds(store)
        self._digests: dict[tuple[Path, int], asyncio.Task[str]] = {}
        self._sending: dict[tuple[str, bool], asyncio.Task[None]] = {}
        self.told: Callable[[str], None] = _silent

    async def digest(self, layer: Path) -> str:
        """Hash of a layer, read once while it is the same folder.

        Raises:
            UsageError: It is no layer of the store. ``SandboxError``: it was pruned.
        """
        if self._store.key_of(layer) is None:
            raise UsageError(f"{layer} is not a layer of this backend's store, {self._store.root}")
        try:
            key = layer, os.stat(layer).st_ino  # noqa: PTH116 - of a local disk
        except FileNotFoundError as error:
            raise _pruned(layer) from error
        known = self._digests.get(key)
        if known is None or (known.done() and (known.cancelled() or known.exception())):
            known = self._digests[key] = asyncio.ensure_future(self._digest(layer))
        return await asyncio.shield(known)

    async def _digest(self, layer: Path) -> str:
        return digest_of(await self._entries(layer))

    async def _entries(self, layer: Path) -> list[Entry]:
        try:
            self._holds.take([layer])
        except NotFoundError as error:
            raise _pruned(layer) from error
        try:
            return await asyncio.to_thread(entries_of, layer)
        except OSError as error:
            raise SandboxError(f"a layer cannot be read: {error}") from error
        finally:
            self._holds.drop([layer])

    async def send(self, layer: Path, digest: str, *, workspace: bool) -> None:
        """Have a layer at the server.

        Raises:
            SandboxError: It could not be sent. ``UnavailableError``: the server has no room, …
        """
        key = digest, workspace
        sending = self._sending.get(key)
        if sending is None:
            sending = asyncio.ensure_future(self._send(layer, digest, workspace))
            self._sending[key] = sending
            sending.add_done_callback(lambda _: self._sending.pop(key, None))
        await asyncio.shield(sending)

    async def _send(self, layer: Path, digest: str, workspace: bool) -> None:
        entries = await self._entries(layer)
        if digest_of(entries) != digest:
            self._digests.clear()
            raise SandboxError(f"{layer} was changed since it was first read")
        try:
            connection = await self._server.dial()
        except UnavailableError as error:  # it was there a moment ago
            raise SandboxError(f"{error}") from error
        try:
            await self._put(connection.wire, layer, Put(digest, workspace, tuple(entries)))
        except OSError as error:
            raise SandboxError(f"sending {layer.name} was broken off: {error}") from error
        finally:
            connection.wire.close()

    async def _put(self, wire: Wire, layer: Path, put: Put) -> None:
        await wire.send_message(0, encode(put))
        if not isinstance(await self._reply(wire), Go):
            return  # somebody else brought it meanwhile
        reply = asyncio.ensure_future(self._reply(wire))
        sending = asyncio.ensure_future(self._stream(wire, layer, put.entries))
        try:  # a refusal comes before all is sent
            await asyncio.wait([reply, sending], return_when=asyncio.FIRST_COMPLETED)
            if not reply.done():
                await sending
            await reply
        finally:
            for task in (reply, sending):
                task.cancel()
            await asyncio.gather(reply, sending, return_exceptions=True)

    async def _stream(self, wire: Wire, layer: Path, entries: Sequence[Entry]) -> None:
        total = sum(entry.size for entry in entries)
        what = f"to {self._server.address} ({layer.name.split('-')[0]})"
        sent, tell_at = 0, time.monotonic() + _TOLD_EVERY_SEC
        if total > _TOLD_BYTES:
            self.told(f"sending {total / 1e6:.0f} MB {what}")
        pieces = pieces_of(layer, entries)
        while piece := next(pieces, b""):
            await wire.send(Kind.DATA, 0, piece)
            sent += len(piece)
            if time.monotonic() > tell_at:
                self.told(f"sent {sent / 1e6:.0f} of {total / 1e6:.0f} MB {what}")
                tell_at += _TOLD_EVERY_SEC

    async def _reply(self, wire: Wire) -> object:
        messages = Messages()
        while (whole := messages.add(await wire.receive())) is None:
            continue
        answer = decode(whole, REPLIES)
        if isinstance(answer, Failed):
            raise failure(answer, str(self._server.address))
        return answer


def _silent(_: str) -> None:
    """Say nothing."""


def _pruned(layer: Path) -> SandboxError:
    return SandboxError(f"a layer was pruned before a sandbox could use it: {layer}")
