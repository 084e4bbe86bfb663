"""Single edits and composites in turns: what single edits showed is what composites are made of.

Rounds grow, so that the first composites come soon, and later ones have more to be made of. What is
tried, and in which order, follows from the candidates and the seed alone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from codegym.mutation.candidates import Candidate
from codegym.mutation.composites.base import Composite, Ground, Tried
from codegym.mutation.trial import Trial
from codegym.mutation.trying import Trying

_FIRST_ROUND = 48
#: Composites tried in a round, for each single edit that is.
_RATIO = 0.5
#: A round may be so much longer than the one before.
_GROWTH = 2


@dataclass(frozen=True)
class Rounds:
    """Tries candidates of all orders.

    Attributes:
        trying: Runs them.
        ground: What composites are made of, its single edits aside.
        composites: How they are made.
        orders: Which orders are wanted; without 1, single edits are but what others are made of.
    """

    trying: Trying
    ground: Ground
    composites: Sequence[Composite]
    orders: range

    async def in_order(
        self, singles: Iterator[Candidate]
    ) -> AsyncGenerator[tuple[Candidate, Trial], None]:
        """Each candidate of a wanted order with what became of it, in a fixed order.

        Raises:
            SandboxError: The infrastructure broke, more than once.
        """
        if 1 not in self.orders and not any(one.of_singles for one in self.composites):
            singles = iter(())
        known: list[Tried] = []
        seen: set[str] = set()
        size = _FIRST_ROUND
        while True:
            ended = True
            async for candidate, trial in self.trying.in_order(islice(singles, size)):
                ended = False
                if trial.reason is None:
                    known.append(Tried(candidate, trial))
                if 1 in self.orders:
                    yield candidate, trial
            proposed = await asyncio.to_thread(self._new, known, seen, int(size * _RATIO))
            by_id = {one.id: one for one in self.composites}
            async for candidate, trial in self.trying.in_order(iter(proposed)):
                yield candidate, await self._judged(by_id[candidate.operator], candidate, trial)
            if ended and not proposed:
                return
            size *= _GROWTH

    def _new(self, known: Sequence[Tried], seen: set[str], most: int) -> list[Candidate]:
        """What can be made of the single edits known by now and was not before, in turns."""
        ground = replace(self.ground, singles=tuple(known))
        turns = deque(self._unseen(one.propose(ground), seen) for one in self.composites)
        found: list[Candidate] = []
        while turns and len(found) < most:
            proposals = turns.popleft()
            for one in proposals:
                found.append(one)
                turns.append(proposals)
                break
        return found

    def _unseen(self, proposals: Iterator[Candidate], seen: set[str]) -> Iterator[Candidate]:
        for one in proposals:
            if one.order in self.orders and one.digest not in seen:
                seen.add(one.digest)
                yield one

    async def _judged(self, composite: Composite, candidate: Candidate, trial: Trial) -> Trial:
        if trial.reason is not None:
            return trial
        reason = await composite.fault(candidate, trial, self.trying.trial_of)
        return trial if reason is None else Trial(reason)
