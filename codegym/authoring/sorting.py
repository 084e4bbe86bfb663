"""From what a suite did before and after a change to the tests of a task. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from codegym.grading.trials import Observed, last_line

Reason = Literal[
    "no_failing_test",
    "collection_error",
    "timed_out",
    "unstable",
    "gold_does_not_pass",
    "suite_broken",
    "leak",
    "not_text",
]

#: What each reason means, for a person.
REASONS: dict[Reason, str] = {
    "no_failing_test": "no test fails before the change and passes with it",
    "collection_error": "tests cannot be collected before the change, so none of them can fail",
    "timed_out": "the suite does not end in time",
    "unstable": "the tests that fail do not do so every time",
    "gold_does_not_pass": "the solved tree does not pass its own tests",
    "suite_broken": "the test runner itself stops",
    "leak": "the task cannot be prepared without giving its answer away",
    "not_text": "the change holds something that is no text",
}


@dataclass(frozen=True, slots=True)
class Sorted:
    """The tests of a task, or why there is none.

    Attributes:
        fail_to_pass: Fail at the start, by an assertion or an exception, and pass when solved.
        pass_to_pass: Pass both times.
        left_out: Tests in neither: skipped, unstable, failing both times or only there once.
        reason: Why it is no task, or None.
        detail: That in one sentence.
    """

    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    left_out: int = 0
    reason: Reason | None = None
    detail: str = ""


def sort_tests(start: Observed, gold: Observed) -> Sorted:
    """Sort a suite's tests by what they did on the unsolved and on the solved tree."""
    refused = _refused(start, gold)
    if refused:
        return refused
    passed = {test_id for test_id, outcome in gold.outcomes.items() if outcome == "passed"}
    failed = {
        test_id for test_id, outcome in start.outcomes.items() if outcome in ("failed", "error")
    }
    broken = sorted(
        test_id
        for test_id, outcome in gold.outcomes.items()
        if outcome != "passed" and start.outcomes.get(test_id) == "passed"
    )
    if broken:
        return Sorted(
            reason="gold_does_not_pass",
            detail=f"{len(broken)} tests that passed before fail after, {broken[0]} among them",
        )
    fail_to_pass = tuple(sorted(failed & passed))
    pass_to_pass = tuple(
        sorted(test_id for test_id in passed if start.outcomes.get(test_id) == "passed")
    )
    everything = start.outcomes.keys() | gold.outcomes.keys() | start.unstable | gold.unstable
    if not fail_to_pass:
        return _without_failure(start, gold)
    left_out = len(everything) - len(fail_to_pass) - len(pass_to_pass)
    return Sorted(fail_to_pass, pass_to_pass, left_out)


def _refused(start: Observed, gold: Observed) -> Sorted | None:
    for name, seen in (("before", start), ("after", gold)):
        if seen.timed_out:
            return Sorted(reason="timed_out", detail=f"{name} the change: {seen.problem}")
        if seen.problem:
            return Sorted(reason="suite_broken", detail=f"{name} the change: {seen.problem}")
    # A file that cannot be collected either way is no matter of this change.
    for path in sorted(gold.uncollected.keys() - start.uncollected.keys()):
        said = last_line(gold.uncollected[path])
        return Sorted(reason="gold_does_not_pass", detail=f"{path}: {said}")
    for path in sorted(start.uncollected.keys() - gold.uncollected.keys()):
        said = last_line(start.uncollected[path])
        return Sorted(reason="collection_error", detail=f"{path}: {said}")
    return None


def _without_failure(start: Observed, gold: Observed) -> Sorted:
    wavering = sorted((start.unstable | gold.unstable) - _passing(start))
    if wavering:
        return Sorted(reason="unstable", detail=f"{wavering[0]} does not end alike every time")
    failing = sorted(test_id for test_id, outcome in gold.outcomes.items() if outcome == "failed")
    if failing:
        return Sorted(reason="gold_does_not_pass", detail=f"{failing[0]} fails after it too")
    return Sorted(reason="no_failing_test", detail=REASONS["no_failing_test"])


def _passing(seen: Observed) -> set[str]:
    return {test_id for test_id, outcome in seen.outcomes.items() if outcome == "passed"}
