"""However a test is written, what it asserts is observed."""

from dataclasses import replace

import pytest
from with_tests import with_tests

from codegym.grading.observe import choosing
from codegym.grading.observe.choosing import quick
from codegym.types import Change, Manifest

pytestmark = pytest.mark.asyncio(loop_scope="module")

SUITE = """\
import unittest

from tinycalc.order import median


class TestUnit(unittest.TestCase):
    def test_expected_first(self):
        self.assertEqual(2.625 - 0.125, median([4, 1, 2, 3]))
        for _ in range(2):
            self.assertEqual(20.125 - 0.125, median([10, 30]))


def test_bare_expected_first():
    assert 20.125 - 0.125 == median([10, 30])


def test_beside_a_generator():
    def numbers():
        yield from (10, 30)

    assert median(list(numbers())) == 20.125 - 0.125
"""
TESTS = {
    "TestUnit::test_expected_first": 3,
    "test_bare_expected_first": 1,
    "test_beside_a_generator": 1,
}


async def test_each_form_is_observed_and_holds_nothing_of_what_is_expected(range_):
    names = {f"tests/test_forms.py::{name}": count for name, count in TESTS.items()}
    ready = await with_tests(range_, {"test_forms.py": SUITE}, *names)
    recording = await range_.setting.recording(ready)
    assert {name: len(recording.tests[name].pairs) for name in names} == names
    assert b"125" not in recording.sources["tests/test_forms.py"]
    gold = await range_.setting.grade(ready, range_.gold)
    assert (gold.score, gold.protection) == (1.0, {"observed": len(names)}), gold.text
    empty = await range_.setting.grade(ready, Manifest())
    assert (empty.score, empty.fail_to_pass) == (0.0, 0.0)


SLOW = """\
import time

import pytest
from tinycalc.order import median


def same(numbers, wanted):
    assert median(numbers) == wanted


def test_quick():
    assert median([10, 30]) == 20.125 - 0.125


@pytest.mark.parametrize("pause", [0.0, 0.6])
def test_slow(pause):
    time.sleep(pause)
    assert median([20, 40]) == 30.625 - 0.625
    same([1], 1)
"""


async def test_a_test_that_takes_long_stays_as_it_is_and_counts(range_, monkeypatch):
    monkeypatch.setattr(choosing, "MOST_SUITE_SEC", 0.5)
    fast = "tests/test_slow.py::test_quick"
    slow = tuple(f"tests/test_slow.py::test_slow[{pause}]" for pause in ("0.0", "0.6"))
    made = await with_tests(range_, {"test_slow.py": SLOW}, fast)
    ready = replace(made, task=replace(made.task, pass_to_pass=slow))
    recording = await range_.setting.recording(ready)
    assert recording.covers((fast, *slow))
    assert [len(recording.tests[name].pairs) for name in (fast, *slow)] == [1, 0, 0]
    source = recording.sources["tests/test_slow.py"]
    assert (b"20.125" in source, b"30.625" in source) == (False, True)
    gold = await range_.setting.grade(ready, range_.gold)
    assert (gold.score, gold.protection) == (1.0, {"observed": 1}), gold.text
    half = b"def median(n): return 20.0 if sorted(n) == [10, 30] else sorted(n)[0]\n"
    grade = await range_.setting.grade(ready, Manifest((Change("src/tinycalc/order.py", half),)))
    outcomes = {one.id: one.outcome for one in grade.outcomes}
    assert outcomes == {fast: "passed", slow[0]: "failed", slow[1]: "failed"}


async def test_the_quickest_functions_are_run_again(monkeypatch):
    monkeypatch.setattr(choosing, "MOST_SUITE_SEC", 1.0)
    taken = {"t::a{n=0}": 0.3, "t::a{n=1}": 0.3, "t::b": 0.2, "t::c": 0.5, "t::d": 9.0}
    assert quick(taken) == {"t::b", "t::c"}
    assert quick({"t::a": 0.1}) == {"t::a"}
    assert quick({}) == frozenset()
