"""From what runs of a suite showed to a verdict on a candidate."""

from dataclasses import dataclass

import pytest

from codegym.grading.suites import SuiteRun
from codegym.mutation.trial import Trial, are_most, judge, judge_looks, raised
from codegym.types import CommandResult, Look, TestOutcome

A, B, C = "t.py::a", "t.py::b", "t.py::c"


@dataclass(frozen=True)
class Known:
    """What a verdict needs of a baseline: the tests that pass."""

    seconds: dict


BASELINE = Known(dict.fromkeys((A, B, C), 0.1))


def run(*, exit_code=1, timed_out=False, message="E   assert 1 == 2\n", **outcomes):
    names = {"a": A, "b": B, "c": C, "file": "t.py"}
    records = [
        TestOutcome(names[name], outcome, message="" if outcome == "passed" else message)
        for name, outcome in outcomes.items()
    ]
    return SuiteRun(tuple(records), CommandResult(exit_code, b"said", timed_out=timed_out))


GOOD = {"a": "failed", "b": "passed", "c": "error"}


def judged(*runs, wanted=(A, B, C)):
    return judge(list(runs), BASELINE, frozenset(wanted))


def test_a_fault_that_some_tests_notice():
    found = judged(run(**GOOD), run(**GOOD))
    assert (found.reason, found.failing, found.passing) == (None, (A, C), (B,))
    assert found.example in (A, C)
    assert found.message == "E   assert 1 == 2\n"


def test_places_and_other_examples():
    names = [f"t.py::{name}" for name in ("a", "b[1]", "b[2]", "c", "d", "e")]
    said = [f"t.py:{at}: in x\nsrc/f.py:7: in f\nE   {'x' * at}\n" for at in range(5)]
    records = [
        TestOutcome(name, "failed", message=one) for name, one in zip(names, said, strict=False)
    ]
    records.append(TestOutcome("t.py::e", "passed"))
    known = Known(dict.fromkeys(names, 0.1))
    run = SuiteRun(tuple(records), CommandResult(1, b""))
    found = judge([run], known, frozenset(names))
    assert found.example == "t.py::a"
    assert found.others == (("t.py::b[1]", said[1]), ("t.py::c", said[3]))
    assert found.frames == ("src/f.py:7", *(f"t.py:{at}" for at in range(5)))


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        ([run(exit_code=0, a="passed", b="passed", c="passed")], "survived"),
        ([run(exit_code=0, a="skipped", b="passed", c="passed")], "survived"),
        ([run(a="failed", b="failed", c="error")], "all_tests_fail"),
        ([run(**GOOD), run(a="passed", b="passed", c="error")], "unstable"),
        ([run(file="error", a="failed", b="passed")], "collection_error"),
        ([run(a="failed", b="passed")], "collection_error"),
        ([run(exit_code=2, **GOOD)], "crashed"),
        ([run(timed_out=True, exit_code=124, **GOOD)], "timed_out"),
    ],
)
def test_what_is_no_task(runs, reason):
    found = judged(*runs)
    assert found.reason == reason
    assert found.detail
    assert found.failing == ()


def test_only_the_tests_that_were_to_run_count():
    found = judged(run(a="failed"), wanted=[A])
    assert (found.reason, found.failing) == (None, (A,))
    assert judged(run(exit_code=0, a="failed", b="passed"), wanted=[B]).reason == "survived"


def test_a_test_that_failed_before_is_no_evidence():
    other = SuiteRun((TestOutcome("t.py::old", "failed"),), CommandResult(1, b""))
    assert judged(SuiteRun((*run(**GOOD).records, *other.records), other.result)).failing == (A, C)


def test_where_failures_were_raised():
    said = "t.py:3: in a\n    f(1)\nsrc/f.py:8: in f\n    g()\nE   KeyError: 1\n"
    found = judged(run(message=said, **GOOD))
    assert found.ends == ("src/f.py:8",)
    assert found.frames == ("src/f.py:8", "t.py:3")
    assert judged(run(message="E   nothing of the kind\n", **GOOD)).ends == ()


def looked(*failed, ended="ran", passed=()):
    return Look(ended, "", dict.fromkeys(failed, ("failed", "KeyError")), frozenset(passed))


def test_what_two_looks_show():
    both = looked(A, passed=[B, C]), looked(A, passed=[B, C])
    assert judge_looks(both, frozenset({A, B})) == Trial(failing=(A,), passing=(B,))
    assert judge_looks(both, frozenset({B})).reason == "survived"
    once = looked(A, passed=[B]), looked(passed=[A, B])
    assert judge_looks(once, frozenset({A, B})).reason == "unstable"
    skipped = looked(A, passed=[B]), looked(A)
    assert judge_looks(skipped, frozenset({A, B})).reason == "unstable"
    late = looked(A), looked(ended="timed_out")
    assert judge_looks(late, frozenset({A})).reason == "timed_out"
    assert judge_looks((looked(ended="crashed"),), frozenset({A})).reason == "crashed"


def test_most_tests_may_not_fail_but_where_a_feature_is_gone():
    assert not are_most(1, BASELINE, "FixTests")
    assert are_most(2, BASELINE, "FixTests")
    assert not are_most(3, BASELINE, "ImplementFeature")


def test_what_was_raised():
    assert raised("t.py:3: in a\n    f()\nE   KeyError: 1\nE     more\nEnd\n") == [
        "KeyError: 1",
        "more",
    ]
