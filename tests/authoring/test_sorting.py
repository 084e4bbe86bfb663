"""Which tests a task has, from what they did before and after: laws, and each reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.authoring.sorting import REASONS, sort_tests
from codegym.grading.suites import SuiteRun
from codegym.grading.trials import Observed, summarise
from codegym.types import CommandResult, TestOutcome

OUTCOMES = st.sampled_from(["passed", "failed", "error", "skipped"])
IDS = st.sampled_from([f"t.py::test_{n}" for n in range(6)])
RUNS = st.lists(st.dictionaries(IDS, OUTCOMES), min_size=1, max_size=3)


def run(records, **result):
    outcomes = tuple(TestOutcome(name, outcome) for name, outcome in records)
    return SuiteRun(outcomes, CommandResult(**{"exit_code": 1, "output": b"", **result}))


def seen(**outcomes) -> Observed:
    return summarise([run([(f"t.py::{name}", outcome) for name, outcome in outcomes.items()])])


@given(RUNS, RUNS)
def test_what_is_sorted_did_so_every_time(before, after):
    start, gold = (summarise([run(one.items()) for one in runs]) for runs in (before, after))
    found = sort_tests(start, gold)
    fail, keep = set(found.fail_to_pass), set(found.pass_to_pass)
    assert bool(found.fail_to_pass) is (found.reason is None)
    assert not fail & keep
    for name in fail | keep:
        assert all(one.get(name) == "passed" for one in after)
    for name in fail:
        assert all(one.get(name) in ("failed", "error") for one in before)
    for name in keep:
        assert all(one.get(name) == "passed" for one in before)


@given(RUNS)
def test_a_test_is_stable_or_not(runs):
    whole = summarise([run(one.items()) for one in runs])
    names = {name for one in runs for name in one}
    assert set(whole.outcomes) | whole.unstable == names
    assert not set(whole.outcomes) & whole.unstable


def test_a_plain_repair():
    found = sort_tests(
        seen(a="failed", b="passed", c="skipped", d="error"),
        seen(a="passed", b="passed", c="skipped", d="passed", e="passed"),
    )
    assert found.fail_to_pass == ("t.py::a", "t.py::d")
    assert found.pass_to_pass == ("t.py::b",)
    assert found.left_out == 2
    assert found.reason is None


@pytest.mark.parametrize(
    ("start", "gold", "reason", "said"),
    [
        (seen(a="passed"), seen(a="passed"), "no_failing_test", "no test fails"),
        (seen(a="failed"), seen(a="failed"), "gold_does_not_pass", "t.py::a fails after it too"),
        (
            seen(a="failed", b="passed"),
            seen(a="passed", b="failed"),
            "gold_does_not_pass",
            "1 tests that passed before fail after",
        ),
        (
            summarise([run([("t.py", "error")])]),
            seen(a="passed"),
            "collection_error",
            "t.py: ",
        ),
        (
            seen(a="failed"),
            summarise([run([("t.py", "error")])]),
            "gold_does_not_pass",
            "t.py: ",
        ),
        (
            summarise([run([("t.py::a", "failed")]), run([("t.py::a", "passed")])]),
            summarise([run([("t.py::a", "passed")])] * 2),
            "unstable",
            "t.py::a",
        ),
        (
            summarise([run([("t.py::a", "failed")] * 2)]),
            seen(a="passed"),
            "unstable",
            "t.py::a",
        ),
        (
            summarise([run([], exit_code=124, timed_out=True)]),
            seen(a="passed"),
            "timed_out",
            "before the change",
        ),
        (
            seen(a="failed"),
            summarise([run([("t.py::a", "passed")], exit_code=139, output=b"x\nE  gone\n")]),
            "suite_broken",
            "after the change: The run ended with status 139: gone",
        ),
    ],
)
def test_each_reason_is_said(start, gold, reason, said):
    found = sort_tests(start, gold)
    assert (found.reason, found.fail_to_pass) == (reason, ())
    assert said in found.detail
    assert REASONS[reason]


def test_a_file_that_never_could_be_collected_is_no_matter():
    broken = ("other.py", "error")
    start = summarise([run([broken, ("t.py::a", "failed")])])
    gold = summarise([run([broken, ("t.py::a", "passed")])])
    assert sort_tests(start, gold).fail_to_pass == ("t.py::a",)
