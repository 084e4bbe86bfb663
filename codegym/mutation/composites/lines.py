"""Differences of two texts as edits of whole lines, and changes carried over to a third."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import accumulate

from codegym.mutation.candidates import Spot
from codegym.syntax import Edit, Parsed, function_at, qualified_name
from codegym.workspace.diff import split_lines

#: Longer files are not compared: it would take seconds.
MOST_LINES = 8_000


def line_edits(old: bytes, new: bytes) -> list[Edit]:
    """What turns one text into the other; empty where they are the same."""
    before, after = split_lines(old), split_lines(new)
    starts = [0, *accumulate(map(len, before))]
    return [
        Edit(starts[low], starts[high], b"".join(after[new_low:new_high]))
        for low, high, new_low, new_high in _changed(before, after)
    ]


def spots(path: str, parsed: Parsed, new: bytes, operator: str, version: str) -> list[Spot]:
    """The same, as edits of a file that a composite makes."""
    found = []
    for edit in line_edits(parsed.source, new):
        node = function_at(parsed, edit.start, max(edit.start, edit.end - 1))
        name = "" if node is None else qualified_name(parsed, node)
        found.append(Spot(path, parsed, edit, operator, version, name))
    return found


def taken_back(before: bytes, after: bytes, now: bytes) -> bytes | None:
    """Undo a change in a text that has changed since.

    Args:
        before: The text before the change.
        after: The text after it.
        now: The text as it is now.

    Returns:
        None where lines of the change, or next to it, are no longer what they were, or where what
        was the last line, without an end, no longer is.
    """
    base, old, lines = split_lines(after), split_lines(before), split_lines(now)
    if max(len(base), len(old), len(lines)) > MOST_LINES:
        return None
    blocks = SequenceMatcher(None, base, lines, autojunk=False).get_matching_blocks()
    result: list[bytes] = []
    at = 0
    for low, high, old_low, old_high in _changed(base, old):
        first, last = max(0, low - 1), min(len(base), high + 1)
        block = next((b for b in blocks if b.a <= first and last <= b.a + b.size), None)
        if block is None:
            return None
        shift = block.b - block.a
        result += [*lines[at : low + shift], *old[old_low:old_high]]
        at = high + shift
    result += lines[at:]
    if not all(line.endswith(b"\n") for line in result[:-1]):
        return None  # a file's last line, taken back into its midst, would join the next
    return b"".join(result)


def _changed(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int, int, int]]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [codes for tag, *codes in matcher.get_opcodes() if tag != "equal"]  # type: ignore[misc]
