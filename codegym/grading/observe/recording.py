"""What a suite's assertions saw and meant on the solved tree: recorded once, judged against since.

It knows every expected value, so it stays on the gym's side: no sandbox is ever given any of it but
``sources``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from codegym.grading.observe.sites import Site
from codegym.types import Sighting, Value


@dataclass(frozen=True, slots=True)
class Pair:
    """One time that a site was passed: what was seen, and what it was held against, if anything."""

    site: int
    actual: Value
    expected: Value | None = None


@dataclass(frozen=True, slots=True)
class TestRecord:
    """What one test, or one sibling of it, saw on the solved tree.

    Attributes:
        key: How a run in observation names it.
        pairs: What its observed sites gave, in order.
        seconds: How long it took.
        lacking: Of a sibling: values that it holds to exactly and unsolved code does not give.
    """

    __test__ = False  # not a pytest class

    key: str
    pairs: tuple[Pair, ...] = ()
    seconds: float = 0.0
    lacking: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Recording:
    """All that grading needs of one suite on one solved tree.

    Attributes:
        sources: Test modules as they are laid into a grade, by path in the project.
        sites: Sites that are observed: path of the test's file, as in its id, to site to what it
            is.
        unsteady: By key of a test, those that are not observed in it.
        tests: What each test saw that passes in this form; by node id.
        siblings: Of a function (``path::Class::name``), its held-out variants; each is a test for
            each of its parameters, those left out that unsolved code passes. Only of functions
            that a task's failing tests are of.
        familiar: Those of them whose variants are answered as the shown tests are, where it counts.
        blind: Node ids of failing tests that unsolved code gives all that is observed in: they fail
            by an assertion that stays in the process.
        controlled: Tests that pass as they are, and fail where they ask the opposite: by node id,
            how many copies may share a process.
        notes: What could not be done, for a person.
    """

    sources: Mapping[str, bytes] = field(default_factory=dict)
    sites: Mapping[str, Mapping[int, Site]] = field(default_factory=dict)
    unsteady: Mapping[str, frozenset[int]] = field(default_factory=dict)
    tests: Mapping[str, TestRecord] = field(default_factory=dict)
    siblings: Mapping[str, tuple[tuple[TestRecord, ...], ...]] = field(default_factory=dict)
    familiar: frozenset[str] = frozenset()
    blind: frozenset[str] = frozenset()
    controlled: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Hash of what is laid into a grade."""
        total = hashlib.sha256()
        for path, data in sorted(self.sources.items()):
            total.update(f"{path}\0{len(data)}\0".encode() + data)
        return total.hexdigest()

    def asks_anew(self, test_id: str) -> bool:
        """Whether a test has siblings that take another answer than it does itself."""
        function = function_of(self.tests[test_id].key)
        return function in self.siblings and function not in self.familiar

    def covers(self, ids: Iterable[str]) -> bool:
        """Whether each of the tests can be graded in this form."""
        return all(test_id in self.tests for test_id in ids)

    def functions_of(self, ids: Iterable[str]) -> tuple[str, ...]:
        """The functions that tests are of, each once."""
        return tuple(dict.fromkeys(function_of(self.tests[test_id].key) for test_id in ids))

    def siblings_of(self, ids: Iterable[str], *, familiar: bool = False) -> tuple[TestRecord, ...]:
        """The siblings of tests, each once; all, or the familiar ones alone."""
        names = (name for name in self.functions_of(ids) if name in self.familiar or not familiar)
        variants = (each for name in names for each in self.siblings.get(name, ()))
        return tuple(test for variant in variants for test in variant)

    def sites_of(self, key: str) -> Mapping[int, Site]:
        """The sites that are observed in a test, or in a sibling of one."""
        return steady_in(self.all_sites, self.unsteady.get(key))

    def home_of(self, function: str) -> str:
        """The function that a test runs, where it is written: a class may inherit it."""
        return self._homes.get(function, function)

    @cached_property
    def _homes(self) -> Mapping[str, str]:
        """By function, where it is another's: known by what is observed in it."""
        written = {
            number: f"{path}::{site.test}"
            for path, sites in self.sites.items()
            for number, site in sites.items()
            if site.test
        }
        found: dict[str, str] = {}
        for test in self.tests.values():
            function = function_of(test.key)
            passed = [written[pair.site] for pair in test.pairs if pair.site in written]
            same = [one for one in passed if last_part(one) == last_part(function)]
            if same and function not in same:
                found.setdefault(function, same[0])
        return found

    def files_of(self, test: TestRecord) -> frozenset[str]:
        """The files that a test's sites are in."""
        passed = {pair.site for pair in test.pairs}
        return frozenset(path for path, each in self.sites.items() if not passed.isdisjoint(each))

    @cached_property
    def all_sites(self) -> Mapping[int, Site]:
        """Those of all files; no two have one number."""
        return {number: site for each in self.sites.values() for number, site in each.items()}


@dataclass(frozen=True, slots=True)
class Observation:
    """What one grade in observation needs.

    Attributes:
        recording: Covers the task's tests.
        workspace: The grading tree with the recording's sources in place of the tests': a folder
            that holds no expected value.
        paths: Those of the sources there; nothing is laid over them.
    """

    recording: Recording
    workspace: Path
    paths: frozenset[str]


def steady_in(sites: Mapping[int, Site], unsteady: frozenset[int] | None) -> Mapping[int, Site]:
    """Sites less some."""
    if not unsteady:
        return sites
    return {number: site for number, site in sites.items() if number not in unsteady}


def file_of(key: str) -> str:
    """The file of a test."""
    return key.partition("::")[0]


def function_of(key: str) -> str:
    """The test without its parameters: ``path::Class::name``."""
    return key.partition("{")[0]


def last_part(name: str) -> str:
    """The function's own name."""
    return name.rpartition("::")[2]


def pairs(seen: Iterable[Sighting], sites: Mapping[int, Site]) -> tuple[Pair, ...]:
    """Put the two sides of each site together, in the order of what was seen.

    Either side may come first, as it is written; a site may be passed again before both have come.

    Args:
        seen: What was seen in one test.
        sites: Those that count; others are left out.
    """
    found: list[Pair] = []
    unmeant: dict[int, list[int]] = {}
    meant: dict[int, list[Value]] = {}
    for one in seen:
        if one.site not in sites:
            continue
        if one.role == "a" and (values := meant.get(one.site)):
            found.append(Pair(one.site, one.value, values.pop()))
        elif one.role == "a":
            unmeant.setdefault(one.site, []).append(len(found))
            found.append(Pair(one.site, one.value))
        elif places := unmeant.get(one.site):
            place = places.pop()
            found[place] = Pair(one.site, found[place].actual, one.value)
        else:
            meant.setdefault(one.site, []).append(one.value)
    return tuple(found)
