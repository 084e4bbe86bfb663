"""Runs a task's suite in a fresh sandbox of its own, on trusted files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from codegym.errors import SandboxError, TaskError
from codegym.grading.ready import Ready
from codegym.grading.services import start_services
from codegym.grading.suites import SuiteRun, Watch, run_suite
from codegym.sandbox.base import Backend
from codegym.types import (
    Change,
    ForkingRunner,
    Manifest,
    Manner,
    ObservingRunner,
    RecordingRunner,
    SandboxSpec,
    Tree,
    VaryingRunner,
    Work,
)

_T = TypeVar("_T")
_ATTEMPTS = 3


async def run_fresh(
    backend: Backend,
    ready: Ready,
    changes: Sequence[Change] = (),
    *,
    ids: Sequence[str] = (),
    timeout_sec: float | None = None,
    record: Sequence[str] = (),
    watch: Watch | None = None,
    manner: Manner | None = None,
    work: Work | None = None,
) -> SuiteRun:
    """Run a task's suite once, on its grading tree with ``changes`` laid over.

    Args:
        backend: Starts the sandbox.
        ready: The task.
        changes: Files that are others.
        ids: These tests only; where empty, all of the suite.
        timeout_sec: Wall time; by default the suite's.
        record: Files inside whose lines are recorded, where the runner can do that.
        watch: What is observed, where the runner can do that.
        manner: How the tests are run otherwise than usual, where the runner can do that.
        work: What is tried instead of running tests, where the runner can do that.

    Raises:
        TaskError: A service of the environment did not start, or the changes cannot be laid.
        SandboxError: The infrastructure broke, more than once.
    """
    runner = ready.runner
    spec = _spec(ready, record, watch, manner, work)

    async def once() -> SuiteRun:
        box = await backend.start(spec)
        try:
            await box.apply(changes)
            if problem := await start_services(box, ready.environment):
                raise TaskError(ready.task.instance_id, problem)
            return await run_suite(
                box,
                ready.environment,
                ready.suite,
                runner,
                ids,
                timeout_sec=timeout_sec,
                record=record,
                watch=watch,
                manner=manner,
                work=work,
            )
        except ValueError as error:
            raise TaskError(ready.task.instance_id, f"cannot be laid: {error}") from error
        finally:
            await box.stop()

    return await retried(once)


def _spec(
    ready: Ready,
    record: Sequence[str],
    watch: Watch | None,
    manner: Manner | None,
    work: Work | None,
) -> SandboxSpec:
    """The sandbox of a grade, with what a run needs besides."""
    spec, runner = ready.grading_spec, ready.runner
    files = dict(spec.files)
    if record and isinstance(runner, RecordingRunner):
        files |= runner.recorder()
    if watch is not None and isinstance(runner, ObservingRunner):
        files |= runner.observer()
    if manner is not None and isinstance(runner, VaryingRunner):
        files |= runner.laid(manner)
    if work is not None and isinstance(runner, ForkingRunner):
        files |= runner.forker()
    return replace(spec, files=files)


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


def workers() -> int:
    """How many sandboxes to keep busy at once."""
    return max(1, len(os.sched_getaffinity(0)))


def work_between(start: Tree, end: Tree) -> Manifest:
    """What a policy would leave that turned one tree into the other."""
    changes = [
        Change(path, file.data, file.mode == "100755")
        for path, file in end.items()
        if start.get(path) != file
    ]
    changes += [Change(path, None) for path in start.keys() - end.keys()]
    return Manifest(tuple(sorted(changes, key=lambda change: change.path)))
