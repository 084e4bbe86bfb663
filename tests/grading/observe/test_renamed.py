"""Parameters that come from a set: keys count them, and the hash seed says which is which."""

from dataclasses import replace

import pytest
from with_tests import with_tests

from codegym.grading.observe.choosing import Sight, renamed
from codegym.types import Change, Evidence, Manifest

WORDS = ("one", "three", "fourteen", "a", "hundred", "sixteen", "forty-two", "of")
TEXT = f"""\
import pytest
from tinycalc.arith import total

@pytest.mark.parametrize("word", set({WORDS!r}))
def test_set(word):
    assert total([len(word), 1]) == len(word) + 1

@pytest.mark.parametrize("word", {WORDS!r})
def test_list(word):
    assert total([len(word), 1]) == len(word) + 1
"""
#: Wrong for one of the words.
WRONG = b"""
def total(numbers): return 0 if numbers == [len("fourteen"), 1] else sum(numbers)
def mean(numbers): return sum(numbers) / len(numbers)
"""


def named(**nodes):
    return Sight((), Evidence(nodes=nodes))


def test_what_was_not_run_is_not_renamed():
    assert renamed(named(a="x", b="y", c="z"), named(a="x", b="z")) == {"b"}


SKIPPING = TEXT.replace(
    "def test_set(word):",
    """def test_set(word):
    if word == "a":
        pytest.skip("not this one")""",
)


@pytest.mark.asyncio(loop_scope="module")
async def test_one_that_is_skipped_takes_no_other_with_it(range_):
    names = [f"tests/test_set.py::test_set[{word}]" for word in WORDS if word != "a"]
    ready = await with_tests(range_, {"test_set.py": SKIPPING}, *names)
    recording = await range_.setting.recording(ready)
    assert recording.covers(ready.task.test_ids)
    assert (await range_.setting.grade(ready, range_.gold)).score == 1.0


@pytest.mark.asyncio(loop_scope="module")
async def test_each_test_is_told_by_its_own_name(range_):
    own, *others = (
        f"tests/test_set.py::test_{kind}[{word}]" for kind in ("set", "list") for word in WORDS
    )
    ready = await with_tests(range_, {"test_set.py": TEXT}, own)
    ready = replace(ready, task=replace(ready.task, pass_to_pass=tuple(others)))
    recording = await range_.setting.recording(ready)
    assert recording.covers(ready.task.test_ids)
    seen = {one for one, test in recording.tests.items() if test.pairs}
    assert {one for one in (own, *others) if "::test_list" in one} <= seen
    assert sum("::test_set" in one for one in seen) <= 1  # it may be at one place by chance
    assert (await range_.setting.grade(ready, range_.gold)).score == 1.0
    wrong = Manifest((*range_.gold.changes, Change("src/tinycalc/arith.py", WRONG)))
    grade = await range_.setting.grade(ready, wrong)
    failed = {one.id for one in grade.outcomes if one.outcome != "passed"}
    assert failed == {one for one in (own, *others) if "[fourteen]" in one}
