"""Makes pools: siblings of some functions of a file that are fit on the solved tree.

All tasks with one solved tree share them. Candidates run by themselves: first each as it is drawn,
twice, so that functions that are left to chance are known; then also several at once as one, which
are hard to guess, and hold wherever unsolved code fails. What is chosen runs twice more among all
tests, as it will in a grade. So each saw the same in three processes, and disturbs nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from types import MappingProxyType
from zlib import crc32

from codegym.grading.fresh import together
from codegym.grading.observe import choosing
from codegym.grading.observe.aiming import Aim
from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.modules import TestModule
from codegym.grading.observe.record import Subject
from codegym.grading.observe.recording import Recording, TestRecord, file_of, function_of
from codegym.grading.observe.siblings import joined, siblings
from codegym.grading.observe.sites import Sibling
from codegym.grading.observe.variants import Variant, fit, sibling_key, spread
from codegym.grading.suites import Watch

#: Functions share a pool, so many and with so many tests, if all of them are quick.
_TOGETHER, _TOGETHER_TESTS, _QUICK_SEC = 20, 40, 0.02
#: A test that takes longer has no siblings.
MOST_SEC = 0.5
#: So many candidates of a function, more of one that asks more; and tests of them, and seconds.
_CANDIDATES, _BY_QUESTION, _MOST_CANDIDATES = 60, 3, 90
_MOST_TESTS, _MOST_TRYING_SEC = 480, 3.3
_JOINED = 10
#: A candidate may take so many times what its original takes, and so long at least: other inputs
#: can make code run on without end. All of them together have their time. A machine that is busy
#: must not cost siblings, as they are made once.
_PATIENCE, _LEAST_SEC, _TRYING_TIMEOUT_SEC = 20.0, 0.5, 60.0
_MOST_RUNS = 4
_ALONE, _AMONG_ALL = (5, 6), (7, 8)

#: By function (``path::Class::name``).
Variants = Mapping[str, Sequence[Variant]]
Siblings = Mapping[str, Sequence[Sibling]]


def groups(recording: Recording) -> list[tuple[str, ...]]:
    """All functions of a recording, by the pools that they share."""
    found: list[list[str]] = []
    room = 0
    for name, tests in originals(recording).items():
        quick = sum(test.seconds for test in tests) <= _QUICK_SEC
        shares = quick and found and file_of(found[-1][0]) == file_of(name)
        if not shares or len(found[-1]) == _TOGETHER or len(tests) > room:
            found.append([])
            room = _TOGETHER_TESTS
        found[-1].append(name)
        room = room - len(tests) if quick else 0
    return [tuple(group) for group in found]


def originals(recording: Recording) -> dict[str, list[TestRecord]]:
    """Tests by function."""
    found: dict[str, list[TestRecord]] = {}
    for test in recording.tests.values():
        found.setdefault(function_of(test.key), []).append(test)
    return found


def sources_with(
    modules: Mapping[str, TestModule],
    recording: Recording,
    added: Siblings,
    *,
    insisting: bool = False,
) -> dict[str, str]:
    """All modules as they are laid into a grade, some with siblings; see ``insisting``."""
    by_file: dict[str, list[Sibling]] = {}
    for name, found in added.items():
        by_file.setdefault(file_of(recording.home_of(name)), []).extend(found)
    sources = {path: data.decode() for path, data in recording.sources.items()}
    for path, found in by_file.items():
        observed = frozenset(recording.sites[path])
        sources[path] = modules[path].shipped(observed, siblings=found, insisting=insisting)
    return sources


async def tried(
    subject: Subject,
    recording: Recording,
    added: Siblings,
    seed: int,
    *,
    insisting: bool = False,
) -> Sight:
    """Run siblings by themselves; where ``insisting``, each to its end whatever fails.

    One that cannot be stopped ends a run with all that come after it: those of other functions have
    another run then.
    """
    tests, left, sights = originals(recording), dict(added), list[Sight]()
    while left and len(sights) < _MOST_RUNS:
        keys = {
            sibling_key(one, test.key): name
            for name, found in left.items()
            for one in found
            for test in tests[name]
            if one.differs(test.key)
        }
        sources = sources_with(subject.modules, recording, left, insisting=insisting)
        slowest = max(test.seconds for name in left for test in tests[name])
        watch = Watch(
            tuple(keys),
            tuple(keys),
            limit_sec=max(_LEAST_SEC, _PATIENCE * slowest),
            timeout_sec=_TRYING_TIMEOUT_SEC,
            hash_seed=seed,
            brief=True,
        )
        sights += await subject.look(sources, [watch])
        ran = {record.id for record in sights[-1].records}
        missing = list(dict.fromkeys(name for key, name in keys.items() if key not in ran))
        left = {name: left[name] for name in missing[1:]}
    return Sight.of(sights)


async def pooled(
    solved: Subject,
    recording: Recording,
    functions: Sequence[str],
    aims: Mapping[str, Aim] = MappingProxyType({}),
) -> Variants:
    """Make a pool.

    Args:
        solved: What was recorded; of its modules, those of the functions are needed.
        recording: Without siblings.
        functions: One of ``groups``.
        aims: Where to change them, for another pool than that without.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    return await _Maker(solved, recording, functions, aims).variants()


