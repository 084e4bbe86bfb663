"""Chooses, from runs on the solved tree, what can be observed. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from codegym.grading.observe.agreement import agree, steady
from codegym.grading.observe.modules import TestModule
from codegym.grading.observe.recording import (
    Pair,
    TestRecord,
    file_of,
    function_of,
    pairs,
)
from codegym.grading.observe.sites import Site
from codegym.types import Evidence, Outcome, TestOutcome

Sites = Mapping[str, Mapping[int, Site]]


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

    def _once(self, outcome: Outcome) -> frozenset[str]:
        counts = Counter(record.id for record in self.records)
        found = (record.id for record in self.records if record.outcome == outcome)
        return frozenset(key for key in found if counts[key] == 1)

    def pairs(self, key: str, sites: Mapping[int, Site]) -> tuple[Pair, ...]:
        """What one test saw."""
        return pairs(self.evidence.observations.get(key, ()), sites)


def passing(runs: Sequence[Sight]) -> frozenset[str]:
    """Keys of tests that passed in each run."""
    return frozenset.intersection(*(run.passed for run in runs))


def steady_sites(modules: Mapping[str, TestModule], runs: Sequence[Sight]) -> Sites:
    """The sites whose assertions can be made outside: by file, with what each is.

    Args:
        modules: By path, as it is in keys.
        runs: On the solved tree, of the modules' ``recording`` sources.
    """
    all_sites = {path: {site.id: site for site in each.sites} for path, each in modules.items()}
    fit: dict[str, dict[int, bool]] = defaultdict(dict)
    for key in passing(runs):
        sites = all_sites.get(file_of(key), {})
        by_site = [_by_site(run.pairs(key, sites)) for run in runs]
        for number in {number for one in by_site for number in one}:
            found = steady(sites[number], [one.get(number, ()) for one in by_site])
            fit[file_of(key)][number] = fit[file_of(key)].get(number, True) and found
    return {
        path: _sealed(modules[path], {number: all_sites[path][number] for number in chosen})
        for path, each in fit.items()
        if (chosen := sorted(number for number, good in each.items() if good))
    }


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
    dropped: dict[str, set[int]] = defaultdict(set)
    for key in failing:
        path, _, name = function_of(key).partition("::")
        mine = sites.get(path, {})
        dropped[path] |= {number for number, site in mine.items() if site.test == name}
        dropped[path] |= {pair.site for pair in run.pairs(key, mine)}
    kept = {
        path: {number: site for number, site in each.items() if number not in dropped[path]}
        for path, each in sites.items()
    }
    return {path: _sealed(modules[path], each) for path, each in kept.items() if each}


def record_of(key: str, sites: Sites, run: Sight) -> TestRecord:
    """What a test saw at sites that are observed."""
    found = run.pairs(key, sites.get(file_of(key), {}))
    return TestRecord(key, found, run.seconds.get(key, 0.0))


def failing(tests: Iterable[TestRecord], sites: Sites, runs: Sequence[Sight]) -> frozenset[str]:
    """Keys of tests that do not pass in each run of the shipped sources."""
    good = passing(runs)
    return frozenset(
        test.key for test in tests if test.key not in good or _differs(test, sites, runs)
    )


def _differs(test: TestRecord, sites: Sites, runs: Sequence[Sight]) -> bool:
    mine = sites.get(file_of(test.key), {})
    found = (agree(test.pairs, run.pairs(test.key, mine), mine) for run in runs)
    return not all(one.holds for one in found)
