"""Whoever reads a grade sees tests as they are in the project."""

import pytest
from with_tests import with_tests

from codegym.grading.observe.quoting import as_written
from codegym.types import Change, File, Manifest

PATH = "tests/test_a.py"
TREE = {f"api/{PATH}": File(b"x = 1\n    assert f(x) == 2\n")}
REPORT = """\
tests/test_a.py:2: in test_a
    assert __cg__.saw(7, f(x)) == __cg__.meant(7, 2)
           ^^^^^^^^^^^^^^^^^^^
src/f.py:9: in f
    raise __cg__
E   KeyError: 1"""
SUITE = """\
from tinycalc.order import median


def test_both():
    assert median([4, 1,
                   2, 3]) == 2.5
"""


def test_quoted_lines_are_those_of_the_file():
    told = as_written(REPORT, {PATH}, TREE, "api/")
    assert told.splitlines() == [
        "tests/test_a.py:2: in test_a",
        "    assert f(x) == 2",
        *REPORT.splitlines()[3:],
    ]


@pytest.mark.parametrize(
    ("report", "rewritten"),
    [
        (REPORT, set()),
        (REPORT.replace("test_a.py:2", f"test_a.py:{10**9}"), {PATH}),
        (REPORT.replace("tests/test_a.py", "tests/test_b.py"), {"tests/test_b.py"}),
        ("__cg__ " * 1000 + "\n    __cg__", {PATH}),
    ],
)
def test_what_is_no_quotation_stays(report, rewritten):
    assert as_written(report, rewritten, TREE, "api/") == report


@pytest.mark.asyncio(loop_scope="module")
async def test_a_grade_quotes_what_the_project_has(range_):
    ready = await with_tests(range_, {"test_both.py": SUITE}, "tests/test_both.py::test_both")
    (path,) = (change.path for change in range_.gold.changes)
    assert b"__cg__" in (await range_.setting.recording(ready)).sources["tests/test_both.py"]
    broken = Manifest((Change(path, b"def median(numbers):\n    return numbers + ()\n"),))
    grade = await range_.setting.grade(ready, broken)
    assert "__cg__" not in "".join(outcome.message for outcome in grade.outcomes)
    (told,) = (one for one in grade.outcomes if one.id == "tests/test_both.py::test_both")
    assert told.outcome == "failed"
    assert "    assert median([4, 1," in told.message
