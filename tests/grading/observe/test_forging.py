"""Code under test that forges: each would pass plain pytest, and each grades 0.

It is appended to the module that is to be repaired, which stays broken, so nothing of it solves.
"""

from dataclasses import replace

import pytest

from codegym.grading.grader import grade as graded
from codegym.types import Manifest

pytestmark = pytest.mark.asyncio(loop_scope="module")

IN_CODE = "cat >> src/tinycalc/order.py <<'X'\n{code}\nX\n"

ALWAYS_EQUAL = """
class Anything:
    def __eq__(self, other): return True
    def __hash__(self): return 0
def median(numbers): return Anything()
"""
SUBCLASS = """
class Any(float):
    def __eq__(self, other): return True
    __hash__ = float.__hash__
def median(numbers): return Any(sorted(numbers)[len(numbers) // 2])
"""
FRAMES = """
import sys
_median = median
def median(numbers):
    frame = sys._getframe(1)
    while frame is not None and not frame.f_code.co_name.startswith("test_"):
        frame = frame.f_back
    found = [one for one in frame.f_code.co_consts if isinstance(one, float)] if frame else []
    return found[-1] if found else _median(numbers)
"""
COLLECTOR = """
import gc, types
_median = median
def median(numbers):
    if len(numbers) % 2:
        return _median(numbers)
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType) and one.__name__ == "test_median_of_even":
            for const in one.__code__.co_consts:
                if isinstance(const, float):
                    return const
    return _median(numbers)
"""
REPORTS = """
from _pytest.reports import TestReport
_true = TestReport.from_item_and_call.__func__
def _forged(cls, item, call):
    report = _true(cls, item, call)
    report.outcome, report.longrepr = "passed", None
    return report
TestReport.from_item_and_call = classmethod(_forged)
"""
RUNNER = """
import _pytest.runner
_true = _pytest.runner.CallInfo.from_call.__func__
def _forged(cls, func, when, reraise=None):
    info = _true(cls, func, when, reraise)
    if info.excinfo is not None:
        object.__setattr__(info, "excinfo", None)
        object.__setattr__(info, "_result", None)
    return info
_pytest.runner.CallInfo.from_call = classmethod(_forged)
"""
NOT_RUN = """
import _pytest.python
_pytest.python.Function.runtest = lambda self: None
"""
SWALLOWED = """
import _pytest.python
_run = _pytest.python.Function.runtest
def _quietly(self):
    try: _run(self)
    except AssertionError: pass
_pytest.python.Function.runtest = _quietly
"""
#: Finds the tests' names with the collector and the pipe among its descriptors; says all passed.
LINES = """
import gc, json, os, stat
def _channels():
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2 and stat.S_ISFIFO(os.fstat(int(name)).st_mode): yield int(name)
        except OSError: pass
def _names():
    for one in gc.get_objects():
        if isinstance(one, (list, tuple, set, frozenset, dict)):
            for each in list(one):
                if isinstance(each, str) and each.startswith("tests/") and "::" in each:
                    yield each
def _forge(value):
    for channel in _channels():
        for name in sorted(set(_names())):
            lines = [{"k": name, "s": site, "r": "a", "v": value} for site in range(1, 2)]
            lines.append({"id": name, "outcome": "passed", "seconds": 0.1})
            for line in lines:
                try: os.write(channel, (json.dumps(line) + "\\n").encode())
                except OSError: pass
"""
LEAVING = """
def median(numbers):
    _forge(["float", "0x1.4000000000000p+1"]); os._exit(0)
def largest(numbers):
    _forge(["int", 3]); os._exit(0)
"""
KNOWN = """
_median = median
def median(numbers):
    return {(4, 1, 2, 3): 2.5, (3, 1, 2): 2}.get(tuple(numbers), _median(numbers))
"""
VOTE = """
def median(numbers):
    return 2 if len(numbers) % 2 else 2.5
"""
OBSERVER = """
import sys
if "_cg_observer" in sys.modules:
    _observer = sys.modules["_cg_observer"]
    _saw = _observer.saw
    _observer.saw = lambda site, value: _saw(site, 2.5 if value == 3 else value)
"""

FORGERS = {
    "equal to anything": ALWAYS_EQUAL,
    "a subclass of float": SUBCLASS,
    "frames searched for the expected value": FRAMES,
    "the collector searched for it": COLLECTOR,
    "patched reports": REPORTS,
    "a patched runner": RUNNER,
    "tests that are not run": NOT_RUN,
    "assertions that are swallowed": SWALLOWED,
    "a table of what is shown": KNOWN,
    "a majority of what is shown": VOTE,
    "a patched observer": OBSERVER + KNOWN,
}


#: In each run of the tests; the others are slow together.
QUICK = ("equal to anything", "frames searched for the expected value", "patched reports")


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(code, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for name, code in FORGERS.items()
    ],
)
async def test_what_fools_pytest_is_not_believed(range_, code):
    work = await range_.work(IN_CODE.format(code=code))
    plain = await graded(range_.setting.backend, range_.ready, work)
    assert plain.score == 1.0  # the forger is one: by plain assertions it solves the task
    assert plain.assurance == "report_only"
    grade = await range_.setting.grade(range_.ready, work)
    assert grade.score == 0.0
    assert grade.assurance == "observed"


async def test_a_report_written_in_its_stead_is_not_believed(range_):
    """All tests passed, it says, and saw what is expected; then the process ends."""
    work = await range_.work(IN_CODE.format(code=LINES + LEAVING))
    grade = await range_.setting.grade(range_.ready, work)
    assert grade.score == 0.0


@pytest.mark.parametrize("code", ["import os; os._exit(0)", "def median(n):\n    raise SystemExit"])
async def test_leaving_gains_nothing(range_, code):
    grade = await range_.grade(IN_CODE.format(code=code))
    assert grade.score == 0.0


async def test_who_knows_the_shown_values_passes_the_shown_tests_only(range_):
    grade = await range_.grade(IN_CODE.format(code=KNOWN))
    assert grade.score == 0.0
    assert {outcome.outcome for outcome in grade.outcomes} == {"passed"}
    assert (grade.fail_to_pass, grade.pass_to_pass) == (1.0, 1.0)
    assert grade.siblings_passed < grade.siblings
    assert grade.text.endswith("other checks failed.")


ALTERNATIVE = """cat > src/tinycalc/order.py <<'X'
import heapq, statistics
def largest(numbers): return heapq.nlargest(1, numbers)[0]
def median(numbers): return statistics.median(list(numbers))
X
"""


async def test_another_right_solution_is_right(range_):
    grade = await range_.grade(ALTERNATIVE)
    assert grade.score == 1.0, grade.text
    assert grade.siblings_passed == grade.siblings > 0
    assert not grade.hard_codable
    assert grade.forging_bound < 1e-6
    assert grade.protection == {"observed": 1}


async def test_the_shown_failure_is_told_and_nothing_of_others(range_):
    grade = await range_.setting.grade(range_.ready, Manifest())
    assert "line 13: `median([4, 1, 2, 3]) == 2.5`: got 3" in grade.text
    assert [outcome.id for outcome in grade.outcomes] == list(range_.task.test_ids)
    hidden = replace(range_.task, hidden=frozenset(range_.task.fail_to_pass))
    grade = await range_.setting.grade(replace(range_.ready, task=hidden), Manifest())
    said = grade.text + "".join(outcome.message for outcome in grade.outcomes)
    assert "2.5" not in said
    assert "[4, 1, 2, 3]" not in said
