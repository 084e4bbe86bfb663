"""The fast stage: candidates in, looks out, in batches whose records a killed run goes on from."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codegym.grading.progress import SILENT, Progress
from codegym.grading.setting import Setting
from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate
from codegym.mutation.coverage import IMPORT
from codegym.mutation.screening import Screen
from codegym.mutation.switched import can_switch, look_at_all
from codegym.mutation.trial import Reason
from codegym.mutation.warm.session import Tried, Warmth, look_at
from codegym.mutation.warm.work import is_in_functions
from codegym.store import LayerStore
from codegym.syntax import function_at
from codegym.types import Look
from codegym.version import __version__

_RECORD = "looks.json"
_VERSION = "3"
#: Candidates in a batch: a few at first, so that the first tasks come soon; then more, so that
#: sessions are begun less often. None is to take longer than so many seconds of tests.
_FIRST, _MOST, _BATCH_SEC = 40, 320, 40.0
#: Batches of one size.
_TWICE = 2


@dataclass(frozen=True)
class Seen:
    """What the fast stage says of a candidate.

    Attributes:
        candidate: It.
        reason: Why it is not worth running, or None.
        look: What trying it showed; None where it was not, or has to be tried cold.
        cold: Why it has to be, or ``""``.
    """

    candidate: Candidate
    reason: Reason | None = None
    look: Look | None = None
    cold: str = ""


@dataclass
class Counts:
    """What a run of the stage did.

    Attributes:
        looked: Candidates that were tried; those that were known from before are not among them.
        nulls: Mutants that change nothing, tried among candidates, now or before.
        null_valid: How many of those failed a test.
        seconds: Wall time, with all that it takes to choose and make candidates.
        cold: Why candidates had to be tried cold, to how many.
    """

    looked: int = 0
    nulls: int = 0
    null_valid: int = 0
    seconds: float = 0.0
    cold: Counter[str] = field(default_factory=Counter)


@dataclass
class _Batch:
    """Candidates, and by suite those to try: where they are, and the tests that run them."""

    seen: list[Seen] = field(default_factory=list)
    to_try: dict[str, list[tuple[int, Sequence[str]]]] = field(default_factory=dict)


class Stage:
    """Looks at candidates, in order.

    Args:
        setting: Runs them.
        screen: Says which are not worth running, and what to run for the others.
        warmths: By suite, how it bears that.
        store: Keeps what was seen.
        workers: Sessions at once. What is seen does not depend on it.
        progress: Told how far it is.
    """

    def __init__(
        self,
        setting: Setting,
        screen: Screen,
        warmths: Mapping[str, Warmth],
        store: LayerStore,
        workers: int,
        progress: Progress = SILENT,
    ) -> None:
        self._progress = progress
        self._setting, self._screen, self._warmths = setting, screen, warmths
        self._store, self._workers = store, workers
        self._free = asyncio.Semaphore(workers)
        self._batches = 0
        self.counts = Counts()

    def warmth(self, baseline: Baseline) -> Warmth:
        """How a suite bears it."""
        return self._warmths.get(baseline.suite.name, _COLD)

    async def waves(self, candidates: Iterator[Candidate]) -> AsyncGenerator[list[Seen], None]:
        """Candidates with what was seen, in their order; so many at a time as keep all busy.

        Raises:
            SandboxError: The infrastructure broke, more than once.
        """
        while True:
            began, running = time.perf_counter(), list[asyncio.Task[list[Seen]]]()
            try:
                for _ in range(max(_TWICE, self._workers)):
                    batch = await asyncio.to_thread(self._fill, candidates)
                    if not batch.seen:
                        break
                    running.append(asyncio.create_task(self._seen(batch)))
                wave = [one for each in running for one in await each]
            finally:
                self.counts.seconds += time.perf_counter() - began
                for each in running:
                    each.cancel()
                await asyncio.gather(*running, return_exceptions=True)
            if not wave:
                return
            self.counts.cold.update(one.cold for one in wave if one.cold)
            yield wave

    def _fill(self, candidates: Iterator[Candidate]) -> _Batch:
        """The next batch: as many as are to be tried in it, and those between that are not."""
        size = min(_MOST, _FIRST << self._batches // _TWICE)
        self._batches += 1
        batch, left = _Batch(), _BATCH_SEC
        for candidate in candidates:
            reason = self._screen.fault(candidate)
            baseline, covering = self._screen.tests_for(candidate)
            warmth = self.warmth(baseline)
            tests = sorted(covering)  # those of a file together: they share what is set up
            why = "" if reason else self._cold(candidate, baseline, covering)
            if not (reason or why):
                mine = batch.to_try.setdefault(baseline.suite.name, [])
                mine.append((len(batch.seen), tests))
                left -= sum(warmth.seconds(test) for test in tests)
                size -= 1
            batch.seen.append(Seen(candidate, reason, None, why))
            if size <= 0 or left < 0 or len(batch.seen) >= 2 * _MOST:
                break
        return batch

    def _cold(self, candidate: Candidate, baseline: Baseline, covering: frozenset[str]) -> str:
        """Why a candidate cannot be tried in a session that has imported the package, or ``""``."""
        warmth = self.warmth(baseline)
        if can_switch(baseline):
            return ""
        if warmth.why:
            return "suite"
        if not is_in_functions(candidate):
            return "module"
        if not warmth.refused.isdisjoint(covering):
            return "refused_tests"
        return "import" if _ran_at_import(candidate, baseline) else ""

    async def _seen(self, batch: _Batch) -> list[Seen]:
        """What a batch comes to."""
        seen = list(batch.seen)
        for baseline in self._screen.baselines:
            mine = batch.to_try.get(baseline.suite.name, [])
            work = [(seen[at].candidate, tests) for at, tests in mine]
            for (at, _), look in zip(mine, await self._looks(baseline, work), strict=True):
                cold = look.why if look.ended == "cold" else ""
                seen[at] = Seen(seen[at].candidate, None, None if cold else look, cold)
        return seen

    async def _looks(
        self, baseline: Baseline, work: Sequence[tuple[Candidate, Sequence[str]]]
    ) -> Sequence[Look]:
        """What is known of candidates, all of them; else what trying them shows."""
        if not work:
            return []
        key = f"looks-{_digest(baseline, work)}"
        found = self._store.find(key)
        if found is None:
            async with self._free:
                self._progress.note(f"trying {len(work)} edits, after {self.counts.looked} others")
                if can_switch(baseline):
                    candidates = [one for one, _ in work]
                    tried = await look_at_all(self._setting, baseline, candidates)
                else:
                    tried = await look_at(self._setting, baseline, self.warmth(baseline), work)
            found = self._store.publish(key, lambda folder: _write(folder / _RECORD, tried))
            self.counts.looked += sum(one.ended != "cold" for one in tried.looks)
        tried = _read(found / _RECORD)
        self.counts.nulls += tried.nulls
        self.counts.null_valid += tried.null_valid
        return tried.looks


_COLD = Warmth({}, why="it was not tried")


def _ran_at_import(candidate: Candidate, baseline: Baseline) -> bool:
    """Whether any line of a function that is edited ran while modules were imported."""
    known = baseline.coverage.tests.get(IMPORT, {}) if baseline.coverage else {}
    for one in candidate.spots:
        function = function_at(one.source, one.edit.start, one.edit.end)
        body = function.child_by_field_name("body") if function is not None else None
        if body is None:
            return True
        ran = known.get(one.path, frozenset())
        if any(row + 1 in ran for row in range(body.start_point.row, body.end_point.row + 1)):
            return True
    return False


def _digest(baseline: Baseline, work: Sequence[tuple[Candidate, Sequence[str]]]) -> str:
    ready = baseline.ready
    scope = [_VERSION, __version__, ready.environment.digest, ready.image.digest, ready.suite.name]
    tried = [[candidate.digest, list(tests)] for candidate, tests in work]
    return hashlib.sha256(json.dumps([*scope, tried]).encode()).hexdigest()


def _write(path: Path, tried: Tried) -> None:
    rows = [
        [one.ended, one.why, [[test, *how] for test, how in sorted(one.failed.items())]]
        for one in tried.looks
    ]
    found = {"looks": rows, "nulls": tried.nulls, "null_valid": tried.null_valid}
    path.write_text(json.dumps(found))


def _read(path: Path) -> Tried:
    found = json.loads(path.read_text())
    looks = [
        Look(ended, why, {test: (outcome, raised) for test, outcome, raised in failed})
        for ended, why, failed in found["looks"]
    ]
    return Tried(tuple(looks), found["nulls"], found["null_valid"])
