"""What a sequence may go on with, looked up in what was read and said before; the model decides.

Agents repeat themselves: the form of a call, the lines of a file they have just read. A draft's
tokens are read in one pass, and of each the model draws what it would have drawn: a draft changes
no token, only how many passes they take. After prompt lookup decoding (Saxena, 2023) and, across
completions, suffix decoding (Oliaro et al., arXiv:2411.04975), without their trees.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

MOST = 16  # tokens of a draft
_SIZE = 3  # tokens that have to be the same before
_HEARD = 1 << 15

Gram = tuple[int, ...]


class Own:
    """One sequence's own past.

    Args:
        ids: The sequence; whoever appends to it calls ``grow`` before.
    """

    def __init__(self, ids: list[int]) -> None:
        self._ids = ids
        self._after: dict[Gram, int] = {}
        for end in range(_SIZE, len(ids)):
            self._after[tuple(ids[end - _SIZE : end])] = end

    def grow(self) -> None:
        """A token is about to be appended."""
        self._after[self.last] = len(self._ids)

    @property
    def last(self) -> Gram:
        """What it ends with."""
        return tuple(self._ids[-_SIZE:])

    def draft(self, most: int) -> list[int]:
        """What followed the last time that this was there; empty where it never was."""
        place = self._after.get(self.last)
        return [] if place is None else self._ids[place : place + most]


class Heard:
    """What was said in completions that ended, the latest first."""

    def __init__(self) -> None:
        self._after: OrderedDict[Gram, Sequence[int]] = OrderedDict()

    def hear(self, ids: Sequence[int], said: int) -> None:
        """Keep a sequence's last ``said`` tokens."""
        for end in range(max(_SIZE, len(ids) - said), len(ids)):
            gram = tuple(ids[end - _SIZE : end])
            self._after[gram] = tuple(ids[end : end + MOST])
            self._after.move_to_end(gram)
        while len(self._after) > _HEARD:
            self._after.popitem(last=False)

    def draft(self, last: Gram, most: int) -> list[int]:
        """What followed; empty where it never was said."""
        return list(self._after.get(last, ())[:most])
