"""Chooses, from runs on the solved tree, what can be observed. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from codegym.grading.observe.agreement import agree, steady
from codegym.grading.observe.evidence import MAX_PARTS, MAX_TOTAL_BYTES
from codegym.grading.observe.modules import TestModule
from codegym.grading.observe.recording import (
    Pair,
    TestRecord,
    function_of,
    pairs,
    steady_in,
)
from codegym.grading.observe.sites import Site
from codegym.types import Evidence, Outcome, TestOutcome, Value

#: Of what a report may hold, so much a whole suite may show: in a grade it shows one side less, and
#: siblings besides.
_MOST_PARTS, _MOST_CHARS = MAX_PARTS // 2, MAX_TOTAL_BYTES // 4
#: Of a suite that takes longer, so much is run again and again.
MOST_SUITE_SEC = 30.0


@dataclass(frozen=True)
class Sites:
    """What is observed.

    Attributes:
        by_file: By path, as it is in keys.
        unsteady: By key of a test, those that are not observed in it.
    """

    by_file: Mapping[str, Mapping[int, Site]]
    unsteady: Mapping[str, frozenset[int]]

    def of(self, key: str) -> Mapping[int, Site]:
        """Those that are observed in a test, wherever it calls or inherits them from."""
        return steady_in(self.all, self.unsteady.get(key))

    @cached_property
    def all(self) -> Mapping[int, Site]:
        """Those of all files; no two have one number."""
        return {number: site for each in self.by_file.values() for number, site in each.items()}


@dataclass(frozen=True)
class Sight:
    """One run in observation."""

    records: tuple[TestOutcome, ...]
    evidence: Evidence

    @cached_property
    def passed(self) -> frozenset[str]:
        """Keys of tests that passed, reported once."""
        return self._once("passed")

    @cached_property
    def failed(self) -> frozenset[str]:
        """Keys of tests that failed, reported once."""
        return self._once("failed")

    @cached_property
    def seconds(self) -> Mapping[str, float]:
        """How long each test took."""
        return {record.id: record.seconds for record in self.records}

    @classmethod
    def of(cls, parts: Sequence[Sight]) -> Sight:
        """Several runs, of other tests each, as one."""
        seen = {key: found for part in parts for key, found in part.evidence.observations.items()}
        records = tuple(record for part in parts for record in part.records)
        return cls(records, Evidence(observations=seen))

    def _once(self, outcome: Outcome) -> frozenset[str]:
        counts = Counter(record.id for record in self.records)
        found = (record.id for record in self.records if record.outcome == outcome)
        return frozenset(key for key in found if counts[key] == 1)

    def pairs(self, key: str, sites: Mapping[int, Site]) -> tuple[Pair, ...]:
        """What one test saw."""
        return pairs(self.evidence.observations.get(key, ()), sites)


def quick(seconds: Mapping[str, float]) -> frozenset[str]:
    """Keys of the tests that can be run again and again: of the functions that take least.

    Args:
        seconds: How long each test takes, by key.
    """
    by_function: defaultdict[str, float] = defaultdict(float)
    for key, each in seconds.items():
        by_function[function_of(key)] += each
    left, found = MOST_SUITE_SEC, set()
    for function in sorted(by_function, key=lambda name: (by_function[name], name)):
        left -= by_function[function]
        if left >= 0:
            found.add(function)
    return frozenset(key for key in seconds if function_of(key) in found)


def renamed(one: Sight, other: Sight) -> frozenset[str]:
    """Keys of functions of which one is another test's in another run."""
    names, others = one.evidence.nodes, other.evidence.nodes
    moved = {function_of(key) for key, node in names.items() if others.get(key, node) != node}
    return frozenset(key for key in names if function_of(key) in moved)


def heavy(run: Sight) -> frozenset[int]:
    """The sites that show most: without them, what a suite shows is well within bounds.

    Else what a test shows would hang on which others run, as the rest goes unsaid.
    """
    by_site: defaultdict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for sightings in run.evidence.observations.values():
        for one in sightings:
            parts, chars = _size(one.value)
            known = by_site[one.site]
            by_site[one.site] = known[0] + parts, known[1] + chars
    parts, chars = (sum(each[place] for each in by_site.values()) for place in (0, 1))
    found = set()
    for site in sorted(by_site, key=lambda one: (max(by_site[one]), one), reverse=True):
        if parts <= _MOST_PARTS and chars <= _MOST_CHARS:
            break
        found.add(site)
        parts, chars = parts - by_site[site][0], chars - by_site[site][1]
    return frozenset(found)


