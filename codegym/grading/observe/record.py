"""Makes recordings: runs a suite on the solved tree, in sandboxes, and sees what can be observed.

Each round is a run of the whole suite in a fresh sandbox, one after another, since policies are at
work meanwhile. Two with both sides of every assertion; two without the expected sides, with
candidates for siblings; and one of what was chosen; each of its own hash seed. So what is observed
held in five processes, and a sibling saw the same in three. A test that does not pass in that form
is left as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from codegym.grading.observe import choosing
from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.controls import controls, needs_controls
from codegym.grading.observe.modules import TestModule
from codegym.grading.observe.recording import Recording, TestRecord, file_of, function_of
from codegym.grading.observe.siblings import siblings
from codegym.grading.observe.sites import Sibling
from codegym.grading.suites import SuiteRun, Watch
from codegym.types import ObservingRunner

#: Runs of a suite that takes longer are not repeated: what it would show is not recorded.
MOST_SUITE_SEC = 60.0
#: A test that takes longer has no siblings.
_MOST_SIBLING_SEC = 0.5
_CANDIDATES = 10
_RECORDED, _SHIPPED, _FINAL = (1, 2), (3, 4), (5,)
_ROUNDS = 3

#: Lays sources over the solved tree, and runs them in a fresh sandbox.
Run = Callable[[Mapping[str, str], Watch], Coroutine[Any, Any, SuiteRun]]
#: Siblings by the function (``path::Class::name``) that they are made of.
Siblings = Mapping[str, Sequence[Sibling]]


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

    async def read(self, run: SuiteRun) -> Sight:
        """What was seen in a run."""
        evidence = await asyncio.to_thread(self.runner.evidence, run.result.report)
        return Sight(run.records, evidence)


async def record(subject: Subject) -> Recording:
    """Make a recording.

    Raises:
        SandboxError: The infrastructure broke, more than once.
        TaskError: A service of the environment did not start.
    """
    sources = {path: module.recording() for path, module in subject.modules.items()}
    watches = [Watch(collect=True, hash_seed=seed) for seed in _RECORDED]
    first = await subject.run(sources, watches[0])
    if first.note or first.result.seconds > MOST_SUITE_SEC:
        said = first.note or f"The suite takes {first.result.seconds:.0f} s."
        return Recording(notes=(f"{said} Nothing of it is observed.",))
    runs = [await subject.read(first), *await subject.look(sources, watches[1:])]
    maker = _Maker(subject, runs)
    recording = await maker.make()
    return replace(recording, controlled=await maker.controlled(recording))


class _Maker:
    """What is known while a recording is made.

    Args:
        subject: What is recorded.
        runs: Of the sources that have both sides of every assertion.
    """

    def __init__(self, subject: Subject, runs: Sequence[Sight]) -> None:
        self._subject, self._first = subject, runs[0]
        self._nodes = runs[0].evidence.nodes
        self._sites = choosing.steady_sites(subject.modules, runs)
        self._functions: dict[str, list[str]] = {}
        for key in sorted(choosing.passing(runs) & self._nodes.keys()):
            self._functions.setdefault(function_of(key), []).append(key)

    async def make(self) -> Recording:
        """Choose sites and siblings, and see that they do."""
        candidates = self._candidates()
        runs = await self._look(candidates, _SHIPPED)
        failed = self._drop_failing(runs)
        kept = {name: found for name, found in candidates.items() if name not in failed}
        kept = {name: self._chosen(name, found, runs) for name, found in kept.items()}
        final, rounds = runs, 0
        while rounds < _ROUNDS:
            rounds += 1
            final = await self._look(kept, _FINAL)
            failed = self._drop_failing(final)
            unfit = {
                name
                for name, found in kept.items()
                if name in failed or len(self._chosen(name, found, [*runs, *final])) < len(found)
            }
            kept = {name: found for name, found in kept.items() if name not in unfit}
            if not failed and not unfit:
                break
        return self._recording(kept, final[0], failed)

    def _candidates(self) -> Siblings:
        """Siblings to try, of each function that is fast enough for more of it."""
        seconds = {record.id: record.seconds for record in self._first.records}
        found = {}
        for name, keys in self._functions.items():
            path, _, test = name.partition("::")
            module = self._subject.modules.get(path)
            if module and sum(seconds[key] for key in keys) <= _MOST_SIBLING_SEC:
                made = siblings(module, test, Random(name), _CANDIDATES)
                if made:
                    found[name] = made
        return found

    async def _look(self, chosen: Siblings, seeds: Iterable[int]) -> list[Sight]:
        """Run the sources without expected sides."""
        own = [key for keys in self._functions.values() for key in keys]
        extra = [key for name, found in chosen.items() for key in self._keys_of(name, found)]
        watches = [Watch((*own, *extra), tuple(extra), hash_seed=seed) for seed in seeds]
        return await self._subject.look(self._sources(chosen), watches)

    def _keys_of(self, name: str, found: Iterable[Sibling]) -> list[str]:
        own = self._functions[name]
        return [choosing.sibling_key(file_of(name), each, key) for each in found for key in own]

    def _sources(self, chosen: Siblings) -> dict[str, str]:
        """The modules that have anything to observe, as they are laid into a grade."""
        by_file: dict[str, list[Sibling]] = {}
        for name, found in chosen.items():
            by_file.setdefault(file_of(name), []).extend(found)
        return {
            path: module.shipped(frozenset(self._sites[path]), siblings=by_file.get(path, ()))
            for path, module in self._subject.modules.items()
            if path in self._sites
        }

    def _tests(self, name: str) -> list[TestRecord]:
        return [choosing.record_of(key, self._sites, self._first) for key in self._functions[name]]

    def _drop_failing(self, runs: Sequence[Sight]) -> set[str]:
        """Leave functions plain that do not pass in this form; returns them."""
        tests = [test for name in self._functions for test in self._tests(name)]
        failing = choosing.failing(tests, self._sites, runs)
        self._sites = choosing.without(self._subject.modules, self._sites, failing, self._first)
        return {function_of(key) for key in failing}

    def _chosen(
        self, name: str, found: Sequence[Sibling], runs: Sequence[Sight]
    ) -> Sequence[Sibling]:
        path = file_of(name)
        sites = self._sites.get(path, {})
        return choosing.keep_siblings(path, self._tests(name), found, sites, runs)

    def _recording(self, kept: Siblings, final: Sight, failed: Collection[str]) -> Recording:
        tests = {
            self._nodes[test.key]: test
            for name in self._functions
            if name not in failed
            for test in self._tests(name)
        }
        variants = {
            name: tuple(
                tuple(
                    choosing.record_of(key, self._sites, final)
                    for key in self._keys_of(name, [each])
                )
                for each in found
            )
            for name, found in kept.items()
            if found
        }
        sources = {path: text.encode() for path, text in self._sources(kept).items()}
        return Recording(sources, self._sites, tests, variants)

    async def controlled(self, recording: Recording) -> frozenset[str]:
        """Node ids of tests that need controls, and can have them."""
        wanted = {
            test.key: node
            for node, test in recording.tests.items()
            if needs_controls(recording, node, hidden=True) and self._controllable(test.key)
        }
        if not wanted:
            return frozenset()
        names = {function_of(key) for key in wanted}
        as_is, inverted = [
            await self._subject.look(
                controls(self._subject.modules, dict.fromkeys(names, inverted)),
                [Watch(tuple(wanted))],
            )
            for inverted in (False, True)
        ]
        good = as_is[0].passed & inverted[0].failed
        return frozenset(node for key, node in wanted.items() if key in good)

    def _controllable(self, key: str) -> bool:
        path, _, test = function_of(key).partition("::")
        module = self._subject.modules.get(path)
        return module is not None and test in module.controllable
