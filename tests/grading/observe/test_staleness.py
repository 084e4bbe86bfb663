"""Siblings that hang on the date: what was recorded once must not refuse right work for good."""

from dataclasses import replace

import pytest

from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.recording import Pair, Recording, TestRecord
from codegym.grading.observe.sites import Site
from codegym.grading.observe.staleness import by_siblings_alone, still_true
from codegym.types import Change, Evidence, Grade, Manifest, Sighting, TestOutcome, Value

YEAR, NEXT = Value("int", leaf=2026), Value("int", leaf=2027)
KEYS = ("tests/test_a.py::test_it_2", "tests/test_a.py::test_it_3", "tests/test_a.py::test_it_4")
RECORDING = Recording(
    sites={"tests/test_a.py": {1: Site(1, "test_it", 1, "", "compare", "==")}},
    siblings={"tests/test_a.py::test_it": tuple((TestRecord(k, (Pair(1, YEAR),)),) for k in KEYS)},
)
#: Knows the shown values; its fault is still there.
TABLE = b"""
def largest(numbers): return max(numbers)
def median(numbers):
    return {(4, 1, 2, 3): 2.5}.get(tuple(numbers), sorted(numbers)[len(numbers) // 2])
"""


def seen(*found):
    """A run on the solved tree: of each sibling, how it ended and what it saw."""
    records = tuple(TestOutcome(key, how) for key, (how, _) in zip(KEYS, found, strict=True))
    sights = {k: (Sighting(1, "a", value),) for k, (_, value) in zip(KEYS, found, strict=True)}
    return Sight(records, Evidence(observations=sights))


def left(recording):
    return [test.key for each in recording.siblings.values() for one in each for test in one]


def test_those_that_are_answered_otherwise_by_now_go():
    assert still_true(RECORDING, seen(*[("passed", YEAR)] * 3)) is RECORDING
    aged = still_true(RECORDING, seen(("passed", YEAR), ("passed", NEXT), ("passed", YEAR)))
    assert left(aged) == [KEYS[0], KEYS[2]]
    assert still_true(RECORDING, seen(*[("passed", NEXT)] * 3)).siblings == {}


def test_those_that_failed_stay():
    """Who keeps the machine busy must not get rid of them."""
    assert still_true(RECORDING, seen(*[("failed", NEXT)] * 3)) is RECORDING
    assert still_true(RECORDING, Sight((), Evidence())) is RECORDING


def test_only_where_nothing_else_speaks_against_the_work():
    grade = Grade(0.0, (), 1.0, 1.0, siblings=3, siblings_passed=2)
    assert by_siblings_alone(grade)
    assert not by_siblings_alone(replace(grade, siblings_passed=3))
    assert not by_siblings_alone(replace(grade, fail_to_pass=0.5))
    assert not by_siblings_alone(replace(grade, pass_to_pass=0.5))


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_right_work_is_right_when_the_year_is_another(range_, monkeypatch):
    setting, ready = range_.setting, range_.ready
    recordings = setting._recordings
    true = await recordings.observation(ready)
    (function,) = true.recording.siblings
    (first, *others) = true.recording.siblings[function]
    changed = tuple(
        replace(test, pairs=tuple(replace(pair, actual=NEXT) for pair in test.pairs))
        for test in first
    )
    aged = replace(true.recording, siblings={function: (changed, *others)})

    async def as_it_was_recorded(_):
        return replace(true, recording=aged)

    monkeypatch.setattr(recordings, "observation", as_it_was_recorded)
    right = await setting.grade(ready, range_.gold)
    assert (right.score, right.siblings) == (1.0, len([test for one in others for test in one]))
    wrong = await setting.grade(ready, Manifest((Change("src/tinycalc/order.py", TABLE),)))
    assert (wrong.score, wrong.fail_to_pass, wrong.pass_to_pass) == (0.0, 1.0, 1.0)