def _size(value: Value) -> tuple[int, int]:
    """Its parts, and nearly how many characters they take."""
    inner = [_size(part) for part in value.parts]
    leaf = value.leaf
    own = len(leaf) if isinstance(leaf, str | bytes) else 8
    return 1 + sum(n for n, _ in inner), len(value.name) + own + sum(n for _, n in inner)


def passing(runs: Sequence[Sight]) -> frozenset[str]:
    """Keys of tests that passed in each run."""
    return frozenset.intersection(*(run.passed for run in runs))


def steady_sites(modules: Mapping[str, TestModule], runs: Sequence[Sight]) -> Sites:
    """The sites whose assertions can be made outside.

    One that keeps its assertion, as both of its sides come from code under test, need not be steady
    in each of the tests that pass it.

    Args:
        modules: By path, as it is in keys.
        runs: On the solved tree, of the modules' ``recording`` sources.
    """
    sites = {site.id: site for each in modules.values() for site in each.sites}
    fit: dict[int, bool] = {}
    unsteady: dict[str, set[int]] = defaultdict(set)
    for key in passing(runs):
        by_site = [_by_site(run.pairs(key, sites)) for run in runs]
        for number in {number for one in by_site for number in one}:
            found = steady(sites[number], [one.get(number, ()) for one in by_site])
            known = fit.get(number, found)
            asserts = sites[number].sides == "both"
            fit[number] = (known or found) if asserts else (known and found)
            if not found:
                unsteady[key].add(number)
    by_file = {
        path: _sealed(module, chosen)
        for path, module in modules.items()
        if (chosen := {site.id: site for site in module.sites if fit.get(site.id)})
    }
    return Sites(by_file, {key: frozenset(each) for key, each in unsteady.items()})


def _by_site(found: Iterable[Pair]) -> dict[int, list[Pair]]:
    by_site: dict[int, list[Pair]] = defaultdict(list)
    for pair in found:
        by_site[pair.site].append(pair)
    return by_site


def _sealed(module: TestModule, sites: Mapping[int, Site]) -> dict[int, Site]:
    """The sites, saying whether they are sealed where no others of the module are observed."""
    sealed = module.sealed(sites)
    return {number: replace(site, sealed=number in sealed) for number, site in sites.items()}


def without(
    modules: Mapping[str, TestModule], sites: Sites, failing: Collection[str], run: Sight
) -> Sites:
    """The sites less all of those that tests use.

    Args:
        modules: By path.
        sites: What was observed.
        failing: Keys of the tests.
        run: On the solved tree; tells what each passes.
    """
    dropped: set[int] = set()
    for key in failing:
        path, _, name = function_of(key).partition("::")
        mine = sites.by_file.get(path, {})
        dropped |= {number for number, site in mine.items() if site.test == name}
        dropped |= {pair.site for pair in run.pairs(key, sites.all)}
    kept = {
        path: {number: site for number, site in each.items() if number not in dropped}
        for path, each in sites.by_file.items()
    }
    by_file = {path: _sealed(modules[path], each) for path, each in kept.items() if each}
    return replace(sites, by_file=by_file)


def record_of(key: str, sites: Sites, run: Sight) -> TestRecord:
    """What a test saw at sites that are observed."""
    return TestRecord(key, run.pairs(key, sites.of(key)), run.seconds.get(key, 0.0))


def failing(
    tests: Iterable[TestRecord],
    sites_of: Callable[[str], Mapping[int, Site]],
    runs: Sequence[Sight],
) -> frozenset[str]:
    """Keys of tests that do not pass in each run of the shipped sources."""
    good = passing(runs)
    return frozenset(
        test.key
        for test in tests
        if test.key not in good or _differs(test, sites_of(test.key), runs)
    )


def _differs(test: TestRecord, mine: Mapping[int, Site], runs: Sequence[Sight]) -> bool:
    found = (agree(test.pairs, run.pairs(test.key, mine), mine) for run in runs)
    return not all(one.holds for one in found)