class _Maker:
    def __init__(
        self,
        solved: Subject,
        recording: Recording,
        functions: Sequence[str],
        aims: Mapping[str, Aim],
    ) -> None:
        self._solved, self._recording, self._aims = solved, recording, aims
        tests = originals(recording)
        self._tests = {name: tests[name] for name in functions}
        known = recording.tests.values()
        quick = choosing.quick({test.key: test.seconds for test in known})
        self._quick = [test for test in known if test.key in quick]

    async def variants(self) -> Variants:
        """Draw, try, join, try again, choose, and see that the chosen disturb nothing."""
        drawn = self._drawn()
        if not drawn:
            return {}
        runs = await together(self._run(drawn, _ALONE[0]) for _ in range(2))
        first = self._fits(drawn, runs[0], {})
        same = {name: [one.sibling for one in found] for name, found in first.items()}
        again = self._fits(same, runs[1], first)
        # In the same process but for chance: with a function that is left to it, others of its
        # siblings would agree by chance, however often they are tried.
        first = {name: found for name, found in first.items() if again.get(name) == found}
        both = {
            name: [*(one.sibling for one in found), *self._joined(name, found)]
            for name, found in first.items()
        }
        second = self._fits(both, await self._run(both, _ALONE[1]), first) if both else {}
        chosen: Variants = {
            name: spread(
                found,
                self._tests[name],
                self._recording.all_sites,
                self._module(name).analysis.source.starts,
            )
            for name, found in second.items()
        }
        return await self._harmless({name: found for name, found in chosen.items() if found})

    def _joined(self, name: str, found: Sequence[Variant]) -> list[Sibling]:
        parts = [one.sibling for one in found]
        mark = self._mark(name)
        return self._tryable(name, joined(self._module(name), parts, Random(name), _JOINED, mark))

    def _drawn(self) -> dict[str, list[Sibling]]:
        found = {}
        for name in self._tests:
            path, _, test = self._recording.home_of(name).partition("::")
            if path in self._solved.modules and path in self._recording.sites:
                asked = max(len(one.pairs) for one in self._tests[name])
                count = max(_CANDIDATES, min(_MOST_CANDIDATES, _BY_QUESTION * asked))
                module = self._solved.modules[path]
                aim, mark = self._aims.get(name), self._mark(name)
                rng = Random(f"{name}{mark}")
                made = siblings(module, test, rng, count, mark, aim.weight if aim else None)
                found[name] = self._tryable(name, made)
        return {name: made for name, made in found.items() if made}

    def _module(self, name: str) -> TestModule:
        return self._solved.modules[file_of(self._recording.home_of(name))]

    def _mark(self, name: str) -> str:
        """What tells siblings apart of one function: of classes that inherit it, and of pools."""
        inherits = self._recording.home_of(name) != name
        aimed = "_again" if name in self._aims else ""
        return (f"_{crc32(name.encode()):x}" if inherits else "") + aimed

    def _tryable(self, name: str, drawn: Sequence[Sibling]) -> list[Sibling]:
        """The first of them, as many as there are tests and time for; one at least."""
        tests_left, sec_left = _MOST_TESTS, _MOST_TRYING_SEC / len(self._tests)
        found: list[Sibling] = []
        for one in drawn:
            asks = [test for test in self._tests[name] if one.differs(test.key)]
            tests_left -= len(asks)
            sec_left -= sum(test.seconds for test in asks)
            if asks and max(test.seconds for test in asks) <= MOST_SEC:
                found.append(one)
            if min(tests_left, sec_left) < 0:
                break
        return found

    async def _run(self, drawn: Siblings, seed: int) -> Sight:
        return await tried(self._solved, self._recording, drawn, seed)

    def _fits(self, drawn: Siblings, run: Sight, before: Variants) -> Variants:
        """Those that are fit, and see what they saw before."""
        found = {}
        for name, each in drawn.items():
            sites = self._recording.all_sites
            known = {one.sibling: one for one in before.get(name, ())}
            made = (known.get(one) or self._fit(name, one, run) for one in each)
            held = (one.holding(sites, run) for one in made if one is not None)
            found[name] = [one for one in held if one is not None]
        return {name: fits for name, fits in found.items() if fits}

    def _fit(self, name: str, sibling: Sibling, run: Sight) -> Variant | None:
        tests = [test for test in self._tests[name] if sibling.differs(test.key)]
        return fit(sibling, tests, self._recording.all_sites, run)

    async def _harmless(self, chosen: Variants) -> Variants:
        """Those that see the same among all tests, of functions whose siblings disturb none."""
        if not chosen:
            return {}
        good: list[Sight] = []
        left: Sequence[int] = _AMONG_ALL
        for _ in range(2):  # what fails now and then, on a busy machine, is not their doing
            runs = await together(self._among_all(chosen, seed) for seed in left)
            bad = [choosing.failing(self._quick, self._recording.sites_of, [run]) for run in runs]
            good += [run for run, failed in zip(runs, bad, strict=True) if not failed]
            left = [seed for seed, failed in zip(left, bad, strict=True) if failed]
            if not left:
                return {
                    name: [held for one in found if (held := self._holding(one, good))]
                    for name, found in chosen.items()
                }
        names = list(chosen)
        half = len(names) // 2
        if half == 0:
            return {}
        parts = [
            await self._harmless({n: chosen[n] for n in part})
            for part in (names[:half], names[half:])
        ]
        return {**parts[0], **parts[1]}

    async def _among_all(self, chosen: Variants, seed: int) -> Sight:
        keys = tuple(test.key for found in chosen.values() for one in found for test in one.tests)
        everything = (*(test.key for test in self._quick), *keys)
        # Half of them as in a grade, to the letter: with pytest's own rewriting of what asserts.
        watch = Watch(everything, limited=keys, hash_seed=seed, brief=seed == _AMONG_ALL[0])
        added = {name: [one.sibling for one in found] for name, found in chosen.items()}
        (run,) = await self._solved.look(self._sources(added), [watch])
        return run

    def _holding(self, one: Variant | None, runs: Sequence[Sight]) -> Variant | None:
        for run in runs:
            one = one and one.holding(self._recording.all_sites, run)
        return one

    def _sources(self, added: Siblings) -> dict[str, str]:
        return sources_with(self._solved.modules, self._recording, added)
