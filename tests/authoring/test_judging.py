"""Which tests an environment has, and the reason for each that it has not."""

import re

import pytest

from codegym.authoring.packages.judging import deselectable, judge, judge_order, why_none
from codegym.grading.suites import SuiteRun
from codegym.grading.trials import summarise
from codegym.types import CommandResult, TestOutcome


def run(*records, exit_code=0, timed_out=False):
    """One run: (id, outcome, message or seconds)."""
    outcomes = []
    for test_id, outcome, *more in records:
        message = next((each for each in more if isinstance(each, str)), "")
        seconds = next((each for each in more if isinstance(each, float)), 0.1)
        outcomes.append(TestOutcome(test_id, outcome, seconds, message))
    result = CommandResult(exit_code=exit_code, output=b"", seconds=1.0, timed_out=timed_out)
    return SuiteRun(tuple(outcomes), result)


def verdict_of(*runs):
    return judge(summarise(runs), runs)


@pytest.mark.parametrize(
    ("outcome", "message", "reason"),
    [
        ("failed", "assert 1 == 2", "fails"),
        ("error", "OSError", "fails before it starts"),
        ("skipped", "Network is unreachable", "skipped"),
        ("failed", "socket.gaierror: [Errno -3]", "needs network"),
        ("error", "ConnectionRefusedError: [Errno 111] Connection refused", "needs a service"),
        ("error", "E  fixture 'mocker' not found", "needs a plug-in of pytest"),
    ],
)
def test_reasons(outcome, message, reason):
    one = run(("a::t", outcome, message), ("a::u", "passed"))
    found = verdict_of(one, one)
    assert found.passing == {"a::u"}
    assert found.excluded == {"a::t": reason}


def test_a_flaky_and_a_slow_test():
    found = verdict_of(
        run(("a::flaky", "passed"), ("a::slow", "passed", 61.0), ("a::good", "passed")),
        run(("a::flaky", "failed"), ("a::slow", "passed", 1.0), ("a::good", "passed")),
    )
    assert found.passing == {"a::good"}
    assert found.excluded == {"a::flaky": "not the same every time", "a::slow": "too slow"}


def test_order_is_told_from_chance():
    one = run(*((f"a::{name}", "passed") for name in "xyz"))
    verdict = verdict_of(one, one)
    assert judge_order(verdict, [one]) == verdict
    first = run(("a::x", "passed"), ("a::y", "failed"))
    second = run(("a::x", "passed"), ("a::y", "failed"), ("a::z", "passed"))
    found = judge_order(verdict, [first, second])
    assert found.passing == {"a::x"}
    assert found.excluded == {
        "a::y": "depends on the order of tests",
        "a::z": "not the same every time",
    }


def test_what_is_deselected_holds_no_good_test():
    one = run(
        ("a::t", "failed"), ("a::t_more", "passed"), ("b", "error", "E x"), ("b::u", "passed")
    )
    assert deselectable(verdict_of(one, one)) == ("a::t",)


def test_what_keeps_a_suite_from_its_end_is_left_out_whatever_it_did_before():
    one = run(("a::t", "passed"), ("a::u", "passed"))
    found = judge(summarise([one, one]), [one, one], {"a::u": "too slow"})
    assert (found.passing, found.excluded) == ({"a::t"}, {"a::u": "too slow"})


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (run(("a::t", "passed"), exit_code=-9, timed_out=True), "do not end.*--timeout-sec.*a::t"),
        (run(("a::t", "passed"), exit_code=3), "do not run"),
        (run(("a.py", "error", "E ImportError: x")), "cannot be collected. a.py: ImportError: x"),
        (run(), "no test was reported"),
        (
            run(("a::t", "failed", "E   no"), ("a::u", "failed"), ("a::v", "skipped"), exit_code=1),
            r"of its 3 tests, none passes every time \(2 fails, 1 skipped\)\. a::t: no$",
        ),
        (
            run(("a::t", "failed", "Connection refused: 127.0.0.1:6379"), exit_code=1),
            r"need a service.*Redis.*--with",
        ),
    ],
)
def test_a_suite_that_is_no_use_is_explained(one, said):
    seen = summarise([one, one])
    assert re.search(said, why_none(seen, judge(seen, [one, one]), [one, one]))


def test_one_good_test_is_enough():
    one = run(("a::t", "passed"), ("b.py", "error", "E x"), exit_code=1)
    seen = summarise([one, one])
    assert why_none(seen, judge(seen, [one, one]), [one, one]) == ""
