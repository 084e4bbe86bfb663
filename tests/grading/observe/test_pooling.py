"""Siblings of a solved tree, shared by its tasks; and what of them a task asks for."""

from itertools import combinations
from random import Random

import pytest
from rewritten import module
from with_tests import with_tests

from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.pooling import groups, tried
from codegym.grading.observe.record import Subject
from codegym.grading.observe.recording import Recording, TestRecord
from codegym.grading.observe.siblings import joined, siblings
from codegym.grading.runners.pytest import PytestRunner
from codegym.types import Change, Evidence, Manifest, TestOutcome

SAME_ANSWER = """\
from tinycalc.order import largest, median


def test_it():
    assert largest([3, 7]) == 7
    assert bool(median([4, 1, 2, 3]) < 2.6) is True
"""
SHARED = """\
from tinycalc.order import median


class Checks:
    wrap = list

    def test_wrapped(self):
        assert self.wrap([median([4, 1, 2, 3])]) == self.wrap([2.5])

    def test_plain(self):
        assert median([10, 30]) == 20.125 - 0.125
"""
INHERITS = """\
from checks import Checks


class Odd:
    def __init__(self, items):
        self.items = items

    def __eq__(self, other):
        return self.items == other.items


class TestList(Checks):
    pass


class TestOdd(Checks):
    wrap = Odd
"""
CHANCE = """\
import random
from tinycalc.order import median


def test_it():
    numbers = random.choice([[10, 30], [10, 30]])
    assert median(numbers) == 20.125 - 0.125
"""
ROWS = ((0, "2.5"), (1, "20.0"), (3, "2.5"))
TABLED = """\
import pytest
from tinycalc.order import largest, median


@pytest.mark.parametrize(
    "numbers, wanted",
    [
        ([4, 1, 2, 3], 2.5),
        ([10, 30], 20.0),
        ([5, 1, 2], 2),
        ([4, 3, 2, 1], 2.5),
        ([], None),
    ],
)
def test_median(numbers, wanted):
    if not numbers:
        pytest.skip("nothing has no median")
    assert median(numbers) == wanted
"""
TABLE = b"""
def largest(numbers): return max(numbers)
_known = {(4, 1, 2, 3): 2.5, (10, 30): 20.0}
def median(numbers):
    return _known.get(tuple(numbers), sorted(numbers)[len(numbers) // 2])
"""


@pytest.mark.asyncio(loop_scope="module")
async def test_the_same_answer_to_other_inputs_stops_a_table_and_bounds_nothing(range_):
    name = "tests/test_same.py::test_it"
    ready = await with_tests(range_, {"test_same.py": SAME_ANSWER}, name)
    gold = await range_.setting.grade(ready, range_.gold)
    assert (gold.score, gold.hard_codable, gold.forging_bound) == (1.0, True, 1.0)
    assert gold.siblings_passed == gold.siblings > 0
    recording = await range_.setting.recording(ready)
    assert not recording.asks_anew(name)
    table = await range_.setting.grade(ready, Manifest((Change("src/tinycalc/order.py", TABLE),)))
    assert table.fail_to_pass == table.pass_to_pass == 1.0
    assert table.score == 0.0


@pytest.mark.asyncio(loop_scope="module")
async def test_inherited_tests_are_observed_where_their_values_can_be(range_):
    plain, odd = "tests/test_some.py::TestList", "tests/test_some.py::TestOdd"
    names = [
        f"{scope}::{test}" for scope in (plain, odd) for test in ("test_plain", "test_wrapped")
    ]
    files = {"checks.py": SHARED, "test_some.py": INHERITS}
    ready = await with_tests(range_, files, *names)
    recording = await range_.setting.recording(ready)
    assert b"20.125" not in recording.sources["tests/checks.py"]
    seen = [len(recording.tests[name].pairs) for name in names]
    assert seen == [1, 1, 1, 0]
    gold = await range_.setting.grade(ready, range_.gold)
    assert gold.score == 1.0, gold.text
    assert gold.protection["observed"] == 3
    wrong = TABLE.replace(b"20.0", b"19.0")
    grade = await range_.setting.grade(ready, Manifest((Change("src/tinycalc/order.py", wrong),)))
    outcomes = {one.id: one.outcome for one in grade.outcomes}
    assert [outcomes[name] for name in names] == ["failed", "passed", "failed", "passed"]


