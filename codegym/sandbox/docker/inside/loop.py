"""The keeper's loop: descriptors, channels and messages."""

from __future__ import annotations

import itertools
import json
import os
import queue
import selectors
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from codegym.sandbox.docker.inside import frames

_HIGH_BYTES = 4 << 20  # on their way to the gym; more is not read from pipes meanwhile
_READ_BYTES = 1 << 18

Request = dict[str, Any]


class Outbox:
    """What is to be written to the gym; threads may add to it."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._pieces: deque[memoryview] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._wake = wake
        os.set_blocking(1, False)

    @property
    def full(self) -> bool:
        """Whether it is time to wait."""
        return self._size >= _HIGH_BYTES

    @property
    def empty(self) -> bool:
        """Whether all is written."""
        return not self._pieces

    def put(self, data: bytes, *, wait: bool = False) -> None:
        """Add; threads wait for room."""
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: not self.full)
            self._pieces.append(memoryview(data))
            self._size += len(data)
        if wait:
            self._wake()

    def flush(self) -> None:
        """Write what can be written."""
        with self._changed:
            while self._pieces:
                try:
                    count = os.write(1, self._pieces[0])
                except BlockingIOError:
                    break
                self._size -= count
                if count == len(self._pieces[0]):
                    self._pieces.popleft()
                else:
                    self._pieces[0] = self._pieces[0][count:]
            self._changed.notify_all()


class Loop:
    """The loop: descriptors, channels, messages; a ``relay.Hub``."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._sources: dict[int, Callable[[], None]] = {}
        self._targets: dict[int, Callable[[], None]] = {}
        self._sinks: dict[int, Callable[[int, bytes], None]] = {}
        self._later: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._numbers = itertools.count(frames.KEEPERS_OWN)
        self._waking, self._woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.outbox = Outbox(self._wake)
        self._paused = False
        self._selector.register(self._waking, selectors.EVENT_READ)

    # -- for the relay ----------------------------------------------------------------------------

    def send(self, channel: int, kind: int, data: bytes = b"") -> None:
        """Send a frame to the gym."""
        self.outbox.put(frames.frame(channel, kind, data))

    def tell(self, **event: object) -> None:
        """Send a message."""
        self.send(0, frames.MESSAGE, json.dumps(event).encode())

    def take(self, channel: int, sink: Callable[[int, bytes], None] | None) -> None:
        """Hand a channel's frames to ``sink``."""
        if sink:
            self._sinks[channel] = sink
        else:
            self._sinks.pop(channel, None)

    def on_read(self, file: int, callback: Callable[[], None] | None) -> None:
        """Call when it can be read, unless the gym is behind."""
        self._set(self._sources, file, callback)

    def on_write(self, file: int, callback: Callable[[], None] | None) -> None:
        """Call when it can be written."""
        self._set(self._targets, file, callback)

    def new_channel(self) -> int:
        """A new number."""
        return next(self._numbers)

    # -- the loop ---------------------------------------------------------------------------------

    def soon(self, callback: Callable[[], None]) -> None:
        """Call from the loop; from any thread."""
        self._later.put(callback)
        self._wake()

    def run(self, on_message: Callable[[Request], None]) -> None:
        """Serve until the gym's end closes."""
        parser = frames.Parser()
        os.set_blocking(0, False)
        self._selector.register(0, selectors.EVENT_READ)
        while True:
            self.outbox.flush()
            self._settle()
            for key, events in self._selector.select():
                if key.fd == 0:
                    data = os.read(0, _READ_BYTES)
                    if not data:
                        return
                    for channel, kind, content in parser.feed(data):
                        self._dispatch(channel, kind, content, on_message)
                elif key.fd == self._waking:
                    os.read(self._waking, 4096)
                    while not self._later.empty():
                        self._later.get()()
                else:
                    self._call(key.fd, events)

    def _dispatch(
        self, channel: int, kind: int, data: bytes, on_message: Callable[[Request], None]
    ) -> None:
        if channel == 0:
            on_message(json.loads(data))
        elif sink := self._sinks.get(channel):
            sink(kind, data)

    def _call(self, file: int, events: int) -> None:
        for mask, callbacks in (
            (selectors.EVENT_WRITE, self._targets),
            (selectors.EVENT_READ, self._sources),
        ):
            callback = callbacks.get(file)
            if events & mask and callback:
                callback()

    def _settle(self) -> None:
        """Wait for room to write where some is needed, and stop reading while the gym is behind."""
        self._watch(1, 0 if self.outbox.empty else selectors.EVENT_WRITE)
        if self.outbox.full != self._paused:
            self._paused = self.outbox.full
            for file in list(self._sources):
                self._refresh(file)

    def _set(
        self,
        callbacks: dict[int, Callable[[], None]],
        file: int,
        callback: Callable[[], None] | None,
    ) -> None:
        if callback:
            callbacks[file] = callback
        else:
            callbacks.pop(file, None)
        self._refresh(file)

    def _refresh(self, file: int) -> None:
        reads = file in self._sources and not self._paused
        events = selectors.EVENT_READ if reads else 0
        self._watch(file, events | (selectors.EVENT_WRITE if file in self._targets else 0))

    def _watch(self, file: int, events: int) -> None:
        known = self._selector.get_map().get(file)
        if known is None:
            if events:
                self._selector.register(file, events)
        elif not events:
            self._selector.unregister(file)
        elif known.events != events:
            self._selector.modify(file, events)

    def _wake(self) -> None:
        try:
            os.write(self._woken, b"x")
        except BlockingIOError:  # awake already
            return


class Inflow:
    """The bytes of a channel, for a thread to read."""

    def __init__(self, loop: Loop, channel: int) -> None:
        self._pieces: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._buffer = b""
        loop.take(channel, self._take)

    def _take(self, kind: int, data: bytes) -> None:
        self._pieces.put(data if kind == frames.DATA else b"")

    def read(self, size: int) -> bytes:
        """Exactly so many bytes."""
        while len(self._buffer) < size:
            piece = self._pieces.get()
            if not piece:
                raise OSError("what was sent is cut short")
            self._buffer += piece
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data


class Outflow:
    """A file that is a channel; a thread writes it."""

    def __init__(self, loop: Loop, channel: int) -> None:
        self._loop, self._channel = loop, channel

    def write(self, data: bytes) -> int:
        """Send, waiting while the gym is behind."""
        for at in range(0, len(data), _READ_BYTES):
            piece = frames.frame(self._channel, frames.DATA, data[at : at + _READ_BYTES])
            self._loop.outbox.put(piece, wait=True)
        return len(data)

    def end(self) -> None:
        """Say that this was all."""
        self._loop.outbox.put(frames.frame(self._channel, frames.END))
