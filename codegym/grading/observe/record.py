"""Makes recordings: runs a suite on the solved tree, in sandboxes, and sees what can be observed.

Each round is a run of the whole suite in a fresh sandbox, one after another, since policies are at
work meanwhile. Two with both sides of every assertion, two without the expected sides; each of its
own hash seed. So what is observed held in four processes. A test that does not pass in that form is
left as it is; so are those that take longest, where all together take long: they run in two rounds.
So are those of which the seed says which is which, as keys count parameters; the first round has
the seed that grades have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codegym.grading.observe import choosing
from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.modules import TestModule
from codegym.grading.observe.recording import Recording, TestRecord
from codegym.grading.suites import SuiteRun, Watch
from codegym.types import ObservingRunner

_RECORDED, _SHIPPED = (0, 1), (2, 3)
#: So often a suite that shows too much is recorded anew, without what shows most.
_LIGHTER = 4

#: Lays sources over the solved tree, and runs them in a fresh sandbox.
Run = Callable[[Mapping[str, str], Watch], Coroutine[Any, Any, SuiteRun]]


class CutOffError(Exception):
    """A run of the whole suite was stopped for want of time or memory, as others use the machine.

    That says nothing of the suite: what is kept for good must not come of it.
    """


@dataclass(frozen=True)
class Subject:
    """What is recorded.

    Attributes:
        modules: Test modules: path as in keys to module.
        runner: Reads what was seen.
        run: Runs sources, given by path as in keys.
    """

    modules: Mapping[str, TestModule]
    runner: ObservingRunner
    run: Run

    async def look(self, sources: Mapping[str, str], watches: Iterable[Watch]) -> list[Sight]:
        """Run sources once for each watch, and read what was seen."""
        return [await self.read(await self.run(sources, watch)) for watch in watches]

    async def whole(self, sources: Mapping[str, str], watch: Watch) -> Sight:
        """Run sources to their end.

        Raises:
            CutOffError: They did not come to it.
        """
        run = await self.run(sources, watch)
        if run.note:
            raise CutOffError(run.note)
        return await self.read(run)

    async def read(self, run: SuiteRun) -> Sight:
        """What was seen in a run."""
        evidence = await asyncio.to_thread(self.runner.evidence, run.result.report)
        return Sight(run.records, evidence)


async def record(subject: Subject) -> Recording:
    """Make a recording.

    Raises:
        CutOffError: A run did not come to its end.
        SandboxError: The infrastructure broke, more than once.
        TaskError: A service of the environment did not start.
    """
    without: frozenset[int] = frozenset()
    for _ in range(_LIGHTER):
        sources = {path: one.recording(without) for path, one in subject.modules.items()}
        sight = await subject.whole(sources, Watch(collect=True, hash_seed=_RECORDED[0]))
        heavy = await asyncio.to_thread(choosing.heavy, sight)
        if not heavy:
            break
        without |= heavy
    else:
        return Recording(
            notes=("Its tests show more than can be told. Nothing of it is observed.",)
        )
    quick = choosing.quick({key: sight.seconds[key] for key in sight.passed})
    if not quick:
        said = "No test of it passes, or none is quick."
        return Recording(notes=(f"{said} Nothing of it is observed.",))
    watch = Watch(tuple(sorted(quick)), collect=True, hash_seed=_RECORDED[1])
    again = await subject.whole(sources, watch)
    return await _Maker(subject, [sight, again]).make(quick - choosing.renamed(sight, again))


class _Maker:
    """What is known while a recording is made.

    Args:
        subject: What is recorded.
        runs: Of the sources that have both sides of every assertion.
    """

    def __init__(self, subject: Subject, runs: Sequence[Sight]) -> None:
        self._subject, self._first = subject, runs[0]
        self._nodes = runs[0].evidence.nodes
        named = self._nodes.keys() - choosing.renamed(*runs)
        self._keys = tuple(sorted(choosing.passing(runs) & named))
        self._sites = choosing.steady_sites(subject.modules, runs)

    async def make(self, quick: frozenset[str]) -> Recording:
        """Choose sites, and see that tests pass in the form without their expected sides.

        Args:
            quick: Keys of the tests that can be observed; others have to pass once in that form.
        """
        failing: frozenset[str] = frozenset()
        slow = (self._first.passed & self._nodes.keys()) - quick
        self._drop(slow)
        if slow:  # keys are the same tests' under the seed that they were named by
            watch = Watch(tuple(sorted(slow)), hash_seed=_RECORDED[0])
            slow &= (await self._subject.whole(self._sources(), watch)).passed
        for seed in _SHIPPED:
            run = await self._subject.whole(self._sources(), Watch(self._keys, hash_seed=seed))
            failing = choosing.failing(self._tests(), self._sites.of, [run])
            self._drop(failing)
        seen = [test for test in self._tests() if test.key not in failing]
        unseen = [TestRecord(key, (), self._first.seconds[key]) for key in sorted(slow)]
        tests = {self._nodes[test.key]: test for test in (*seen, *unseen)}
        sources = {path: text.encode() for path, text in self._sources().items()}
        sites = self._sites
        return Recording(sources, sites.by_file, sites.unsteady, tests)

    def _drop(self, tests: frozenset[str]) -> None:
        """Leave tests as they are."""
        self._sites = choosing.without(self._subject.modules, self._sites, tests, self._first)

    def _sources(self) -> dict[str, str]:
        """The modules that have anything to observe, as they are laid into a grade."""
        modules = self._subject.modules
        sites = self._sites.by_file
        return {path: modules[path].shipped(frozenset(each)) for path, each in sites.items()}

    def _tests(self) -> list[TestRecord]:
        return [choosing.record_of(key, self._sites, self._first) for key in self._keys]
