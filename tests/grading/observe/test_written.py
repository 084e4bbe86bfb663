"""However a test is written, what it asserts is observed."""

import pytest
from with_tests import with_tests

from codegym.types import Manifest

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
