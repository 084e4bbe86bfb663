"""What an edit looks like where it is, as numbers: hashed features, the same for all languages."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codegym.mutation.candidates import Candidate
from codegym.mutation.suspicion import Heat, hottest
from codegym.syntax import Parsed

#: Features of an edit.
WIDTH: Final = 14
#: Each is a number from 1 to this, exclusive; 0 stands for no edit.
BUCKETS: Final = 4096

_TOKEN = re.compile(rb"\w+|[^\w\s]")
_REACH = 160  # bytes around an edit that are looked at
_LONGEST = 48
_LEVELS = 6

_Grams = Counter[tuple[bytes, ...]]


def features(edits: Sequence[Candidate], heat: Heat) -> NDArray[np.int64]:
    """Hashed features of edits, shape ``(len(edits), WIDTH)``.

    What is changed into what, by which operator, between which neighbours; how usual both are in
    the files that are edited; how suspicious the place is, and how far up the list.
    """
    sources = {one.path: one.source for one in edits}
    grams = _grams(sources.values())
    hots = [hottest(one, heat) for one in edits]
    most = max(hots, default=0.0) or 1.0
    rows = np.zeros((len(edits), WIDTH), np.int64)
    for place, (one, hot) in enumerate(zip(edits, hots, strict=True)):
        told = [*_told(one, grams), round(_LEVELS * hot / most), int(math.log2(place + 1))]
        rows[place] = [_hashed(field, value) for field, value in enumerate(told)]
    return rows


def texts(edit: Candidate) -> tuple[bytes, bytes]:
    """What goes and what comes, without indentation, cut."""
    span = edit.source.source[edit.edit.start : edit.edit.end]
    before, after = (b" ".join(each.split()) for each in (span, edit.edit.replacement))
    return before[:_LONGEST], after[:_LONGEST]


def _told(one: Candidate, grams: _Grams) -> Iterator[object]:
    """All features but the last two, not hashed yet."""
    source, edit = one.source.source, one.edit
    before, after = texts(one)
    node = one.source.root.descendant_for_byte_range(edit.start, edit.end)
    kind = node.type if node is not None else ""
    around = node.parent.type if node is not None and node.parent is not None else ""
    left = _TOKEN.findall(source[max(0, edit.start - _REACH) : edit.start])[-2:]
    right = _TOKEN.findall(source[edit.end : edit.end + _REACH])[:2]
    old = [*left, *_TOKEN.findall(source[edit.start : edit.end])[:_LONGEST], *right]
    new = [*left, *_TOKEN.findall(edit.replacement)[:_LONGEST], *right]
    yield from (one.operator, before, after, (before, after), (one.operator, kind), (kind, around))
    yield from (left[-1:], right[:1], (left[-1:], after, right[:1]), (left[-1:], before, right[:1]))
    for size in (3, 2):
        gain = _usual(new, size, grams, 0) - _usual(old, size, grams, 1)
        yield max(-_LEVELS, min(_LEVELS, round(2 * gain)))


def _grams(sources: Iterable[Parsed]) -> _Grams:
    """How often two and three tokens stand side by side in some files."""
    found: _Grams = Counter()
    for parsed in sources:
        tokens = _TOKEN.findall(parsed.source)
        for size in (2, 3):
            found.update(zip(*(tokens[at:] for at in range(size)), strict=False))
    return found


def _usual(tokens: Sequence[bytes], size: int, grams: _Grams, own: int) -> float:
    """Mean logarithm of how often neighbours occur elsewhere; ``own``: how often here."""
    counts = [grams[tuple(tokens[at : at + size])] - own for at in range(len(tokens) - size + 1)]
    return sum(math.log(max(count, 0) + 0.5) for count in counts) / max(len(counts), 1)


def _hashed(field: int, value: object) -> int:
    return 1 + zlib.crc32(f"{field} {value!r}".encode()) % (BUCKETS - 1)
