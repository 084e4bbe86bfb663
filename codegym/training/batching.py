"""From sequences to padded batches; what several sequences begin with is computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from codegym.training.sequences import TokenSequence

#: Widest row that several sequences share: what each place sees grows with its square.
_WIDEST = 2048


@dataclass(frozen=True, slots=True)
class Batch:
    """Sequences in rows, padded on the right.

    Attributes:
        ids: Token ids, (B, T).
        positions: Each place's position in its sequence; (B, T).
        branch: What belongs together in a row: 0 is the beginning that all its sequences share,
            each one's rest has a number of its own, padding is -1; (B, T).
        row: Row of each token that is learned from, sequence by sequence; (N,).
        before: Column of what precedes it in its sequence, and so predicts it; (N,).
        column: Its own column; (N,).
        owner: Its sequence, as a place in ``members``; (N,).
        members: The sequences' numbers among those that batches are made of.
    """

    ids: Tensor
    positions: Tensor
    branch: Tensor
    row: Tensor
    before: Tensor
    column: Tensor
    owner: Tensor
    members: tuple[int, ...]

    @property
    def targets(self) -> Tensor:
        """The tokens that are learned from; (N,)."""
        return self.ids[self.row, self.column]

    @property
    def shared(self) -> bool:
        """Whether any row holds several sequences."""
        return len(self.members) > len(self.ids)

    def seen(self) -> Tensor:
        """Whether each place sees each other: its own sequence, up to itself; (B, 1, T, T)."""
        own = self.branch[:, :, None] == self.branch[:, None, :]
        return ((self.branch == 0)[:, None, :] | own).tril()[:, None]


def batches(
    sequences: Sequence[TokenSequence],
    *,
    max_tokens: int,
    share: bool = False,
    device: torch.device | str = "cpu",
) -> Iterator[Batch]:
    """Pack rows of similar length together, each sequence exactly once; the longest rows first.

    Out of memory then shows at once. A batch has at most ``max_tokens`` places, padding included,
    or one row.

    Args:
        sequences: What is packed; those that begin alike are best next to each other.
        max_tokens: Bound on a batch's places.
        share: Whether a beginning that sequences share is there only once.
        device: Where the batches are to be.
    """
    rows: list[_Row] = []
    for number, sequence in enumerate(sequences):
        if not (share and rows and rows[-1].takes(number, sequence, min(max_tokens, _WIDEST))):
            rows.append(_Row(number, sequence))
    rows.sort(key=lambda row: -row.width)
    start = 0
    while start < len(rows):
        count = max(1, max_tokens // rows[start].width)
        yield _batch(rows[start : start + count], device)
        start += count


class _Row:
    """Sequences that begin alike."""

    def __init__(self, number: int, sequence: TokenSequence) -> None:
        self.numbers, self.sequences = [number], [sequence]
        self._first = np.array(sequence.ids)
        self.common = len(sequence.ids)

    @property
    def width(self) -> int:
        """Places that the beginning and all rests take."""
        return self._width(self.common, self.sequences)

    def takes(self, number: int, sequence: TokenSequence, widest: int) -> bool:
        """Add a sequence, where at least half of it is the common beginning and it fits."""
        length = min(self.common, len(sequence.ids))
        differs = np.flatnonzero(self._first[:length] != np.array(sequence.ids[:length]))
        common = int(differs[0]) if len(differs) else length
        if 2 * common < len(sequence.ids):
            return False
        if self._width(common, [*self.sequences, sequence]) > widest:
            return False
        self.numbers.append(number)
        self.sequences.append(sequence)
        self.common = common
        return True

    @staticmethod
    def _width(common: int, sequences: Sequence[TokenSequence]) -> int:
        return common + sum(len(each.ids) - common for each in sequences)

    def columns(self) -> list[np.ndarray]:
        """Where the tokens of each sequence are."""
        start, found = self.common, []
        for each in self.sequences:
            end = start + len(each.ids) - self.common
            found.append(np.concatenate([np.arange(self.common), np.arange(start, end)]))
            start = end
        return found


def _batch(rows: Sequence[_Row], device: torch.device | str) -> Batch:
    size = len(rows), max(row.width for row in rows)
    ids, positions = np.zeros(size, np.int64), np.zeros(size, np.int64)
    branch = np.full(size, -1, np.int64)
    places: list[np.ndarray] = []
    members: list[int] = []
    for number, row in enumerate(rows):
        pairs = zip(row.sequences, row.columns(), strict=True)
        for own, (sequence, columns) in enumerate(pairs, 1):
            ids[number, columns] = sequence.ids
            positions[number, columns] = np.arange(len(columns))
            branch[number, columns[row.common :]] = own
            learned = np.array(sequence.actions, np.int64)
            owner, there = np.full((2, len(learned)), [[len(members)], [number]])
            places.append(np.stack([there, columns[learned - 1], columns[learned], owner]))
            members.append(row.numbers[own - 1])
        branch[number, : row.common] = 0
    made = (ids, positions, branch, *np.concatenate(places, axis=1))
    names = ("ids", "positions", "branch", "row", "before", "column", "owner")
    tensors = {
        name: torch.from_numpy(each).to(device) for name, each in zip(names, made, strict=True)
    }
    return Batch(**tensors, members=tuple(members))
