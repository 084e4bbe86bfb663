"""Single edits and composites in turns: what single edits showed is what composites are made of.

Rounds grow, so that the first composites come soon, and later ones have more to be made of. What is
tried, and in which order, follows from the candidates and the seed alone. Composites and their
parts are looked at fast first, all of a round at once; only those that hold are confirmed cold.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import islice

from codegym.mutation.candidates import Candidate
from codegym.mutation.composites.base import Ground, Joining, Tried
from codegym.mutation.trial import Reason, Trial
from codegym.mutation.trying import Trying
from codegym.mutation.warm.stage import Seen, Stage

_FIRST_ROUND = 96
#: A round may be so much longer than the one before.
_GROWTH = 2
#: Why a single edit cannot be looked at fast: all of its suite have to be tried cold.
_SUITE = "suite"
#: What a confirmation may find of a single edit that a fast look took for sound.
_UNSOUND = frozenset({"survived", "unstable", "collection_error", "crashed", "timed_out", "leak"})


@dataclass(frozen=True)
class Rounds:
    """Tries candidates of all orders.

    Attributes:
        trying: Runs them.
        parts: Looks at parts of composites, which are no candidates themselves.
        ground: What composites are made of, its single edits aside.
        joining: How they are made, and which orders are wanted.
    """

    trying: Trying
    parts: Stage
    ground: Ground
    joining: Joining
    _known: dict[str, Tried] = field(default_factory=dict, init=False)
    _parts: dict[str, Trial] = field(default_factory=dict, init=False)

    async def in_order(
        self, singles: Iterator[Candidate]
    ) -> AsyncGenerator[tuple[Candidate, Trial], None]:
        """Each candidate of a wanted order with what became of it, in a fixed order.

        Raises:
            SandboxError: The infrastructure broke, more than once.
        """
        if not self.joining.composites:
            async with aclosing(self.trying.in_order(singles)) as tried:
                async for one in tried:
                    yield one
            return
        if 1 not in self.joining.orders and not any(
            one.of_singles for one in self.joining.composites
        ):
            singles = iter(())
        seen: set[str] = set()
        size = _FIRST_ROUND
        while True:
            waiting = list(islice(singles, size))
            async with aclosing(self._singles(iter(waiting))) as tried:
                async for one in tried:
                    yield one
            proposed = await asyncio.to_thread(self._new, seen, size)
            async with aclosing(self._joined(iter(proposed))) as tried:
                async for one in tried:
                    yield one
            if not waiting and not proposed:
                return
            size *= _GROWTH

    async def _singles(
        self, candidates: Iterator[Candidate]
    ) -> AsyncGenerator[tuple[Candidate, Trial], None]:
        """Try single edits, and note what they showed; they are given back where wanted."""
        async with aclosing(self.trying.waves(candidates)) as waves:
            async for wave in waves:
                for one in wave:
                    quick = self.trying.quick(one)
                    if quick is None and one.cold == _SUITE and 1 not in self.joining.orders:
                        quick = await self.trying.trial_of(one.candidate)
                    self._note(one.candidate, quick)
                if 1 in self.joining.orders:
                    wanted = [one for one in wave if self.joining.wanted(one.candidate)]
                    async with aclosing(self.trying.settled(wanted)) as settled:
                        async for candidate, trial in settled:
                            self._note(candidate, trial)
                            yield candidate, trial

    def _note(self, candidate: Candidate, trial: Trial | None) -> None:
        if trial is not None and trial.reason is None:
            before = self._known.get(candidate.digest)
            if before is not None:  # what was confirmed does not say it
                trial = replace(trial, raised=before.trial.raised)
            self._known[candidate.digest] = Tried(candidate, trial)
        elif trial is not None and trial.reason in _UNSOUND:
            self._known.pop(candidate.digest, None)

    async def _joined(
        self, candidates: Iterator[Candidate]
    ) -> AsyncGenerator[tuple[Candidate, Trial], None]:
        """Try composites: those that hold as far as a fast look tells are confirmed."""
        by_id = {one.id: one for one in self.joining.composites}
        async with aclosing(self.trying.waves(candidates)) as waves:
            async for wave in waves:
                quick = [self.trying.quick(one) for one in wave]
                await self._look_at_parts(
                    part
                    for one, trial in zip(wave, quick, strict=True)
                    if trial is None or trial.reason is None
                    for part in by_id[one.candidate.operator].parts(one.candidate)
                )
                judged = [
                    one if trial is None else replace(one, reason=self._fault(one.candidate, trial))
                    for one, trial in zip(wave, quick, strict=True)
                ]
                async with aclosing(self.trying.settled(judged)) as settled:
                    async for candidate, trial in settled:
                        reason = self._fault(candidate, trial)
                        yield candidate, trial if reason is None else Trial(reason)

    def _fault(self, candidate: Candidate, trial: Trial) -> Reason | None:
        if trial.reason is not None:
            return trial.reason
        composite = next(one for one in self.joining.composites if one.id == candidate.operator)
        parts = [self._parts[part.digest] for part in composite.parts(candidate)]
        return composite.fault(candidate, trial, parts)

    async def _look_at_parts(self, parts: Iterable[Candidate]) -> None:
        """Have parts run that were not before."""
        new = {one.digest: one for one in parts if one.digest not in self._parts}
        for digest in [one for one in new if one in self._known]:
            self._parts[digest] = self._known[digest].trial
            del new[digest]
        async with aclosing(self.parts.waves(iter(new.values()))) as waves:
            async for wave in waves:
                trials = await asyncio.gather(*(self._part(one) for one in wave))
                done = zip(wave, trials, strict=True)
                self._parts.update({one.candidate.digest: trial for one, trial in done})

    async def _part(self, seen: Seen) -> Trial:
        quick = self.trying.quick(seen)
        return quick or await self.trying.trial_of(seen.candidate)

    def _new(self, seen: set[str], most: int) -> list[Candidate]:
        """What can be made of the single edits known by now and was not before, in turns."""
        ground = replace(self.ground, singles=tuple(self._known.values()))
        turns = deque(self._unseen(one.propose(ground), seen) for one in self.joining.composites)
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
            fits = one.order in self.joining.orders and self.joining.wanted(one)
            if fits and one.digest not in seen:
                seen.add(one.digest)
                yield one
