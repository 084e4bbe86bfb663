"""Connections out of a sandbox, as its keeper carries them: each goes to the proxy."""

from __future__ import annotations

import asyncio
from pathlib import Path

from codegym.errors import SandboxError
from codegym.sandbox.docker.inside import frames
from codegym.sandbox.docker.link import Link
from codegym.sandbox.egress import forward


class Doors:
    """All connections of one sandbox."""

    def __init__(self, link: Link, proxy: Path) -> None:
        self._link, self._proxy = link, proxy
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, channel: int) -> None:
        """Forward a new one."""
        carried = Carried(self._link, channel)
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        carried.begin(protocol)
        writer = asyncio.StreamWriter(carried, protocol, reader, asyncio.get_running_loop())
        task = asyncio.ensure_future(forward(reader, writer, self._proxy))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: carried.close())

    def close(self) -> None:
        """End all."""
        for task in self._tasks:
            task.cancel()


class Carried(asyncio.Transport):
    """The gym's end of one connection; neither side can flood the other."""

    def __init__(self, link: Link, channel: int) -> None:
        super().__init__()
        self._link, self._channel = link, channel
        self._protocol: asyncio.StreamReaderProtocol | None = None
        self._room = frames.WINDOW_BYTES
        self._waiting = bytearray()
        self._paused, self._held = False, 0
        self._ending = self._closed = self._full = False
        self._last = frames.END

    def begin(self, protocol: asyncio.StreamReaderProtocol) -> None:
        """Start to carry."""
        self._protocol = protocol
        self._link.take(self._channel, self._on_frame)
        protocol.connection_made(self)

    def _on_frame(self, kind: int, data: bytes) -> None:
        if self._protocol is None:
            return
        if kind == frames.DATA:
            self._held += len(data)
            self._protocol.data_received(data)
            self._acknowledge()
        elif kind == frames.END:
            self._protocol.eof_received()
        elif kind == frames.MORE:
            self._room += int.from_bytes(data, "big")
            self._flush()
        else:
            self._lose(ConnectionResetError("the client is gone"))

    def _acknowledge(self) -> None:
        if self._held and not self._paused:
            held, self._held = self._held, 0
            self._send(frames.MORE, held.to_bytes(4, "big"))

    def _send(self, kind: int, data: bytes = b"") -> None:
        if not self._closed:
            try:
                self._link.send(self._channel, kind, data)
            except SandboxError as error:
                self._lose(ConnectionResetError(str(error)))

    # -- what a stream asks of its transport -------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        """Send, now or when there is room."""
        self._waiting += data
        self._flush()
        if self._waiting and not self._full and self._protocol:
            self._full = True
            self._protocol.pause_writing()

    def _flush(self) -> None:
        while self._waiting and self._room:
            piece = bytes(self._waiting[: min(self._room, frames.PIECE_BYTES)])
            del self._waiting[: len(piece)]
            self._room -= len(piece)
            self._send(frames.DATA, piece)
        if not self._waiting:
            if self._full and self._protocol:
                self._full = False
                self._protocol.resume_writing()
            if self._ending:
                self._ending = False
                self._send(self._last)
                if self._last == frames.CLOSE:
                    self._lose(None)

    def write_eof(self) -> None:
        """End this direction, once all is sent."""
        self._ending = True
        self._flush()

    def can_write_eof(self) -> bool:
        """It can."""
        return True

    def pause_reading(self) -> None:
        """The proxy does not keep up."""
        self._paused = True

    def resume_reading(self) -> None:
        """It does again."""
        self._paused = False
        self._acknowledge()

    def is_closing(self) -> bool:
        """Whether it is at its end."""
        return self._closed

    def close(self) -> None:
        """End it; what was written is sent first."""
        self._last = frames.CLOSE
        self._ending = True
        self._flush()

    def abort(self) -> None:
        """End it now."""
        self._send(frames.BROKEN)
        self._lose(None)

    def _lose(self, error: Exception | None) -> None:
        if not self._closed:
            self._closed = True
            self._link.take(self._channel, None)
            if self._protocol:
                asyncio.get_running_loop().call_soon(self._protocol.connection_lost, error)
