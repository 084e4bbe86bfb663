"""The gym's side of a sandbox's one way out: what a connection inside says goes to the proxy.

A backend brings each connection to ``127.0.0.1:EGRESS_PORT`` inside out here, as a pair of streams,
by a way of its own. No name and no address comes with it: whose it is, the socket says.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from socket import socket as Socket  # noqa: N812 - the proxy's socket is called so here

from codegym.types import EGRESS_PORT

__all__ = ["EGRESS_PORT", "MAX_CONNECTIONS", "Gate", "forward"]

#: So many connections of one sandbox are forwarded at once; others wait until one ends.
MAX_CONNECTIONS = 64

_PIECE_BYTES = 1 << 16
_PAUSE_SEC = 1.0


class Gate:
    """Accepts what connects to a sandbox's listener, and forwards it. Belongs to the running loop.

    Args:
        listener: Made inside the sandbox's network; owned from now on.
        proxy: The proxy's unix socket.
    """

    def __init__(self, listener: Socket, proxy: Path) -> None:
        self._listener, self._proxy = listener, proxy
        self._loop = asyncio.get_running_loop()
        self._open: set[asyncio.Task[None]] = set()
        listener.setblocking(False)
        self._resume()

    def close(self) -> None:
        """End all connections, and let none in any more. Idempotent."""
        if self._listener.fileno() < 0:
            return
        if not self._loop.is_closed():
            self._loop.remove_reader(self._listener)
            for task in self._open:
                task.cancel()
        self._listener.close()

    def _resume(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        while len(self._open) < MAX_CONNECTIONS:
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError:  # this process has no descriptor left, say: a moment later it may
                self._loop.remove_reader(self._listener)
                self._loop.call_later(_PAUSE_SEC, self._resume)
                return
            connection.setblocking(False)
            task = self._loop.create_task(self._serve(connection))
            self._open.add(task)
            task.add_done_callback(self._ended)
        self._loop.remove_reader(self._listener)

    async def _serve(self, connection: Socket) -> None:
        with contextlib.suppress(OSError), connection:
            reader, writer = await asyncio.open_connection(sock=connection)
            await forward(reader, writer, self._proxy)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._open.discard(task)
        self._resume()


async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, socket: Path) -> None:
    """Join a connection from inside to the proxy, until one of them ends; never raises for that.

    Args:
        reader: What the client says.
        writer: What the client hears; closed at the end, at once where no proxy is there.
        socket: The proxy's unix socket.
    """
    try:
        answer, question = await _connect(socket)
    except OSError:
        writer.transport.abort()
        return
    asking = asyncio.ensure_future(_copy(reader, question))
    try:
        await _copy(answer, writer)  # once the proxy has ended it, there is nobody to talk to
    finally:
        asking.cancel()
        question.transport.abort()
        writer.close()


async def _connect(socket: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect through the folder's descriptor: a path may be longer than a socket's address."""
    folder = os.open(socket.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return await asyncio.open_unix_connection(f"/proc/self/fd/{folder}/{socket.name}")
    finally:
        os.close(folder)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(_PIECE_BYTES):
            target.write(data)
            await target.drain()
    with contextlib.suppress(OSError):
        if target.can_write_eof():
            target.write_eof()
