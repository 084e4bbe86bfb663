"""Adds to a recording what a task's failing tests need: held-out siblings, or controls.

Siblings are variants of tests, with what they see when solved.

Candidates run alone, once on the solved tree and once on the unsolved one, where they have to
fail: else unsolved code with a table of the shown tests would pass them. What is kept then runs
twice among all tests, as it will in a grade. So each saw the same in three processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

from codegym.grading.observe import choosing
from codegym.grading.observe.choosing import Variant
from codegym.grading.observe.controls import controls, needs_controls
from codegym.grading.observe.record import Subject
from codegym.grading.observe.recording import Recording, TestRecord, file_of, function_of
from codegym.grading.observe.siblings import siblings
from codegym.grading.observe.sites import Sibling
from codegym.grading.suites import Watch

#: A function that takes longer, with all its parameters, has no siblings.
_MOST_SEC = 0.5
#: So many candidates of a function, and tests of them together, at most.
_CANDIDATES, _MOST_TESTS, _MOST_TRYING_SEC = 60, 160, 2.0
#: A candidate may take so many times what its original takes, and so long at least: other inputs
#: can make code run on without end, unsolved code above all. All of them together have their time.
_PATIENCE, _LEAST_SEC, _TRYING_TIMEOUT_SEC = 20.0, 0.1, 8.0
#: More than one of a function are kept while all take no more than this part of the suite's time;
#: so many seconds are next to nothing for any.
_SHARE, _NOTHING_SEC = 0.1, 0.03
#: So many of a function are tried on the unsolved tree: what hangs there costs most of all.
_UNSOLVED = 24
#: Of so many, those are tried that seem the most likely to tell.
_DRAWN = 150
_ALONE, _AMONG_ALL = 5, (6, 7)

#: Siblings by the function (``path::Class::name``) that they are made of.
Siblings = Mapping[str, Sequence[Sibling]]
Variants = Mapping[str, Sequence[Variant]]


async def completed(
    solved: Subject, start: Subject, recording: Recording, functions: Iterable[str]
) -> Recording:
    """The recording with siblings of some functions, and whether others can have controls.

    Args:
        solved: What was recorded; of its modules, those of the functions are needed.
        start: The same, run on the unsolved tree.
        recording: Without either.
        functions: As ``path::Class::name``.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    holder = _Holder(solved, start, recording, functions)
    made = await holder.make()
    return replace(made, controlled=await holder.controlled(made))


