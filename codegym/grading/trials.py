"""Running a whole suite on a task's unsolved and solved trees, in sandboxes like a grade's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codegym.grading.fresh import retried, run_fresh, together, work_between, workers
from codegym.grading.ready import Ready
from codegym.grading.setting import Setting
from codegym.grading.suites import SuiteRun
from codegym.types import Change, Manner, Outcome, Work

__all__ = [
    "Observed",
    "last_line",
    "retried",
    "run_on",
    "summarise",
    "together",
    "work_between",
    "workers",
]

#: Exit statuses of a suite that came to its end: all passed, some failed, there was none.
_ENDED = (0, 1, 5)
_SHOWN_CHARS = 300


@dataclass(frozen=True, slots=True)
class Observed:
    """What a suite did on one tree, over all its runs.

    Attributes:
        outcomes: Of each test that had the same outcome, once, in every run.
        unstable: Tests that had not.
        uncollected: Files that could not be collected, to what was said of it.
        problem: Why a run did not come to its end, or ``""``.
        timed_out: Whether that was for its time.
    """

    outcomes: Mapping[str, Outcome]
    unstable: frozenset[str]
    uncollected: Mapping[str, str]
    problem: str
    timed_out: bool


def summarise(runs: Sequence[SuiteRun]) -> Observed:
    """Put the runs of one suite on one tree together."""
    seen: dict[str, list[Outcome]] = {}
    uncollected: dict[str, str] = {}
    doubled: set[str] = set()
    for run in runs:
        for record in run.records:
            if "::" in record.id:
                seen.setdefault(record.id, []).append(record.outcome)
            elif record.outcome == "error":
                uncollected[record.id] = record.message
        counts = Counter(record.id for record in run.records)
        doubled |= {test_id for test_id, count in counts.items() if count > 1}
    stable = {
        test_id: outcomes[0]
        for test_id, outcomes in seen.items()
        if len(outcomes) == len(runs) and len(set(outcomes)) == 1 and test_id not in doubled
    }
    return Observed(
        outcomes=stable,
        unstable=frozenset(seen.keys() - stable.keys()),
        uncollected=uncollected,
        problem=next((problem for run in runs if (problem := _problem(run))), ""),
        timed_out=any(run.result.timed_out for run in runs),
    )


def _problem(run: SuiteRun) -> str:
    if run.note:
        return run.note
    if run.result.exit_code in _ENDED:
        return ""
    said = last_line(run.result.output.decode(errors="replace")) or "it said nothing"
    return f"The run ended with status {run.result.exit_code}: {said}"


def last_line(text: str) -> str:
    """The last line that tells of an error, else the last that says anything; bounded."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()] or lines
    return telling[-1].removeprefix("E ").strip()[:_SHOWN_CHARS] if telling else ""


async def run_on(
    setting: Setting,
    ready: Ready,
    changes: Sequence[Change] = (),
    *,
    ids: Sequence[str] = (),
    timeout_sec: float | None = None,
    record: Sequence[str] = (),
    manner: Manner | None = None,
    work: Work | None = None,
) -> SuiteRun:
    """Run a task's suite once, on its grading tree with ``changes`` laid over.

    Args:
        setting: Starts the sandbox, a fresh one.
        ready: The task.
        changes: Files that are others.
        ids: These tests only; where empty, all of the suite.
        timeout_sec: Wall time; by default the suite's.
        record: Files inside whose lines are recorded, where the runner can do that.
        manner: How the tests are run otherwise than usual, where the runner can do that.
        work: What is tried instead of running tests, where the runner can do that.

    Raises:
        TaskError: A service of the environment did not start.
        SandboxError: The infrastructure broke, more than once.
    """
    return await run_fresh(
        setting.backend,
        ready,
        changes,
        ids=ids,
        timeout_sec=timeout_sec,
        record=record,
        manner=manner,
        work=work,
    )
