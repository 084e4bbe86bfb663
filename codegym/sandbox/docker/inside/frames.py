"""Frames: many channels over the one stream between the gym and a keeper.

Channel 0 carries messages (JSON); the gym numbers its channels from 1, the keeper from
``KEEPERS_OWN``. Of a connection out of a sandbox, so many bytes are on their way at most, in each
direction, until the other side asks for ``MORE``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

HEAD = struct.Struct(">IBI")
MESSAGE, DATA, END, CLOSE, BROKEN, MORE = range(6)

KEEPERS_OWN = 1 << 31
WINDOW_BYTES = 1 << 18
PIECE_BYTES = 1 << 16


def frame(channel: int, kind: int, data: bytes = b"") -> bytes:
    """One frame."""
    return HEAD.pack(channel, kind, len(data)) + data


class Parser:
    """Cuts a stream into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Take a piece; yield the frames that are whole: channel, kind, data."""
        self._buffer += data
        at = 0
        while len(self._buffer) - at >= HEAD.size:
            channel, kind, size = HEAD.unpack_from(self._buffer, at)
            end = at + HEAD.size + size
            if len(self._buffer) < end:
                break
            yield channel, kind, bytes(self._buffer[at + HEAD.size : end])
            at = end
        del self._buffer[:at]
