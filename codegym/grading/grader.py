"""Grades a policy's work in a sandbox that it never touched.

Covered: nothing the policy left running, wrote outside permitted paths, or changed in tests, their
configuration or the interpreter's start has a part in the verdict; neither has an exit status or
anything printed. Only the expected ids count, each reported once.

Not covered, which is why a grade says ``report_only``: code under test shares a process with the
test runner. It can change the runner's objects, return what equals anything, or write records of
its own and end the process before the true ones follow. Only where it writes beside the true ones
do the doubles give it away.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from codegym.errors import SandboxError
from codegym.grading.feedback import feedback
from codegym.grading.paths import Crossing, cross
from codegym.grading.ready import Ready
from codegym.grading.services import start_services
from codegym.grading.suites import SuiteRun, run_suite
from codegym.grading.verdict import grade_of, settle
from codegym.sandbox.base import Backend, Sandbox
from codegym.types import Grade, Manifest, Tampering, TestOutcome


async def run_tests(
    box: Sandbox, ready: Ready, ids: Sequence[str] = (), *, timeout_sec: float | None = None
) -> list[TestOutcome]:
    """Run tests in a policy's own sandbox. Untrusted: decides nothing.

    Args:
        box: Any sandbox that has the runner's payload.
        ready: The task.
        ids: These tests; where empty, all of the suite.
        timeout_sec: Wall time; by default the suite's.

    Returns:
        One outcome for each id, in that order; where ``ids`` is empty, all that were reported.

    Raises:
        SandboxError: The infrastructure broke.
    """
    run = await _run(box, ready, ids, timeout_sec)
    if not ids:
        return list(run.records)
    outcomes = settle(ids, run.records).outcomes
    return [_explained(outcome, run) for outcome in outcomes]


def _explained(outcome: TestOutcome, run: SuiteRun) -> TestOutcome:
    """A test that did not run is told by what the process said last."""
    if outcome.outcome != "missing" or outcome.message:
        return outcome
    said = run.result.output.decode(errors="replace").strip()[-1500:]
    return replace(outcome, message=run.note or said)


async def _run(
    box: Sandbox, ready: Ready, ids: Sequence[str], timeout_sec: float | None = None
) -> SuiteRun:
    return await run_suite(
        box, ready.environment, ready.suite, ready.runner, ids, timeout_sec=timeout_sec
    )


async def grade(
    backend: Backend, ready: Ready, work: Manifest, attempts: Sequence[Tampering] = ()
) -> Grade:
    """Grade a policy's work.

    Args:
        backend: Starts the sandbox.
        ready: The task.
        work: The work as data, read when every process of the policy was dead.
        attempts: What the policy looked for in vain; recorded, changes no score.

    Returns:
        The verdict; whatever the work holds is scored, and never raises.

    Raises:
        SandboxError: The infrastructure broke: there is no verdict.
    """
    began = time.perf_counter()
    crossing = await asyncio.to_thread(cross, work, ready.scene)
    judged = time.perf_counter()
    box = await backend.start(ready.grading_spec)
    try:
        started = time.perf_counter()
        note = await _lay(box, ready, crossing)
        laid = time.perf_counter()
        run = await _run(box, ready, ready.task.test_ids)
        tested = time.perf_counter()
    finally:
        await box.stop()
    durations = {
        "transfer": judged - began + laid - started,
        "start": started - judged,
        "tests": tested - laid,
        "total": time.perf_counter() - began,
    }
    return _conclude(ready, crossing, run, note, attempts, durations)


async def _lay(box: Sandbox, ready: Ready, crossing: Crossing) -> str:
    """Apply the work, then start services, which may run from it."""
    try:
        await box.apply(crossing.changes)
    except ValueError as error:
        raise SandboxError(f"a policy's work could not be applied: {error}") from error
    return await start_services(box, ready.environment)


def _conclude(
    ready: Ready,
    crossing: Crossing,
    run: SuiteRun,
    note: str,
    attempts: Sequence[Tampering],
    durations: dict[str, float],
) -> Grade:
    task = ready.task
    verdict = settle(task.test_ids, run.records)
    verdict_grade = replace(
        grade_of(task, verdict.outcomes, (*crossing.tampering, *verdict.tampering)),
        refused=crossing.refused,
        assurance=ready.runner.assurance,
        durations_sec=durations,
        attempts=tuple(attempts),
    )
    note = " ".join(part for part in (note, run.note) if part)
    return replace(verdict_grade, text=feedback(verdict_grade, task, note))
