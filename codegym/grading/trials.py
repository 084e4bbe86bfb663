"""Running a whole suite on a task's unsolved and solved trees, in sandboxes like a grade's."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from codegym.errors import SandboxError, TaskError
from codegym.grading.ready import Ready
from codegym.grading.services import start_services
from codegym.grading.setting import Setting
from codegym.grading.suites import SuiteRun, run_suite
from codegym.types import Change, Manifest, Outcome, RecordingRunner, Tree

_T = TypeVar("_T")

#: Exit statuses of a suite that came to its end: all passed, some failed, there was none.
_ENDED = (0, 1, 5)
_SHOWN_CHARS = 300
_ATTEMPTS = 3


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
) -> SuiteRun:
    """Run a task's suite once, on its grading tree with ``changes`` laid over.

    Args:
        setting: Starts the sandbox, a fresh one.
        ready: The task.
        changes: Files that are others.
        ids: These tests only; where empty, all of the suite.
        timeout_sec: Wall time; by default the suite's.
        record: Files inside whose lines are recorded, where the runner can do that.

    Raises:
        TaskError: A service of the environment did not start.
        SandboxError: The infrastructure broke, more than once.
    """
    spec = ready.grading_spec
    if record and isinstance(ready.runner, RecordingRunner):
        spec = replace(spec, files={**spec.files, **ready.runner.recorder()})

    async def once() -> SuiteRun:
        box = await setting.backend.start(spec)
        try:
            await box.apply(changes)
            if problem := await start_services(box, ready.environment):
                raise TaskError(ready.task.instance_id, problem)
            home, suite, runner = ready.environment, ready.suite, ready.runner
            return await run_suite(
                box, home, suite, runner, ids, timeout_sec=timeout_sec, record=record
            )
        except ValueError as error:
            raise TaskError(ready.task.instance_id, f"cannot be laid: {error}") from error
        finally:
            await box.stop()

    return await retried(once)


async def retried(work: Callable[[], Awaitable[_T]]) -> _T:
    """Do it again where the sandbox broke; that says nothing of a task."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return await work()
        except SandboxError:
            await asyncio.sleep(0)
    return await work()


async def together(works: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Do all at once; results in order. The first that fails ends the others, and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(work) for work in works]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    return [each.result() for each in running]


def work_between(start: Tree, end: Tree) -> Manifest:
    """What a policy would leave that turned one tree into the other."""
    changes = [
        Change(path, file.data, file.mode == "100755")
        for path, file in end.items()
        if start.get(path) != file
    ]
    changes += [Change(path, None) for path in start.keys() - end.keys()]
    return Manifest(tuple(sorted(changes, key=lambda change: change.path)))


def workers() -> int:
    """How many sandboxes to keep busy at once."""
    return max(1, len(os.sched_getaffinity(0)))
