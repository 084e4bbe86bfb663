"""Edits: byte spans and what takes their place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """One replacement.

    Attributes:
        start: First byte that goes.
        end: First byte that stays; the same as ``start`` where something is only put in.
        replacement: What comes instead.
    """

    start: int
    end: int
    replacement: bytes

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"no span: {self.start} to {self.end}")


def changes(source: bytes, edit: Edit) -> bool:
    """Whether an edit makes a difference."""
    return source[edit.start : edit.end] != edit.replacement


def apply_edits(source: bytes, edits: Iterable[Edit]) -> bytes:
    """Apply edits that are all meant of ``source`` as it is.

    Bytes outside the spans stay; two that only touch do not overlap, and are applied in order.

    Raises:
        ValueError: Two overlap, two put something in at the same place (their order would decide),
            or one lies beyond the end.
    """
    parts: list[bytes] = []
    at = 0
    last: Edit | None = None
    for edit in sorted(edits):
        if edit.end > len(source):
            raise ValueError(f"an edit ends at {edit.end}, of {len(source)} bytes")
        if edit.start < at or (last is not None and last.start == last.end == edit.start):
            raise ValueError(f"two edits overlap at byte {edit.start}")
        parts += (source[at : edit.start], edit.replacement)
        at, last = edit.end, edit
    parts.append(source[at:])
    return b"".join(parts)
