"""What a keeper carries for one shell: its pipes, and the connections that leave its sandbox."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Callable
from typing import Protocol

from codegym.sandbox.docker.inside.frames import (
    BROKEN,
    CLOSE,
    DATA,
    END,
    MORE,
    PIECE_BYTES,
    WINDOW_BYTES,
)

_READ_BYTES = 1 << 18
_MAX_CONNECTIONS = 64


class Hub(Protocol):
    """What the keeper's loop does for them."""

    def send(self, channel: int, kind: int, data: bytes = b"") -> None:
        """Send a frame to the gym."""
        ...

    def tell(self, **event: object) -> None:
        """Send an event to the gym."""
        ...

    def take(self, channel: int, sink: Callable[[int, bytes], None] | None) -> None:
        """Hand a channel's frames to ``sink``; None to stop."""
        ...

    def on_read(self, file: int, callback: Callable[[], None] | None) -> None:
        """Call when a descriptor can be read, while the gym takes what is sent; None to stop."""
        ...

    def on_write(self, file: int, callback: Callable[[], None] | None) -> None:
        """Call when a descriptor can be written; None to stop."""
        ...

    def new_channel(self) -> int:
        """A number that no other channel has."""
        ...


class Feed:
    """Writes to a descriptor what it can take, and keeps the rest."""

    def __init__(self, hub: Hub, descriptor: int, written: Callable[[int], None] | None = None):
        self._hub, self._descriptor, self._written = hub, descriptor, written
        self._pieces: deque[memoryview] = deque()
        self._at_end: Callable[[], None] | None = None
        os.set_blocking(descriptor, False)

    def write(self, data: bytes) -> None:
        """Write, now or later."""
        self._pieces.append(memoryview(data))
        if len(self._pieces) == 1:
            self._flush()

    def on_frame(self, _kind: int, data: bytes) -> None:
        """Write a frame's data."""
        self.write(data)

    def end(self, done: Callable[[], None]) -> None:
        """Call ``done`` once everything is written."""
        self._at_end = done
        if not self._pieces:
            self._flush()

    def _flush(self) -> None:
        while self._pieces:
            try:
                count = os.write(self._descriptor, self._pieces[0])
            except BlockingIOError:
                self._hub.on_write(self._descriptor, self._flush)
                return
            except OSError:  # nobody reads it any more
                self._pieces.clear()
                break
            if self._written:
                self._written(count)
            if count == len(self._pieces[0]):
                self._pieces.popleft()
            else:
                self._pieces[0] = self._pieces[0][count:]
        self._hub.on_write(self._descriptor, None)
        if self._at_end:
            self._at_end()
            self._at_end = None

    def close(self) -> None:
        """Stop."""
        self._pieces.clear()
        self._hub.on_write(self._descriptor, None)


