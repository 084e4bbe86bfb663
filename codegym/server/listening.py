"""The server: who may connect, and how it ends."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from codegym.errors import UnavailableError, UsageError
from codegym.sandbox.base import Backend
from codegym.sandbox.remote.address import Address, is_loopback
from codegym.sandbox.remote.wire import Wire, notice_loss, welcome
from codegym.server.layers import Layers
from codegym.server.session import Host, Session
from codegym.store import LayerStore

_HANDSHAKE_SEC = 10.0
_MAX_STRANGERS = 64  # connections that have not shown the token yet
_MAX_CLIENTS = 256


@dataclass(frozen=True, slots=True)
class Options:
    """How a server listens.

    Attributes:
        host: Its own address. Any but loopback needs a certificate.
        port: 0 for any that is free.
        token: What clients have to know.
        max_sandboxes: How many there may be at once.
        certificate: Its certificate (PEM), with those between it and the CA.
        key: The certificate's key (PEM).
    """

    host: str
    port: int
    token: bytes = field(repr=False)
    max_sandboxes: int
    certificate: Path | None = None
    key: Path | None = None


@asynccontextmanager
async def listening(
    backend: Backend, store: LayerStore, options: Options, say: Callable[[str], None]
) -> AsyncIterator[Address]:
    """Serve within the block; at its end every sandbox is stopped.

    Args:
        backend: Starts the sandboxes; the caller closes it.
        store: The backend's, where clients' layers are kept.
        options: How to listen.
        say: Told what an operator may want to know.

    Yields:
        Where it listens.

    Raises:
        UsageError: It must not listen there without TLS, or its certificate cannot be used.
        UnavailableError: The address is taken or not this machine's, or no sandbox works here.
    """
    secure = _secure(options)
    host = Host(
        backend,
        backend.capabilities(),
        Layers(store, backend.owner),
        options.max_sandboxes,
        say,
    )
    door = _Door(host, options.token)
    try:
        server = await asyncio.start_server(
            door.opened,
            options.host,
            options.port,
            ssl=secure,
            ssl_handshake_timeout=_HANDSHAKE_SEC if secure else None,
        )
    except OSError as error:
        raise UnavailableError(
            f"cannot listen on {options.host}, port {options.port}: {error.strerror or error}",
            "Name another with --host and --port",
        ) from error
    try:
        yield Address(options.host, server.sockets[0].getsockname()[1], secure is not None)
    finally:
        server.close()
        await door.close()


def _secure(options: Options) -> ssl.SSLContext | None:
    if options.certificate is None and options.key is None:
        if not is_loopback(options.host):
            raise UsageError(
                f"--host {options.host}: others could listen to what is said; give a certificate "
                "with --cert and --key, or stay on 127.0.0.1 and let clients come by an SSH tunnel"
            )
        return None
    if options.certificate is None or options.key is None:
        raise UsageError("--cert and --key belong together")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(options.certificate, options.key, password=_no_password)
    except OSError as error:
        raise UsageError(f"--cert, --key: {error.strerror or error}") from error
    return context


def _no_password() -> str:
    raise UsageError("--key: it is encrypted, and nobody is there to type a password")


class _Door:
    """Lets in who knows the token."""

    def __init__(self, host: Host, token: bytes) -> None:
        self._host, self._token = host, token
        self._strangers = 0
        self._clients: dict[asyncio.Task[None], Wire] = {}

    async def opened(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, from its first byte to its last."""
        if not await self._is_known(reader, writer):
            writer.close()
            return
        task = asyncio.current_task()
        if task is None:
            raise TypeError("a connection is served by a task")
        wire = self._clients[task] = Wire(reader, writer)
        try:
            await Session(wire, self._host, _name_of(writer)).run()
        finally:
            del self._clients[task]

    async def _is_known(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if self._strangers >= _MAX_STRANGERS:
            return False
        self._strangers += 1
        try:
            notice_loss(writer.get_extra_info("socket"))
            async with asyncio.timeout(_HANDSHAKE_SEC):
                full = len(self._clients) >= _MAX_CLIENTS
                known = await welcome(reader, writer, self._token, full=full)
        except (EOFError, OSError, TimeoutError):
            return False
        finally:
            self._strangers -= 1
        if not known:
            self._host.say(f"{_name_of(writer)} does not know the token, or is of another version")
        return known

    async def close(self) -> None:
        """End every connection, and wait for what it had."""
        clients = dict(self._clients)
        for wire in clients.values():
            wire.close()
        await asyncio.gather(*clients, return_exceptions=True)


def _name_of(writer: asyncio.StreamWriter) -> str:
    host, port, *_ = writer.get_extra_info("peername") or ("a client", 0)
    return f"{host}, port {port},"
