"""One connection from inside a sandbox, carried by frames; neither side can flood the other."""

from __future__ import annotations

import asyncio
import contextlib

from codegym.sandbox.remote.wire import PIECE, Frame, Kind, Wire, WireError

#: Bytes on their way in one direction that the other side has not taken yet.
_WINDOW = 4 * PIECE


class Channel:
    """Joins a pair of local streams to the channel ``number`` of a connection."""

    def __init__(self, wire: Wire, number: int) -> None:
        self._wire, self.number = wire, number
        self._room, self._has_room = _WINDOW, asyncio.Event()
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue()  # bounded by the window
        self._waiting_bytes = 0
        self._ended = asyncio.Event()

    def take(self, frame: Frame) -> None:
        """Take a frame of this channel. Raises ``WireError`` where it passes the window."""
        if frame.kind is Kind.DATA:
            self._waiting_bytes += len(frame.data)
            if self._waiting_bytes > _WINDOW or not frame.data:
                raise WireError("a channel was flooded")
            self._arrived.put_nowait(frame.data)
        elif frame.kind is Kind.EOF:
            self._arrived.put_nowait(b"")
        elif frame.kind is Kind.MORE:
            self._room += int.from_bytes(frame.data)
            self._has_room.set()
        else:
            self._ended.set()

    async def run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry until both directions ended, or one side broke off."""
        moving = [asyncio.ensure_future(self._outward(reader))]
        moving.append(asyncio.ensure_future(self._inward(writer)))
        carried = asyncio.ensure_future(asyncio.wait(moving, return_when=asyncio.FIRST_EXCEPTION))
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait([carried, ended], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (carried, ended, *moving):
                task.cancel()
            results = await asyncio.gather(*moving, return_exceptions=True)
            if any(results):  # not None: it broke off
                writer.transport.abort()
                with contextlib.suppress(WireError):
                    await self._wire.send(Kind.CLOSE, self.number)
            else:
                writer.close()

    async def _outward(self, reader: asyncio.StreamReader) -> None:
        while True:
            while self._room <= 0:
                self._has_room.clear()
                await self._has_room.wait()
            data = await reader.read(min(self._room, PIECE))
            if not data:
                await self._wire.send(Kind.EOF, self.number)
                return
            self._room -= len(data)
            await self._wire.send(Kind.DATA, self.number, data)

    async def _inward(self, writer: asyncio.StreamWriter) -> None:
        while data := await self._arrived.get():
            writer.write(data)
            await writer.drain()
            self._waiting_bytes -= len(data)
            await self._wire.send(Kind.MORE, self.number, len(data).to_bytes(4))
        if writer.can_write_eof():
            writer.write_eof()
