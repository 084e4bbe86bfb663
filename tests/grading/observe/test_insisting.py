"""What stays an assertion in the process can be got past there: what follows is no proof then."""

import contextlib

import pytest
from rewritten import module
from with_tests import with_tests

from codegym.grading.observe.insisting import insistent
from codegym.grading.observe.recording import Pair, TestRecord
from codegym.grading.observe.sites import Sibling, Site
from codegym.grading.observe.variants import beside, unseen
from codegym.types import Change, Manifest, Value

#: A chain of comparisons stays as it is; the sums after it were right all along.
CHAINED = """\
from tinycalc.arith import total
from tinycalc.order import median


def test_it():
    assert 2 < median([4, 1, 2, 3]) < 3
    assert total([81234, 5512, 99871]) == 186617
"""
#: The same, in what prepares the test.
PREPARED = """\
import pytest
from tinycalc.arith import total
from tinycalc.order import median


@pytest.fixture
def numbers():
    assert 2 < median([4, 1, 2, 3]) < 3
    return [81234, 5512, 99871]


def test_it(numbers):
    assert total([*numbers, 20125]) == 206742
"""
#: The fault is still there, and no comparison but == sees it.
COMPARES = b"""
def largest(numbers): return sorted(numbers)[-1]
class Anything(float):
    __lt__ = __gt__ = lambda self, other: True
def median(numbers):
    found = sorted(numbers)[len(numbers) // 2]
    return found if len(numbers) % 2 else Anything(found)
"""


#: The same, in a helper on whose result the rest hangs.
HELPED = """\
from tinycalc.arith import total
from tinycalc.order import median


def ready():
    assert 2 < median([4, 1, 2, 3]) < 3
    return 5512


def test_it():
    number = ready()
    assert total([81234, number, 99871]) == 186617
"""


async def grade_of_wrong(range_, text):
    """What work gets that compares as it is asked to; all that its test shows is given anyway."""
    name = "tests/test_given.py::test_it"
    ready = await with_tests(range_, {"test_given.py": text}, name)
    recording = await range_.setting.recording(ready)
    assert recording.tests[name].pairs
    assert recording.blind == {name}
    assert not recording.asks_anew(name)
    wrong = Manifest((Change("src/tinycalc/order.py", COMPARES),))
    return await range_.setting.grade(ready, wrong)


@pytest.mark.slow
@pytest.mark.parametrize("text", [PREPARED, HELPED], ids=["prepared", "helped"])
@pytest.mark.asyncio(loop_scope="module")
async def test_what_comes_after_others_that_assert_protects_nothing(range_, text):
    grade = await grade_of_wrong(range_, text)
    assert (grade.assurance, grade.forging_bound) == ("controls", 1.0)  # which bound nothing


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_what_unsolved_code_gives_past_an_assertion_protects_nothing(range_):
    grade = await grade_of_wrong(range_, CHAINED)
    assert grade.assurance != "observed"
    assert grade.forging_bound == 1.0
    # What is observed of the usual test unsolved code does not give.
    usual = await range_.setting.recording(range_.ready)
    assert not usual.blind
    assert usual.asks_anew(range_.task.fail_to_pass[0])


FUNCTION = '''\
    @mark
    def test_it(self, numbers=(1, 2)):
        """Says
        something."""
        said.append("a")
        assert said == "b"
        for number in numbers:
            {}[number]
            said.append(number)
        with raises(ZeroDivisionError):
            1 / 0
            said.append("not come to")
        if said[0] == "a":
            missing()
            said.append("b")
        said.extend(["c"])
        return said
'''


class Onward:
    def __init__(self):
        self.raised = []

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.raised += [] if kind is None else [kind]
        return True


def test_a_copy_goes_on_after_each_statement_that_fails():
    one = Onward()

    class Face:
        onward = staticmethod(lambda: one)

    said = []
    given = {"__cg__": Face, "mark": lambda f: f, "said": said, "raises": contextlib.suppress}
    scope = {}
    exec("class Test:\n" + insistent(FUNCTION), given, scope)
    scope["Test"]().test_it()
    assert said == ["a", 1, 2, "b", "c"]
    assert one.raised == [AssertionError, KeyError, KeyError, NameError]


def test_only_copies_go_on():
    made = module("from code_under_test import double\ndef test_it():\n    assert double(2) == 4\n")
    ids = [site.id for site in made.sites]
    twin = Sibling("test_it", "test_it_as_it_is", ())
    text = made.shipped(ids, siblings=[twin], insisting=True)
    assert text.count("onward") == 1
    assert text.index("onward") > text.index("test_it_as_it_is")
    assert "onward" not in made.shipped(ids, siblings=[twin])


def pair(site, number, meant=None):
    expected = None if meant is None else Value("int", leaf=meant)
    return Pair(site, Value("int", leaf=number), expected)


def test_what_is_left_out_is_passed_over():
    solved = [pair(1, 1), pair(2, 2), pair(1, 3), pair(3, 4)]
    assert beside(solved, solved) == solved
    assert beside(solved, []) == [None] * 4
    assert beside(solved, [solved[0], solved[3]]) == [solved[0], None, None, solved[3]]
    assert beside(solved, [solved[1], solved[2]]) == [solved[2], None, None, None]


SITES = {
    1: Site(1, "test_it", 1, "", "compare", "=="),
    2: Site(2, "test_it", 2, "", "compare", "<"),
    3: Site(3, "test_it", 3, "", "compare", "<", sides="both"),
    4: Site(4, "test_it", 4, "", "truth", "true"),
}


@pytest.mark.parametrize(
    ("given", "all_given"),
    [
        ((pair(1, 5), pair(2, 6), pair(3, 7), pair(4, 1)), True),
        ((pair(1, 5), pair(2, 8), pair(3, 7), pair(4, 2)), True),  # another that holds as well
        ((pair(1, 6), pair(2, 6), pair(3, 7), pair(4, 1)), False),
        ((pair(1, 5), pair(2, 9), pair(3, 7), pair(4, 1)), False),
        ((pair(1, 5), pair(2, 6), pair(3, 8), pair(4, 1)), False),
        ((pair(1, 5), pair(2, 6), pair(3, 7), pair(4, 0)), False),
        ((pair(1, 5), pair(2, 6), pair(3, 7)), False),
    ],
)
def test_a_test_is_blind_where_unsolved_code_gives_all_that_it_shows(given, all_given):
    test = TestRecord("k", (pair(1, 5, 5), pair(2, 6, 9), pair(3, 7, 9), pair(4, 1)))
    assert unseen(test, given, SITES, past=False) is all_given


def test_what_was_not_come_to_past_an_assertion_may_be_given():
    test = TestRecord("k", (pair(1, 5, 5), pair(2, 6, 9)))
    assert unseen(test, (pair(1, 5),), SITES, past=True)
    assert not unseen(test, (pair(1, 5),), SITES, past=False)
    assert not unseen(test, (pair(1, 6),), SITES, past=True)
