"""Differences of trees as git-style patches, in bounded time whatever is compared."""

from __future__ import annotations

import bisect
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

from codegym.types import File, Tree
from codegym.workspace.quoting import quote

_CONTEXT = 3
_EXACT = 1_000_000  # pairs of lines that one exact comparison may look at
_BUDGET = 50_000_000  # and all of them together: past it hunks are right, but coarser
_DEPTH = 16

Lines = Sequence[bytes]
Match = tuple[int, int, int]  # index in old, index in new, lines
Range = tuple[int, int, int, int]  # old from, old to, new from, new to


def diff_trees(old: Tree, new: Tree) -> str:
    """Write what turns ``old`` into ``new`` as one patch, files in path order.

    Bytes that are no UTF-8 are kept as surrogate escapes. Every file is compared as text. No hash
    of a file is in it. ``apply_patch(old, diff_trees(old, new))`` is ``new``.
    """
    comparison = _Comparison()
    parts: list[bytes] = []
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        if before and after and (before.mode == "120000") != (after.mode == "120000"):
            parts.append(_section(path, before, None, comparison))
            before = None
        parts.append(_section(path, before, after, comparison))
    return b"".join(parts).decode("utf-8", "surrogateescape")


def split_lines(data: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends one."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _section(path: str, old: File | None, new: File | None, comparison: _Comparison) -> bytes:
    names = quote(f"a/{path}"), quote(f"b/{path}")
    parts = [f"diff --git {names[0]} {names[1]}\n"]
    if old is None and new is not None:
        parts.append(f"new file mode {new.mode}\n")
    elif new is None and old is not None:
        parts.append(f"deleted file mode {old.mode}\n")
    elif old and new and old.mode != new.mode:
        parts.append(f"old mode {old.mode}\nnew mode {new.mode}\n")
    before = split_lines(old.data) if old else []
    after = split_lines(new.data) if new else []
    if before != after:
        # As git does: a tab ends a name with spaces, so that nothing after it is taken for a date.
        shown = [f"{name}\t" if " " in name else name for name in names]
        parts.append(f"--- {shown[0] if old else '/dev/null'}\n")
        parts.append(f"+++ {shown[1] if new else '/dev/null'}\n")
    body = [part.encode("utf-8", "surrogateescape") for part in parts]
    for group in _grouped(comparison.changes(before, after)):
        body.extend(_hunk(group, before, after))
    return b"".join(body)


def _grouped(changes: Sequence[Range]) -> Iterator[list[Range]]:
    """Put changes whose context would touch into one hunk."""
    group: list[Range] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(group: list[Range], old: Lines, new: Lines) -> Iterator[bytes]:
    lead = min(_CONTEXT, group[0][0])
    tail = min(_CONTEXT, len(old) - group[-1][1])
    start, end = group[0][0] - lead, group[-1][1] + tail
    new_start, new_end = group[0][2] - lead, group[-1][3] + tail
    yield f"@@ -{_span(start, end)} +{_span(new_start, new_end)} @@\n".encode()
    at = start
    for old_from, old_to, new_from, new_to in group:
        yield from _tagged(b" ", old[at:old_from])
        yield from _tagged(b"-", old[old_from:old_to])
        yield from _tagged(b"+", new[new_from:new_to])
        at = old_to
    yield from _tagged(b" ", old[at:end])


def _span(start: int, end: int) -> str:
    if end - start == 1:
        return str(start + 1)
    return f"{start + 1 if end > start else start},{end - start}"


def _tagged(tag: bytes, lines: Lines) -> Iterator[bytes]:
    for line in lines:
        yield tag + line
        if not line.endswith(b"\n"):
            yield b"\n\\ No newline at end of file\n"


class _Comparison:
    """Finds changed ranges of lines; what it spends on one file it does not have for the next."""

    def __init__(self) -> None:
        self._left = _BUDGET

    def changes(self, old: Lines, new: Lines) -> list[Range]:
        """The ranges that differ, in order."""
        found: list[Range] = []
        at_old = at_new = 0
        matches = self._matches(old, (0, len(old)), new, (0, len(new)), 0)
        for in_old, in_new, length in (*matches, (len(old), len(new), 0)):
            if at_old < in_old or at_new < in_new:
                found.append((at_old, in_old, at_new, in_new))
            at_old, at_new = in_old + length, in_new + length
        return found

    def _matches(
        self, old: Lines, olds: tuple[int, int], new: Lines, news: tuple[int, int], depth: int
    ) -> Iterator[Match]:
        """Equal runs of lines, in order: exact where affordable, else between unique lines."""
        (low, high), (new_low, new_high) = olds, news
        head = 0
        while low + head < high and new_low + head < new_high:
            if old[low + head] != new[new_low + head]:
                break
            head += 1
        if head:
            yield low, new_low, head
        low, new_low = low + head, new_low + head
        tail = 0
        while low < high - tail and new_low < new_high - tail:
            if old[high - tail - 1] != new[new_high - tail - 1]:
                break
            tail += 1
        olds, news = (low, high - tail), (new_low, new_high - tail)
        yield from self._inner(old, olds, new, news, depth)
        if tail:
            yield high - tail, new_high - tail, tail

    def _inner(
        self, old: Lines, olds: tuple[int, int], new: Lines, news: tuple[int, int], depth: int
    ) -> Iterator[Match]:
        cost = (olds[1] - olds[0]) * (news[1] - news[0])
        if not cost:
            return
        if cost <= min(_EXACT, self._left):
            self._left -= cost
            matcher = difflib.SequenceMatcher(
                None, old[slice(*olds)], new[slice(*news)], autojunk=False
            )
            for block in matcher.get_matching_blocks():
                if block.size:
                    yield olds[0] + block.a, news[0] + block.b, block.size
            return
        anchors = _anchors(old, olds, new, news) if depth < _DEPTH else []
        if not anchors:
            return
        at = olds[0], news[0]
        for in_old, in_new in (*anchors, (olds[1], news[1])):
            yield from self._matches(old, (at[0], in_old), new, (at[1], in_new), depth + 1)
            at = in_old, in_new


def _anchors(
    old: Lines, olds: tuple[int, int], new: Lines, news: tuple[int, int]
) -> list[tuple[int, int]]:
    """Lines that are in both ranges once: their longest run that keeps its order."""
    in_old, in_new = Counter(old[slice(*olds)]), Counter(new[slice(*news)])
    place = {new[at]: at for at in range(*news) if in_new[new[at]] == 1}
    pairs = [
        (at, place[old[at]]) for at in range(*olds) if in_old[old[at]] == 1 and old[at] in place
    ]
    tails: list[int] = []
    chains: list[int] = []  # index in `pairs` of each tail
    before: list[int] = []
    for index, (_, target) in enumerate(pairs):
        spot = bisect.bisect_left(tails, target)
        before.append(chains[spot - 1] if spot else -1)
        tails[spot : spot + 1] = [target]
        chains[spot : spot + 1] = [index]
    run: list[tuple[int, int]] = []
    index = chains[-1] if chains else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]
