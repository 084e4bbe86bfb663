"""Figures of mutation, against a run of the whole suite for each candidate."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from codegym.cli.bench.measure import Figure
from codegym.errors import UsageError

if TYPE_CHECKING:
    from codegym.grading.setting import Setting
    from codegym.mutation.candidates import Candidate
    from codegym.mutation.outset import Outset
    from codegym.mutation.warm.session import Warmth
    from codegym.mutation.warm.stage import Counts, Seen
    from codegym.store import LayerStore
    from codegym.tasks import Environment

_MS = 1000.0
#: For each time that is asked for.
_CANDIDATES, _NULLS, _COMPARED, _COLD = 20, 25, 5, 0.25
_NULL_BATCH = 250
_SHOWN = 5
#: So many confirmed one after another at least: the last leave cores idle.
_ROUNDS = 4
#: Candidates that are to be tried a minute, by language.
_A_MINUTE = {"python": 900, "javascript": 300, "rust": 100, "c": 200}


class MutationBench:
    """An environment's candidates, tried in every way; nothing that is known is used.

    Args:
        setting: Runs them.
        environment: Whose they are.
        globs: Only those in files that match one; where empty, all.
        times: How much is measured.
        note: Told what is being done.
    """

    def __init__(
        self,
        setting: Setting,
        environment: Environment,
        globs: list[str],
        times: int,
        note: Callable[[str], None],
    ) -> None:
        from codegym.grading.trials import workers

        self._setting, self._environment, self._globs = setting, environment, globs
        self._times, self._note, self._workers = times, note, workers()

    async def figures(self) -> list[Figure]:
        """All of them."""
        from codegym.grading.progress import Progress
        from codegym.mutation.operators import load_operators
        from codegym.mutation.outset import outset
        from codegym.mutation.switched import can_switch
        from codegym.store import LayerStore

        tell = self._note

        class Telling(Progress):
            def note(self, text: str) -> None:
                tell(text)

        operators = load_operators((), self._environment.language, ["FixTests"])
        found = await outset(
            self._environment, self._setting, operators, 0, self._wanted, Telling(), LayerStore()
        )
        if not found.candidates:
            raise UsageError(f"no edit of {self._environment.name} is in {self._globs}")
        warmth = found.warmths[found.baselines[0].suite.name]
        switched = can_switch(found.baselines[0])
        if warmth.why and not switched:
            raise UsageError(f"{self._environment.name}: {warmth.why}, so all is tried cold")
        with TemporaryDirectory(prefix="codegym-bench-") as name:
            counts, seen = await self._fast(found, LayerStore(Path(name)))
            if not seen:
                raise UsageError(f"{self._environment.name}: no edit can be tried fast")
            return [
                await self._against_cold(found, seen, counts),
                await self._confirm(found, seen, warmth),
                await self._agreement(found, seen, warmth),
                _among(counts) if switched else await self._nulls(found, seen, warmth),
            ]

    def _wanted(self, candidate: Candidate) -> bool:
        return not self._globs or any(fnmatch(candidate.path, one) for one in self._globs)

    async def _fast(self, found: Outset, store: LayerStore) -> tuple[Counts, list[Seen]]:
        """What the stage did, and what was seen of each candidate that it tried."""
        from codegym.mutation.candidates import draw
        from codegym.mutation.switched.looking import UNBUILT
        from codegym.mutation.warm.stage import Stage

        self._note("trying candidates, many to a session or a build")
        stage = Stage(self._setting, found.screen, found.warmths, store, self._workers)
        drawn = islice(draw(found.candidates, 0), self._times * _CANDIDATES)
        seen = [one async for wave in stage.waves(drawn) for one in wave]
        looked = [one for one in seen if one.look is not None and one.look.why != UNBUILT]
        return stage.counts, looked

    async def _against_cold(self, found: Outset, seen: list[Seen], counts: Counts) -> Figure:
        """One candidate in the fast stage, and one whole run for each of a few."""
        from codegym.grading.trials import run_on, together
        from codegym.types import Change

        self._note("running the whole suite for a few of them")
        count = max(self._workers, round(self._times * _COLD))
        began = time.perf_counter()
        for start in range(0, count, self._workers):
            await together(
                run_on(
                    self._setting,
                    found.baselines[0].ready,
                    [Change(path, data) for path, data in one.candidate.mutants.items()],
                )
                for one in seen[start : start + self._workers]
            )
        cold = _MS * (time.perf_counter() - began) / count
        return _one(
            "mutation_fast_ms",
            _MS * counts.seconds / max(1, counts.looked),
            cold,
            target=60 * _MS / _A_MINUTE[self._environment.language],
            what=f"wall time a candidate, {counts.looked} tried with all cores, choosing them "
            "included",
            against=f"a fresh sandbox and the whole suite for each of {count}, with all cores",
            n=counts.looked,
        )

    async def _confirm(self, found: Outset, seen: list[Seen], warmth: Warmth) -> Figure:
        """One task in the cold stage, and three whole runs."""
        from codegym.grading.trials import run_on, together
        from codegym.mutation.confirm import at_once, confirm
        from codegym.mutation.trial import Trial

        self._note("confirming tasks")
        baseline = found.baselines[0]
        failing = [one.candidate for one in seen if one.look is not None and one.look.failed]
        ways = at_once([warmth], self._workers)
        chosen = failing[: max(_ROUNDS * ways, self._times // 2)]
        free = asyncio.Semaphore(ways)

        async def confirmed(one: Candidate) -> Trial:
            async with free:
                covering = found.screen.tests_for(one)[1]
                return await confirm(self._setting, baseline, warmth, one, covering)

        began = time.perf_counter()
        held = sum(one.reason is None for one in await together(map(confirmed, chosen)))
        spent = _MS * (time.perf_counter() - began) / max(1, held)
        began = time.perf_counter()
        await together(run_on(self._setting, baseline.ready) for _ in range(3 * self._workers))
        thrice = _MS * (time.perf_counter() - began) / self._workers
        return _one(
            "mutation_confirm_ms",
            spent,
            thrice,
            target=1000.0 if self._environment.language == "python" else None,
            what=f"wall time a confirmed task with all cores; {held} of {len(chosen)} held",
            against="three whole runs of the suite for each, with all cores",
            n=held,
        )

    async def _agreement(self, found: Outset, seen: list[Seen], warmth: Warmth) -> Figure:
        """How many candidates fail other tests when they are imported."""
        from codegym.mutation.warm.agreement import differences

        self._note("comparing failing tests with those of ordinary runs")
        step = max(1, len(seen) // max(1, self._times * _COMPARED))
        chosen = [(one, found.screen.tests_for(one.candidate)[1]) for one in seen[::step]]
        others = await differences(self._setting, found.baselines[0], warmth, chosen, self._workers)
        told = "; ".join(
            f"{one.candidate.operator} in {one.candidate.path} {one.candidate.function} at "
            f"{one.candidate.edit.start}: {one.fast[0]} {len(one.fast[1])}, "
            f"cold {one.cold[0]} {len(one.cold[1])}"
            for one in others[:_SHOWN]
        )
        return _one(
            "mutation_differing_percent",
            100 * len(others) / max(1, len(chosen)),
            None,
            target=0.5,
            what=f"candidates whose failing tests are others in an ordinary run. {told}".strip(),
            against="",
            n=len(chosen),
        )

    async def _nulls(self, found: Outset, seen: list[Seen], warmth: Warmth) -> Figure:
        """How many mutants that change nothing fail a test."""
        from codegym.mutation.warm.session import look_at_nulls

        self._note("trying mutants that change nothing")
        baseline, wanted = found.baselines[0], self._times * _NULLS
        work = [(one.candidate, sorted(found.screen.tests_for(one.candidate)[1])) for one in seen]
        work = (work * (wanted // max(1, len(work)) + 1))[:wanted]
        failed = run = 0
        began = time.perf_counter()
        for start in range(0, len(work), _NULL_BATCH):
            part = work[start : start + _NULL_BATCH]
            looks = await look_at_nulls(self._setting, baseline, warmth, part)
            run += sum(one.ended == "ran" for one in looks)
            failed += sum(bool(one.failed) for one in looks)
        pace = 60 * run / (time.perf_counter() - began)
        return _one(
            "mutation_null_valid",
            float(failed),
            None,
            target=0.0,
            what=f"mutants that change nothing and fail a test ({pace:.0f} a minute, one session)",
            against="",
            n=run,
        )


def _among(counts: Counts) -> Figure:
    """How many mutants that change nothing, tried among candidates, fail a test."""
    return _one(
        "mutation_null_valid",
        float(counts.null_valid),
        None,
        target=0.0,
        what="mutants that change nothing and fail a test, one for each 20 candidates",
        against="",
        n=counts.nulls,
    )


def _one(
    name: str,
    value: float,
    floor: float | None,
    *,
    target: float | None,
    what: str,
    against: str,
    n: int,
) -> Figure:
    return Figure(name, value, value, floor, target, what, against, n)
