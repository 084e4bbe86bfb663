"""The ways out of a server's sandboxes: each connection goes back over the client's connection."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import tempfile
from pathlib import Path

from codegym.sandbox.remote.channels import Channel
from codegym.sandbox.remote.wire import Kind, Wire

_numbers = itertools.count(1)


class WayOut:
    """A socket of this server's own that a sandbox and its forks are given as their proxy's.

    Args:
        wire: The client's connection.
        number: What the client calls it.
        channels: Where the connection's channels are known by their numbers.
    """

    def __init__(self, wire: Wire, number: int, channels: dict[int, Channel]) -> None:
        self._wire, self._number, self._channels = wire, number, channels
        self._folder = tempfile.TemporaryDirectory(prefix="codegym-")
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._users = 1

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return Path(self._folder.name, "out")

    async def open(self) -> None:
        """Listen."""
        listening = socket.socket(socket.AF_UNIX)
        folder = os.open(self.socket.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:  # through its descriptor: a path may be longer than a socket's address
            listening.bind(f"/proc/self/fd/{folder}/{self.socket.name}")
        finally:
            os.close(folder)
        self._server = await asyncio.start_unix_server(self._accept, sock=listening)

    def shared(self) -> WayOut:
        """The same, for one more sandbox."""
        self._users += 1
        return self

    def release(self) -> None:
        """One sandbox less; with the last it ends, and what goes through it."""
        self._users -= 1
        if self._users:
            return
        if self._server:
            self._server.close()
        for task in self._open:
            task.cancel()
        self._folder.cleanup()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._carry(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        channel = Channel(self._wire, next(_numbers))
        self._channels[channel.number] = channel
        try:
            await self._wire.send(Kind.OPEN, channel.number, self._number.to_bytes(4))
            await channel.run(reader, writer)
        except OSError:
            writer.transport.abort()
        finally:
            self._channels.pop(channel.number, None)
