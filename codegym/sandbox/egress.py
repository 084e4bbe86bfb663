"""The gym's side of a sandbox's one way out: what a connection inside says goes to the proxy.

A backend brings each connection to ``127.0.0.1:EGRESS_PORT`` inside out here, as a pair of streams,
by a way of its own. No name and no address comes with it: whose it is, the socket says.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

#: The port on a sandbox's loopback that leads to the proxy.
EGRESS_PORT = 3128

_PIECE_BYTES = 1 << 16


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
    try:
        await asyncio.gather(_copy(reader, question), _copy(answer, writer))
    finally:
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