class Session:
    """One shell's pipes. Its channels: output, status, report (to the gym), command, input."""

    def __init__(self, hub: Hub, first_channel: int) -> None:
        self._hub = hub
        self._channels = [first_channel + each for each in range(5)]
        pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(5)]
        self._sources = [reading for reading, _ in pipes[:3]]
        self._targets = [writing for _, writing in pipes[3:]]
        output, status, report = (writing for _, writing in pipes[:3])
        command, given = (reading for reading, _ in pipes[3:])
        self.inside = [output, command, status, given, report]
        for source in self._sources:
            os.set_blocking(source, False)
        self._feeds = [Feed(hub, target) for target in self._targets]

    def open(self) -> None:
        """Start carrying, once the other ends are sent."""
        self._close_inside()
        output, status, report = self._sources
        self._hub.on_read(output, lambda: self._carry(0))
        self._hub.on_read(status, self.flush)
        self._hub.on_read(report, lambda: self._carry(2))
        for channel, feed in zip(self._channels[3:], self._feeds, strict=True):
            self._hub.take(channel, feed.on_frame)

    def flush(self) -> None:
        """Send what is there: what was printed and reported before a status comes before it."""
        for which in (0, 2, 1):
            self._carry(which)

    def _carry(self, which: int) -> None:
        source = self._sources[which]
        if source < 0:
            return
        try:
            data = os.read(source, _READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._hub.send(self._channels[which], DATA, data)
            return
        self._hub.send(self._channels[which], END)
        self._close_source(which)

    def _close_source(self, which: int) -> None:
        source = self._sources[which]
        if source >= 0:
            self._hub.on_read(source, None)
            os.close(source)
            self._sources[which] = -1

    def _close_targets(self) -> None:
        for channel, feed, target in zip(
            self._channels[3:], self._feeds, self._targets, strict=False
        ):
            self._hub.take(channel, None)
            feed.close()
            os.close(target)
        self._feeds, self._targets = [], []

    def _close_inside(self) -> None:
        for descriptor in self.inside:
            os.close(descriptor)
        self.inside = []

    def close(self) -> None:
        """Close everything. Idempotent."""
        self._close_inside()
        self._close_targets()
        for which in range(3):
            self._close_source(which)


class Door:
    """The one way out of a sandbox: what connects to its listener goes to the gym."""

    def __init__(self, hub: Hub, listener: socket.socket, slot: int) -> None:
        self._hub, self._listener, self._slot = hub, listener, slot
        self._open: set[Connection] = set()
        listener.setblocking(False)
        hub.on_read(listener.fileno(), self._accept)

    def _accept(self) -> None:
        if len(self._open) >= _MAX_CONNECTIONS:
            self._hub.on_read(self._listener.fileno(), None)
            return
        try:
            joined, _ = self._listener.accept()
        except OSError:  # it is gone again
            return
        channel = self._hub.new_channel()
        self._hub.tell(event="connected", slot=self._slot, channel=channel)
        self._open.add(Connection(self._hub, joined, channel, self._ended))

    def _ended(self, connection: Connection) -> None:
        self._open.discard(connection)
        if self._listener.fileno() >= 0:
            self._hub.on_read(self._listener.fileno(), self._accept)

    def close(self) -> None:
        """End all connections, and let none in."""
        self._hub.on_read(self._listener.fileno(), None)
        self._listener.close()
        for connection in list(self._open):
            connection.abort()


class Connection:
    """One connection out, carried on a channel; neither side can flood the other."""

    def __init__(
        self,
        hub: Hub,
        joined: socket.socket,
        channel: int,
        ended: Callable[[Connection], None],
    ) -> None:
        self._hub, self._socket, self._channel, self._on_end = hub, joined, channel, ended
        self._room = WINDOW_BYTES
        self._reading, self._writing = True, True
        joined.setblocking(False)
        self._feed = Feed(hub, joined.fileno(), self._taken)
        hub.take(channel, self._on_frame)
        hub.on_read(joined.fileno(), self._read)

    def _read(self) -> None:
        try:
            data = self._socket.recv(min(self._room, PIECE_BYTES))
        except BlockingIOError:
            return
        except OSError:
            self._break()
            return
        if data:
            self._room -= len(data)
            self._hub.send(self._channel, DATA, data)
        else:
            self._reading = False
            self._hub.send(self._channel, END)
            self._end_if_done()
        if not self._reading or not self._room:
            self._stop_reading()

    def _stop_reading(self) -> None:
        if self._socket.fileno() >= 0:
            self._hub.on_read(self._socket.fileno(), None)

    def _on_frame(self, kind: int, data: bytes) -> None:
        if kind == DATA:
            self._feed.write(data)
        elif kind == MORE:
            self._room += int.from_bytes(data, "big")
            if self._reading:
                self._hub.on_read(self._socket.fileno(), self._read)
        elif kind == END:
            self._feed.end(self._shut)
        elif kind == CLOSE:
            self._feed.end(self.abort)
        else:
            self.abort()

    def _taken(self, count: int) -> None:
        self._hub.send(self._channel, MORE, count.to_bytes(4, "big"))

    def _shut(self) -> None:
        self._writing = False
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            self._break()
            return
        self._end_if_done()

    def _end_if_done(self) -> None:
        if not self._reading and not self._writing:
            self.abort()

    def _break(self) -> None:
        self._hub.send(self._channel, BROKEN)
        self.abort()

    def abort(self) -> None:
        """Close it. Idempotent."""
        if self._socket.fileno() < 0:
            return
        self._hub.take(self._channel, None)
        self._stop_reading()
        self._feed.close()
        self._socket.close()
        self._on_end(self)
