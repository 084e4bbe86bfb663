"""Finding many byte strings at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

#: Shorter strings cannot be looked for.
ANCHOR_BYTES = 8
_CHUNK_BYTES = 4 << 20
_BITS = 20
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(64 - _BITS)


class Matcher:
    """Looks for all strings in one pass: eight bytes of each are hashed, hits are compared whole.

    Args:
        strings: What is looked for, each of at least ``ANCHOR_BYTES``.
        common: Text like what will be looked through; what it holds makes a poor anchor.
    """

    def __init__(self, strings: Sequence[bytes], common: bytes = b"") -> None:
        self._strings = strings
        self._anchored: dict[int, list[tuple[int, int]]] = {}
        self._table = np.zeros(1 << _BITS, dtype=bool)
        for number, string in enumerate(strings):
            at = _anchor(string, common)
            word = int.from_bytes(string[at : at + ANCHOR_BYTES], "little")
            self._anchored.setdefault(word, []).append((number, at))
        words = np.fromiter(self._anchored, dtype=np.uint64, count=len(self._anchored))
        self._table[(words * _FACTOR) >> _SHIFT] = True

    def find(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Each (number of a string, offset) at which it is; all of them."""
        for start in range(0, len(data) - ANCHOR_BYTES + 1, _CHUNK_BYTES):
            for shift in range(start, min(start + ANCHOR_BYTES, len(data) - ANCHOR_BYTES + 1)):
                room = min(_CHUNK_BYTES, len(data) - shift)
                words = np.frombuffer(data, "<u8", room // ANCHOR_BYTES, shift)
                likely = np.flatnonzero(self._table[(words * _FACTOR) >> _SHIFT])
                for place in likely.tolist():
                    yield from self._whole(data, int(words[place]), shift + ANCHOR_BYTES * place)

    def _whole(self, data: bytes, word: int, offset: int) -> Iterator[tuple[int, int]]:
        for number, at in self._anchored.get(word, ()):
            string = self._strings[number]
            if offset >= at and data.startswith(string, offset - at):
                yield number, offset - at


def _anchor(string: bytes, common: bytes) -> int:
    """Where the eight bytes of a string are that little else has."""
    places = range(len(string) - ANCHOR_BYTES + 1)
    ranked = sorted(places, key=lambda at: -len(set(string[at : at + ANCHOR_BYTES])))
    rare = (at for at in ranked[:16] if string[at : at + ANCHOR_BYTES] not in common)
    return next(rare, ranked[0])
