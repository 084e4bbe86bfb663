"""A suite that shows more than a report may hold: what is left is the same, whichever tests run."""

from dataclasses import replace

import pytest
from with_tests import with_tests

from codegym.grading.observe.choosing import Sight, heavy
from codegym.types import Evidence, Sighting, Value

#: 500 cases of 3,000 numbers on each side, more than is read of a report.
MANY = """\
import pytest
from tinycalc.arith import total


def spread(n):
    return [total([n, m]) for m in range(3000)]


@pytest.mark.parametrize("n", range(500))
def test_many(n):
    assert spread(n) == [n + m for m in range(3000)]
"""


def numbers(count):
    return Value("list", parts=(Value("int", leaf=1),) * count)


def seen(*found):
    sights = tuple(Sighting(site, "a", numbers(count)) for site, count in found)
    return Sight((), Evidence(observations={"k": sights}))


def test_what_shows_most_is_left_out():
    assert heavy(seen((1, 1000), (2, 2000), (1, 1000))) == frozenset()
    assert heavy(seen((1, 100_000), (2, 250_000), (3, 10))) == {2}
    assert heavy(seen(*[(1, 3000)] * 90, (2, 100_000), (3, 10))) == {1}
    text = Value("str", leaf="x" * 60_000)
    sights = tuple(Sighting(4 + n % 2, "a", text) for n in range(250))
    assert len(heavy(Sight((), Evidence(observations={"k": sights})))) == 1


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_some_of_many_are_graded_as_all_were_recorded(range_):
    failing = range_.task.fail_to_pass[0]
    ready = await with_tests(range_, {"test_many.py": MANY}, failing)
    some = tuple(f"tests/test_many.py::test_many[{n}]" for n in range(450, 500))
    ready = replace(ready, task=replace(ready.task, pass_to_pass=some))
    grade = await range_.setting.grade(ready, range_.gold)
    assert (grade.score, grade.assurance) == (1.0, "observed"), grade.text
