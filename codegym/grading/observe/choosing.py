"""Chooses, from runs on the solved tree, what can be observed and which siblings are kept. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from codegym.grading.observe.agreement import EXACT, agree, same_result, sibling_agrees, steady
from codegym.grading.observe.guessing import bits
from codegym.grading.observe.modules import TestModule
from codegym.grading.observe.recording import (
    Pair,
    TestRecord,
    file_of,
    function_of,
    pairs,
)
from codegym.grading.observe.sites import Sibling, Site
from codegym.grading.observe.values import known
from codegym.types import Evidence, Outcome, TestOutcome, Value

Sites = Mapping[str, Mapping[int, Site]]
_LAST_LINES = 10  # how far a function's last assertion may reach
#: Of a function's siblings, so many are kept; more of them where their values are easily guessed.
KEPT_SIBLINGS, MOST_SIBLINGS, ENOUGH_BITS = 3, 6, 24.0


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


@dataclass(frozen=True, slots=True)
class Variant:
    """A sibling that is kept, with what its tests see; those that unsolved code passes left out."""

    sibling: Sibling
    tests: tuple[TestRecord, ...]

    def holds(self, sites: Mapping[int, Site], run: Sight) -> bool:
        """Whether a run saw the same."""
        return run.passed.issuperset(test.key for test in self.tests) and all(
            sibling_agrees(test.pairs, run.pairs(test.key, sites), sites) for test in self.tests
        )


def keep_siblings(
    path: str,
    originals: Sequence[TestRecord],
    candidates: Sequence[Sibling],
    sites: Mapping[int, Site],
    solved: Sight,
    start: Sight,
) -> tuple[Variant, ...]:
    """Of one function's siblings, a few that unsolved code fails where it is asked anything new.

    Args:
        path: Its file, as in keys.
        originals: What the function saw, for each of its parameters.
        candidates: Its siblings.
        sites: Those observed in its file.
        solved: A run on the solved tree, of sources with the siblings.
        start: The same on the unsolved tree: what passes there holds nobody up.
    """
    seen = {pair.actual for test in originals for pair in test.pairs}
    kept: list[Variant] = []
    asked: set[tuple[tuple[Pair, ...], ...]] = set()
    lacking = 0.0
    for candidate in candidates:
        if len(kept) >= (KEPT_SIBLINGS if lacking >= ENOUGH_BITS else MOST_SIBLINGS):
            break
        tried = [(test, _sibling(path, candidate, test, sites, solved)) for test in originals]
        if any(made is None for _, made in tried):
            continue
        tests = tuple(
            replace(made, lacking=_lacking(telling, sites))
            for test, made in tried
            if made and (telling := _telling(test, made, sites, start))
        )
        answers = tuple(test.pairs for test in tests)
        if tests and answers not in asked:
            kept.append(Variant(candidate, tests))
            asked.add(answers)
            new = {value for test in tests for value in test.lacking} - seen
            lacking += sum(bits(value, seen) for value in new)
            seen |= new
    return tuple(kept)


def _sibling(
    path: str,
    sibling: Sibling,
    original: TestRecord,
    sites: Mapping[int, Site],
    solved: Sight,
) -> TestRecord | None:
    """What a sibling sees, for one of its original's parameters; None where it is unfit."""
    key = sibling_key(path, sibling, original.key)
    test = TestRecord(key, solved.pairs(key, sites))
    return test if key in solved.passed and _alike(original, test, sites) else None


def _telling(
    original: TestRecord, sibling: TestRecord, sites: Mapping[int, Site], start: Sight
) -> list[Pair]:
    """What unsolved code does not answer like that, and the original not either."""
    given = start.pairs(sibling.key, sites)
    found = []
    for place, (mine, other) in enumerate(zip(sibling.pairs, original.pairs, strict=True)):
        site = sites[mine.site]
        reached = place < len(given) and given[place].site == mine.site
        right = reached and same_result(site, given[place].actual, mine.actual)
        if not right and not same_result(site, other.actual, mine.actual):
            found.append(mine)
    return found


def _lacking(found: Iterable[Pair], sites: Mapping[int, Site]) -> tuple[Value, ...]:
    values = {pair.actual for pair in found if sites[pair.site].op in EXACT}
    return tuple(sorted(values, key=repr))


def failing_lines(
    module: TestModule,
    function: str,
    originals: Sequence[TestRecord],
    sites: Mapping[int, Site],
    start: Sight,
) -> list[range]:
    """The lines of assertions of a function that unsolved code is the first to fail, or all fail.

    Args:
        module: The function's.
        function: As ``Site.test``.
        originals: What it saw, for each of its parameters.
        sites: Those observed in its file.
        start: A run of it on the unsolved tree.
    """
    failed: set[int] = set()
    for test in originals:
        given = start.pairs(test.key, sites)
        for place, mine in enumerate(test.pairs):
            if place >= len(given) or given[place].site != mine.site:
                failed.add(mine.site)  # where it raised, most likely
                break
            if not agree([mine], [given[place]], sites).holds:
                failed.add(mine.site)
    lines = sorted({site.line for site in module.sites if site.test == function})
    ends = dict(pairwise(lines))
    found = {sites[number].line for number in failed}
    return [range(line, ends.get(line, line + _LAST_LINES)) for line in sorted(found)]


def focused(
    module: TestModule, candidates: Sequence[Sibling], spots: Sequence[range], count: int
) -> list[Sibling]:
    """So many candidates; two thirds of them with other text on these lines, if there are."""
    starts = module.analysis.source.starts
    on_spot: list[Sibling] = []
    others: list[Sibling] = []
    for one in candidates:
        lines = [bisect_right(starts, begin) for begin, _, _ in one.edits]
        touches = any(line in spot for line in lines for spot in spots)
        (on_spot if touches else others).append(one)
    first = on_spot[: max(count - len(others), 2 * count // 3)]
    return [*first, *others[: count - len(first)]]


def sibling_key(path: str, sibling: Sibling, key: str) -> str:
    """The key of a sibling for the parameters of its original."""
    _, brace, parameters = key.partition("{")
    return f"{path}::{sibling.id}{brace}{parameters}"


def _alike(original: TestRecord, sibling: TestRecord, sites: Mapping[int, Site]) -> bool:
    """Whether a sibling asks for the same kind of thing: else its inputs may be out of bounds."""
    mine, theirs = original.pairs, sibling.pairs
    return len(mine) == len(theirs) and all(
        one.site == other.site
        and (
            not (sites[one.site].op in EXACT or sites[one.site].form == "raises")
            or (_kind(one.actual) == _kind(other.actual) and known(other.actual))
        )
        for one, other in zip(mine, theirs, strict=True)
    )


def _kind(value: Value) -> tuple[str, str]:
    return "number" if value.kind in ("int", "float") else value.kind, value.name