@pytest.mark.asyncio(loop_scope="module")
async def test_inherited_tests_have_siblings_each_in_its_own_class(range_):
    names = [f"tests/test_both.py::{scope}::test_plain" for scope in ("TestList", "TestOdd")]
    files = {"checks.py": SHARED, "test_both.py": INHERITS}
    ready = await with_tests(range_, files, *names)
    recording = await range_.setting.recording(ready)
    home = "tests/checks.py::Checks::test_plain"
    assert [recording.home_of(name) for name in names] == [home, home]
    assert all(recording.asks_anew(name) for name in names)
    written = {one.key.rpartition("::")[2] for one in recording.siblings_of(names)}
    assert len(written) == len(recording.siblings_of(names))
    assert all(f"def {one}(".encode() in recording.sources["tests/checks.py"] for one in written)
    gold = await range_.setting.grade(ready, range_.gold)
    assert gold.score == 1.0, gold.text
    assert gold.siblings_passed == gold.siblings == len(written)
    table = await range_.setting.grade(ready, Manifest((Change("src/tinycalc/order.py", TABLE),)))
    assert (table.fail_to_pass, table.score) == (1.0, 0.0)


@pytest.mark.asyncio(loop_scope="module")
async def test_of_many_rows_those_are_asked_anew_that_differ_and_unsolved_code_fails(range_):
    rows = [f"tests/test_rows.py::test_median[numbers{place}-{text}]" for place, text in ROWS]
    ready = await with_tests(range_, {"test_rows.py": TABLED}, *rows)
    recording = await range_.setting.recording(ready)
    asked = recording.siblings_of(rows)
    places = {one.key.partition("{")[2] for one in asked}
    assert len(places) > 1
    assert "numbers=4,wanted=4}" not in places
    gold = await range_.setting.grade(ready, range_.gold)
    assert (gold.score, gold.hard_codable) == (1.0, False), gold.text
    assert 0 < gold.siblings == len(asked)
    table = await range_.setting.grade(ready, Manifest((Change("src/tinycalc/order.py", TABLE),)))
    assert table.score == 0.0
    assert table.siblings_passed < table.siblings


@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_left_to_chance_has_no_siblings(range_):
    name = "tests/test_chance.py::test_it"
    ready = await with_tests(range_, {"test_chance.py": CHANCE}, name)
    recording = await range_.setting.recording(ready)
    assert len(recording.tests[name].pairs) == 1
    assert name not in recording.siblings
    gold = await range_.setting.grade(ready, range_.gold)
    assert (gold.score, gold.siblings) == (1.0, 0), gold.text


def test_joined_siblings_hold_all_changes_that_go_together():
    made = module(
        "from code_under_test import double\n"
        "def test_it():\n    assert double(3) == 6\n    assert double([4, 5]) == [8, 10]\n"
    )
    drawn = siblings(made, "test_it", Random(0), 12)
    parts = [part for part in drawn if len(part.edits) == 1]
    known = {edit for part in parts for edit in part.edits}
    found = joined(made, parts, Random(0), 6)
    assert found
    assert len({one.name for one in (*parts, *found)}) == len(parts) + len(found)
    for one in found:
        assert set(one.edits) <= known
        assert not any(a[0] < b[1] and b[0] < a[1] for a, b in combinations(one.edits, 2))
    assert max(len(one.edits) for one in found) == 3


def recorded(**seconds):
    tests = {
        f"t.py::{name}": TestRecord(f"t.py::{name}", (), each) for name, each in seconds.items()
    }
    made = module("from code_under_test import double\n" + "".join(
        f"def {name}():\n    assert double(3) == 6\n" for name in seconds
    ), "t.py")  # fmt: skip
    sites = {"t.py": {site.id: site for site in made.sites}}
    return made, Recording(sources={"t.py": b""}, sites=sites, tests=tests)


def test_quick_functions_share_a_pool_and_slow_ones_have_their_own():
    _, recording = recorded(test_a=0.001, test_b=0.002, test_c=0.3, test_d=0.001)
    assert groups(recording) == [
        ("t.py::test_a", "t.py::test_b"), ("t.py::test_c",), ("t.py::test_d",),
    ]  # fmt: skip
    _, many = recorded(**{f"test_{number}": 0.001 for number in range(30)})
    assert [len(group) for group in groups(many)] == [20, 10]


class Ended(Subject):
    """Its runs end, and say no more, at a test of a certain name."""

    async def look(self, sources, watches):
        (watch,) = watches
        ran = []
        for key in watch.keys:
            if "::test_b" in key:
                break
            ran.append(TestOutcome(key, "passed"))
        return [Sight(tuple(ran), Evidence())]


async def test_a_sibling_that_ends_the_run_costs_its_own_function_alone():
    made, recording = recorded(test_a=0.001, test_b=0.001, test_c=0.001)
    subject = Ended({"t.py": made}, PytestRunner(), None)
    added = {
        f"t.py::{name}": siblings(made, name, Random(0), 3)
        for name in ("test_a", "test_b", "test_c")
    }
    run = await tried(subject, recording, added, 1)
    assert {key.partition("_")[2][0] for key in run.passed} == {"a", "c"}
    assert len(run.passed) == 6
