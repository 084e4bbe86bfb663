"""Which sequence is at which row of a pool, and what of a new one is there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from codegym.agents.lm.engines.drafts import MOST, Heard, Own
from codegym.agents.lm.engines.pool import Pool, rounded
from codegym.errors import UnavailableError
from codegym.types import SamplingParams, TokenTrace

#: Fewer common tokens than this are read again rather than copied or waited for.
_WORTH_COPYING = 32
_FIRST_ROWS = 4
_LONGEST_REST = 64  # tokens without a draft
Placed = Literal["yes", "soon", "full"]


@dataclass(eq=False)
class Request:
    """A completion that is being made; it can be stopped at any token and go on elsewhere."""

    prompt: list[int]
    params: SamplingParams
    said: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.params.seed)
        self.ids = list(self.prompt)
        self.own = Own(self.ids)
        self._reach, self._rest, self._misses = MOST, 0, 0

    @property
    def most(self) -> int:
        """Tokens of its sequence at the end, at most."""
        return len(self.prompt) + self.params.max_tokens

    def chance(self) -> float:
        """The next draw's, uniform in [0, 1)."""
        return float(self._rng.random())

    def add(self, token: int, logprob: float) -> None:
        """Append a token."""
        self.own.grow()
        self.said.append(token)
        self.ids.append(token)
        self.logprobs.append(logprob)

    def draft(self, heard: Heard, most: int) -> list[int]:
        """Tokens that it may go on with, as many as seem worth reading."""
        most = min(most, self._reach, self.params.max_tokens - len(self.said) - 1)
        if self._rest or most < 1:
            self._rest = max(0, self._rest - 1)
            return []
        return self.own.draft(most) or heard.draft(self.own.last, most)

    def missed(self, right: int) -> None:
        """A draft held for so many tokens only; after each that held for none, longer pauses."""
        self._reach = min(MOST, 2 * right + 1)
        self._misses = 0 if right else self._misses + 1
        self._rest = min(_LONGEST_REST, 2**self._misses) if self._misses else 0

    def trace(self) -> TokenTrace:
        """What was generated."""
        return TokenTrace(tuple(self.prompt), tuple(self.said), tuple(self.logprobs))


@dataclass(eq=False)
class Slot:
    """A row of the pool: ``cached`` tokens of ``ids`` are in it."""

    ids: list[int] = field(default_factory=list)
    cached: int = 0
    request: Request | None = None
    used: int = 0

    @property
    def pending(self) -> int:
        """Tokens that are yet to be read."""
        return len(self.ids) - self.cached

    def free(self) -> None:
        """End its request; what is cached stays of use to others."""
        self.request, self.ids = None, self.ids[: self.cached]


class Slots:
    """The pool's rows.

    Args:
        pool: The pool.
        max_bytes: Most memory for it.
        max_rows: Most rows.
    """

    def __init__(self, pool: Pool, max_bytes: int, max_rows: int) -> None:
        self._pool, self._max_bytes, self._max_rows = pool, max_bytes, max_rows
        self._slots: list[Slot] = []
        self._clock = 0
        self.reused = 0  # tokens that did not have to be read

    @property
    def running(self) -> list[int]:
        """Rows that have a request, ascending."""
        return [row for row, slot in enumerate(self._slots) if slot.request is not None]

    def __getitem__(self, row: int) -> Slot:
        return self._slots[row]

    def forget(self) -> None:
        """What is cached no longer counts: the weights are others."""
        for slot in self._slots:
            slot.cached = 0
            if slot.request is None:
                slot.free()

    def clear(self) -> list[Request]:
        """Free everything; returns the requests that were running, in no lesser state."""
        left = [slot.request for slot in self._slots if slot.request is not None]
        self._slots = []
        self._pool.drop()
        return left

    def place(self, request: Request) -> Placed:
        """Give a request a row.

        Returns:
            ``"yes"``; ``"soon"``: another is reading what it can copy then; ``"full"``: not before
            another ends.

        Raises:
            UnavailableError: It needs more memory than there may be.
        """
        if not self._make_length(request):
            return "full"
        row = self._continued(request)
        if row is None:
            donor, shared, promised = self._donor(request)
            if promised - shared >= _WORTH_COPYING:
                return "soon"
            row = self._free_row()
            if row is None:
                return "full"
            self._begin(self._slots[row], row, donor, shared)
        slot = self._slots[row]
        self._clock += 1
        slot.ids, slot.request, slot.used = request.ids, request, self._clock
        return "yes"

    def _begin(self, slot: Slot, row: int, donor: int, shared: int) -> None:
        """Copy what is there already, where that is worth it."""
        slot.cached = 0
        if shared >= _WORTH_COPYING:
            if donor != row:
                self._pool.copy(donor, row, shared)
            slot.cached = shared
            self.reused += shared

    def _continued(self, request: Request) -> int | None:
        """The idle row whose whole sequence the request goes on from."""
        best, most = None, 0
        for row, slot in enumerate(self._slots):
            size = slot.cached
            longer = slot.request is None and most < size < len(request.ids)
            if longer and slot.ids == request.ids[:size]:
                best, most = row, size
        self.reused += most
        return best

    def _donor(self, request: Request) -> tuple[int, int, int]:
        """The row with most in common: row, common tokens cached, common tokens to be cached."""
        best, most, promised = 0, 0, 0
        ids = request.ids[:-1]  # one token at least is to be read
        for row, slot in enumerate(self._slots):
            better = slot.cached > most and slot.ids[: most + 1] == ids[: most + 1]
            more = slot.request is not None and slot.ids[: promised + 1] == ids[: promised + 1]
            if not (better or more):
                continue  # the usual case, and quickly seen
            common = _common(slot.ids, ids)
            if more:
                promised = max(promised, common)
            if min(common, slot.cached) > most:
                best, most = row, min(common, slot.cached)
        return best, most, max(promised, most)

    def _limit(self, length: int) -> int:
        """Most rows of a length that there may be."""
        return min(self._max_rows, self._max_bytes // self._pool.bytes_of(1, length))

    def _make_length(self, request: Request) -> bool:
        """Make rows long enough, at the cost of the longest unused ones; False: not now."""
        length = max(self._pool.length, rounded(request.most))
        limit = self._limit(length)
        if limit < 1:
            raise UnavailableError(
                f"a sequence of {request.most} tokens needs "
                f"{self._pool.bytes_of(1, length) / 2**20:.3g} MiB for keys and values, more than "
                f"the {self._max_bytes / 2**20:.3g} MiB there may be",
                "Give more with cache_mb, or take smaller context_tokens or max_tokens",
            )
        if length > self._pool.length:
            if len(self.running) >= limit:
                return False
            order = sorted(
                range(len(self._slots)),
                key=lambda row: (self._slots[row].request is None, -self._slots[row].used),
            )
            kept = sorted(order[:limit])
            rows = limit if self._pool.lazy else max(len(kept), min(limit, _FIRST_ROWS))
            self._pool.resize(rows, length, kept)
            self._slots = [self._slots[row] for row in kept]
        return True

    def _free_row(self) -> int | None:
        """A row for a new sequence: a fresh one, else the one that was not used for longest."""
        count, limit = len(self._slots), self._limit(self._pool.length)
        if count < limit:
            if count >= self._pool.rows:
                self._pool.resize(min(limit, 2 * count), self._pool.length, range(count))
            self._slots.append(Slot())
            return count
        idle = [row for row, slot in enumerate(self._slots) if slot.request is None]
        return min(idle, key=lambda row: self._slots[row].used, default=None)


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the common start, by halving: comparing slices is much faster than a loop."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