class _Holder:
    def __init__(
        self, solved: Subject, start: Subject, recording: Recording, functions: Iterable[str]
    ) -> None:
        self._solved, self._start, self._recording = solved, start, recording
        self._originals: dict[str, list[TestRecord]] = {name: [] for name in functions}
        for test in recording.tests.values():
            if function_of(test.key) in self._originals:
                self._originals[function_of(test.key)].append(test)

    async def make(self) -> Recording:
        """Try, choose, and see that the chosen disturb nothing."""
        candidates = await self._candidates()
        if not candidates:
            return self._recording
        kept = self._affordable(await self._chosen(candidates))
        keys = tuple(test.key for found in kept.values() for one in found for test in one.tests)
        tests = self._recording.tests.values()
        everything = (*(test.key for test in tests), *keys)
        among = [Watch(everything, limited=keys, hash_seed=seed) for seed in _AMONG_ALL]
        final = await self._solved.look(self._sources(_siblings(kept)), among)
        sites = self._recording.sites
        disturbed = {file_of(key) for key in choosing.failing(tests, sites, final)}
        held = {
            name: [
                one for one in found if all(one.holds(sites[file_of(name)], run) for run in final)
            ]
            for name, found in kept.items()
            if file_of(name) not in disturbed
        }
        return self._added({name: found for name, found in held.items() if found})

    async def controlled(self, recording: Recording) -> frozenset[str]:
        """Node ids of tests that need controls and, on the solved tree, do as they should."""
        wanted = {
            test.key: node
            for node, test in recording.tests.items()
            if function_of(test.key) in self._originals
            and needs_controls(recording, node, hidden=True)
            and self._controllable(test.key)
        }
        if not wanted:
            return frozenset()
        names = {function_of(key) for key in wanted}
        looks = []
        for inverted in (False, True):
            sources = controls(self._solved.modules, dict.fromkeys(names, inverted))
            looks += await self._solved.look(sources, [Watch(tuple(wanted), brief=True)])
        good = looks[0].passed & looks[1].failed
        return frozenset(node for key, node in wanted.items() if key in good)

    def _controllable(self, key: str) -> bool:
        path, _, test = function_of(key).partition("::")
        module = self._solved.modules.get(path)
        return module is not None and test in module.controllable

    async def _candidates(self) -> Siblings:
        """Siblings to try, first those with other inputs where unsolved code fails."""
        keys = tuple(test.key for tests in self._originals.values() for test in tests)
        sources = self._sources({})
        (start,) = await self._start.look(sources, [Watch(keys, hash_seed=_ALONE, brief=True)])
        room = _MOST_TESTS // max(1, len(keys))
        found = {}
        for name, tests in self._originals.items():
            path, _, test = name.partition("::")
            module = self._solved.modules.get(path)
            seconds = sum(one.seconds for one in tests)
            if module and tests and seconds <= _MOST_SEC and path in self._recording.sites:
                by_time = _MOST_TRYING_SEC / len(self._originals) / max(seconds, 0.001)
                count = min(_CANDIDATES, max(1, int(by_time)), max(1, room))
                made = siblings(module, test, Random(name), _DRAWN)
                sites = self._recording.sites[path]
                spots = choosing.failing_lines(module, test, tests, sites, start)
                found[name] = choosing.focused(module, made, spots, count)
        return {name: made for name, made in found.items() if made}

    async def _chosen(self, candidates: Siblings) -> Variants:
        """Run candidates by themselves, on both trees."""
        sources = self._sources(candidates)
        (solved,) = await self._solved.look(sources, [self._alone(candidates)])
        fit = {
            name: [o for o in tried if solved.passed.issuperset(self._keys(name, o))][:_UNSOLVED]
            for name, tried in candidates.items()
        }
        if not any(fit.values()):
            return {}
        (start,) = await self._start.look(sources, [self._alone(fit)])
        ran = {record.id for record in start.records}
        found = {}
        for name, candidate in fit.items():
            tried = [one for one in candidate if ran.issuperset(self._keys(name, one))]
            path, originals = file_of(name), self._originals[name]
            sites = self._recording.sites[path]
            found[name] = choosing.keep_siblings(path, originals, tried, sites, solved, start)
        return {name: kept for name, kept in found.items() if kept}

    def _keys(self, name: str, sibling: Sibling) -> list[str]:
        path = file_of(name)
        return [choosing.sibling_key(path, sibling, test.key) for test in self._originals[name]]

    def _alone(self, candidates: Siblings) -> Watch:
        tried = ((name, one) for name, found in candidates.items() for one in found)
        keys = tuple(key for name, one in tried for key in self._keys(name, one))
        slowest = max(one.seconds for tests in self._originals.values() for one in tests)
        limit = max(_LEAST_SEC, _PATIENCE * slowest)
        return Watch(
            keys,
            keys,
            limit_sec=limit,
            timeout_sec=_TRYING_TIMEOUT_SEC,
            hash_seed=_ALONE,
            brief=True,
        )

    def _affordable(self, kept: Variants) -> Variants:
        """One of each function, then a second of each, and so on while there is time."""
        seconds = {name: sum(one.seconds for one in self._originals[name]) for name in kept}
        suite_sec = sum(test.seconds for test in self._recording.tests.values())
        left = max(_NOTHING_SEC, _SHARE * suite_sec)
        chosen: dict[str, list[Variant]] = {name: [] for name in kept}
        for turn in range(choosing.MOST_SIBLINGS):
            for name, found in kept.items():
                if turn < len(found) and (turn == 0 or left >= seconds[name]):
                    chosen[name].append(found[turn])
                    left -= seconds[name]
        return chosen

    def _sources(self, chosen: Siblings) -> dict[str, str]:
        """All modules as they are laid into a grade."""
        by_file: dict[str, list[Sibling]] = {}
        for name, found in chosen.items():
            by_file.setdefault(file_of(name), []).extend(found)
        sources = {path: data.decode() for path, data in self._recording.sources.items()}
        for path, found in by_file.items():
            observed = frozenset(self._recording.sites[path])
            sources[path] = self._solved.modules[path].shipped(observed, siblings=found)
        return sources

    def _added(self, held: Variants) -> Recording:
        variants = {name: tuple(one.tests for one in found) for name, found in held.items()}
        sources = self._sources(_siblings(held))
        encoded = {path: text.encode() for path, text in sources.items()}
        return replace(self._recording, sources=encoded, siblings=variants)


def _siblings(held: Variants) -> Siblings:
    return {name: [one.sibling for one in found] for name, found in held.items()}
