"""The gym's end of the one stream to a keeper: frames, within the engine's own."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import struct
import weakref
from collections.abc import Callable
from typing import Any

from codegym.errors import SandboxError
from codegym.sandbox.docker.inside import frames

_ENGINES_HEAD = struct.Struct(">BxxxI")  # 1: output, 2: error; size
_ERROR = 2
_MAX_WORDS = 4096

Sink = Callable[[int, bytes], None]


class Link(asyncio.Protocol):
    """Requests, events and channels.

    Args:
        stream: The socket.
        on_event: Told of each event.
        on_lost: Told once, with the reason, when the stream ends.
    """

    def __init__(
        self,
        stream: socket.socket,
        on_event: Callable[[dict[str, Any]], None],
        on_lost: Callable[[str], None],
    ) -> None:
        self._stream, self._on_event, self._on_lost = stream, on_event, on_lost
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._parser = frames.Parser()
        self._numbers = itertools.count()
        self._channels = itertools.count(1)
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._sinks: dict[int, Sink] = {}
        self._transport: asyncio.Transport | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._words = b""
        self.alive = False

    @classmethod
    async def over(
        cls,
        stream: socket.socket,
        on_event: Callable[[dict[str, Any]], None],
        on_lost: Callable[[str], None],
    ) -> Link:
        """A link over a socket, which it owns from now on."""
        stream.setblocking(False)
        _streams.add(stream)
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(lambda: cls(stream, on_event, on_lost), sock=stream)
        return made

    # -- requests and channels ---------------------------------------------------------------------

    def ask(self, op: str, **request: Any) -> asyncio.Future[dict[str, Any]]:
        """Send a request, now; its answer comes, or ``SandboxError``.

        Raises:
            SandboxError: It could not be sent.
        """
        number = next(self._numbers)
        self.send(0, frames.MESSAGE, json.dumps({"id": number, "op": op, **request}).encode())
        reply = self._replies[number] = self._loop.create_future()
        return reply

    def new_channels(self, count: int) -> int:
        """The first of so many numbers that no other channel has."""
        first = next(self._channels)
        for _ in range(count - 1):
            next(self._channels)
        return first

    def take(self, channel: int, sink: Sink | None) -> None:
        """Hand a channel's frames (kind, data) to ``sink``; None to stop."""
        if sink:
            self._sinks[channel] = sink
        else:
            self._sinks.pop(channel, None)

    def send(self, channel: int, kind: int, data: bytes = b"") -> None:
        """Send a frame. Raises ``SandboxError``."""
        if self._transport is None or not self.alive:
            raise SandboxError("a sandbox's keeper is gone")
        self._transport.write(frames.frame(channel, kind, data))

    def send_raw(self, data: bytes) -> None:
        """Send what is no frame: the program that will read frames."""
        if self._transport is not None:
            self._transport.write(data)

    async def send_all(self, channel: int, data: bytes) -> None:
        """Send data of any size, as it is taken."""
        for at in range(0, len(data), frames.PIECE_BYTES):
            self.send(channel, frames.DATA, data[at : at + frames.PIECE_BYTES])
            await self._room.wait()

    def close(self) -> None:
        """End the stream, and with it the keeper. Idempotent."""
        self.alive = False
        if self._loop.is_closed():
            self._stream.close()
        elif self._transport is not None:
            self._transport.abort()

    # -- the protocol ------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start."""
        if isinstance(transport, asyncio.Transport):
            self._transport, self.alive = transport, True

    def data_received(self, data: bytes) -> None:
        """Take what the engine hands on."""
        self._buffer += data
        at = 0
        while len(self._buffer) - at >= _ENGINES_HEAD.size:
            kind, size = _ENGINES_HEAD.unpack_from(self._buffer, at)
            end = at + _ENGINES_HEAD.size + size
            if len(self._buffer) < end:
                break
            content = bytes(memoryview(self._buffer)[at + _ENGINES_HEAD.size : end])
            at = end
            if kind == _ERROR:
                self._words = (self._words + content)[-_MAX_WORDS:]
                continue
            for channel, what, piece in self._parser.feed(content):
                self._dispatch(channel, what, piece)
        del self._buffer[:at]

    def _dispatch(self, channel: int, kind: int, data: bytes) -> None:
        if channel:
            if sink := self._sinks.get(channel):
                sink(kind, data)
            return
        message = json.loads(data)
        if "event" in message:
            self._on_event(message)
            return
        reply = self._replies.pop(message["id"])
        if reply.done():  # nobody waits any more
            return
        if "error" in message:
            reply.set_exception(SandboxError(message["error"]))
        else:
            reply.set_result(message)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all who wait."""
        self.alive = False
        self._room.set()
        lines = self._words.decode(errors="replace").strip().splitlines()
        problem = f"a sandbox's keeper ended: {lines[-1] if lines else exc or 'it was stopped'}"
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(SandboxError(problem))
        self._on_lost(problem)

    def pause_writing(self) -> None:
        """The engine does not keep up."""
        self._room.clear()

    def resume_writing(self) -> None:
        """It does again."""
        self._room.set()


_streams: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _forget_all() -> None:
    """In a forked child: it is the parent's death that ends a keeper."""
    for stream in list(_streams):
        stream.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
