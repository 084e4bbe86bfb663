"""Grades a policy's work in a sandbox that it never touched.

Covered: nothing the policy left running, wrote outside permitted paths, or changed in tests, their
configuration or the interpreter's start has a part in the verdict; neither has an exit status or
anything printed. Only the expected ids count, each reported once. What tests that can be observed
saw is compared here: no expected value is in the sandbox, and held-out siblings of failing tests
have to see what they see on the solved tree.

Not covered, which is why a grade says which tests are ``report_only``: code under test shares a
process with the test runner. It can change the runner's objects, return what equals anything, or
write records of its own and end the process before the true ones follow. Of a test that is observed
it then has to know the values; of others, only where it writes beside the true records do the
doubles give it away.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence
from dataclasses import replace

from unidiff.patch import PatchSet

from codegym.errors import SandboxError
from codegym.grading.feedback import feedback
from codegym.grading.observe.controlling import controlled
from codegym.grading.observe.judging import keys_of, observed
from codegym.grading.observe.quoting import as_written
from codegym.grading.observe.recording import Observation, Recording
from codegym.grading.paths import Crossing, cross
from codegym.grading.ready import Ready
from codegym.grading.services import start_services
from codegym.grading.suites import SuiteRun, Watch, run_suite
from codegym.grading.verdict import grade_of, settle
from codegym.sandbox.base import Backend, Sandbox
from codegym.types import (
    Grade,
    Manifest,
    Manner,
    ObservingRunner,
    Refusal,
    SandboxSpec,
    Tampering,
    Task,
    TestOutcome,
)

#: A run that is killed is run again, so often at most: a machine's fault passes, and work that
#: kills its own run does so each time.
_RUNS = 3


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
    backend: Backend,
    ready: Ready,
    work: Manifest,
    attempts: Sequence[Tampering] = (),
    observation: Observation | None = None,
    *,
    brief: bool = False,
) -> Grade:
    """Grade a policy's work.

    Args:
        backend: Starts the sandboxes.
        ready: The task.
        work: The work as data, read when every process of the policy was dead.
        attempts: What the policy looked for in vain; recorded, changes no score.
        observation: What its tests see on the solved tree, where that can be observed.
        brief: Whether only the score matters: where one test failed, others may be cut off. Without
            an observation.

    Returns:
        The verdict; whatever the work holds is scored, and never raises.

    Raises:
        SandboxError: The infrastructure broke: there is no verdict.
    """
    began = time.perf_counter()
    recording = observation.recording if observation else None
    crossing = _fitting(await asyncio.to_thread(cross, work, ready.scene), ready)
    durations = {"transfer": time.perf_counter() - began}
    for _ in range(_RUNS):
        run, note = await _tested(backend, ready, crossing, observation, durations, brief)
        if not _killed(run, _expected(ready.task, recording)):
            break
    found = await asyncio.to_thread(_concluded, ready, crossing, run, recording)
    before = time.perf_counter()
    if recording is not None and found.solved:
        found = await controlled(backend, ready, crossing.changes, recording, found)
    durations["controls"] = time.perf_counter() - before
    durations["total"] = time.perf_counter() - began
    found = replace(found, attempts=tuple(attempts), durations_sec=durations)
    note = " ".join(part for part in (note, run.note) if part)
    return replace(found, text=feedback(found, ready.task, note))


def _fitting(crossing: Crossing, ready: Ready) -> Crossing:
    """Without any of its changes, where files that were sparse would not fit on the disk."""
    size = sum(len(change.data or b"") for change in crossing.changes)
    if size <= ready.environment.limits.disk_mb << 20:
        return crossing
    refusal = Refusal("", f"all of the work: its {size} bytes are more than the disk holds")
    return replace(crossing, changes=(), refused=(refusal, *crossing.refused))


async def _tested(
    backend: Backend,
    ready: Ready,
    crossing: Crossing,
    observation: Observation | None,
    durations: dict[str, float],
    brief: bool,
) -> tuple[SuiteRun, str]:
    """Run the expected tests in a fresh sandbox; also what is to be said of services."""
    judged = time.perf_counter()
    box = await backend.start(_spec(ready, observation))
    try:
        started = time.perf_counter()
        note = await _lay(box, ready, crossing, observation)
        laid = time.perf_counter()
        recording = observation.recording if observation else None
        run = await _run_expected(box, ready, recording, brief)
        tested = time.perf_counter()
    finally:
        await box.stop()
    durations["start"] = durations.get("start", 0.0) + started - judged
    durations["transfer"] += laid - started
    durations["tests"] = durations.get("tests", 0.0) + tested - laid
    return run, note


def _expected(task: Task, recording: Recording | None) -> int:
    """How many tests are run: of an observed task, siblings as well."""
    if recording is None:
        return len(task.test_ids)
    return sum(map(len, keys_of(recording, task)))


def _killed(run: SuiteRun, expected: int) -> bool:
    """Whether it was killed, and nobody here did it: the machine may have, for want of memory."""
    ended = run.result.exit_code == 128 + signal.SIGKILL and not run.note
    return ended and len(run.records) < expected


def _spec(ready: Ready, observation: Observation | None) -> SandboxSpec:
    spec = ready.grading_spec
    if observation is None or not isinstance(ready.runner, ObservingRunner):
        return spec
    files = {**spec.files, **ready.runner.observer()}
    return replace(spec, workspace=observation.workspace, files=files)


async def _lay(
    box: Sandbox, ready: Ready, crossing: Crossing, observation: Observation | None
) -> str:
    """Apply the work, then start services, which may run from it."""
    laid = observation.paths if observation else frozenset()
    try:
        await box.apply([change for change in crossing.changes if change.path not in laid])
    except ValueError as error:
        raise SandboxError(f"a policy's work could not be applied: {error}") from error
    return await start_services(box, ready.environment)


async def _run_expected(
    box: Sandbox, ready: Ready, recording: Recording | None, brief: bool
) -> SuiteRun:
    home, suite, runner = ready.environment, ready.suite, ready.runner
    if recording is None:
        manner = Manner(all_or_nothing=True) if brief else None
        return await run_suite(box, home, suite, runner, ready.task.test_ids, manner=manner)
    own, siblings = keys_of(recording, ready.task)
    watch = Watch((*own, *siblings), limited=siblings)
    return await run_suite(box, home, suite, runner, watch=watch)


def _concluded(
    ready: Ready, crossing: Crossing, run: SuiteRun, recording: Recording | None
) -> Grade:
    """What is known of the work by now; controls may still have a say."""
    task, runner = ready.task, ready.runner
    if recording is None or not isinstance(runner, ObservingRunner):
        verdict = settle(task.test_ids, run.records)
        found = grade_of(task, verdict.outcomes, (*crossing.tampering, *verdict.tampering))
        protection = {runner.assurance: len(task.fail_to_pass)}
        found = replace(found, assurance=runner.assurance, protection=protection)
    else:
        evidence = runner.evidence(run.result.report)
        records = [_as_written(one, ready, recording) for one in run.records]
        sources = _changed_by_the_answer(ready)
        found = observed(recording, task, evidence, records, crossing.tampering, sources)
    return replace(found, refused=crossing.refused)


def _changed_by_the_answer(ready: Ready) -> list[bytes]:
    """The files that it changes, as a policy was shown them."""
    tree = ready.prepared.start_tree
    paths = {file.path for file in PatchSet(ready.task.patch)}
    return [tree[path].data for path in sorted(paths & tree.keys())]


def _as_written(outcome: TestOutcome, ready: Ready, recording: Recording) -> TestOutcome:
    """It quotes tests as they are in the project, not as they were laid into a sandbox."""
    tree, rewritten = ready.prepared.grading_tree, recording.sources
    said = as_written(outcome.message, rewritten, tree, ready.prefix)
    return replace(outcome, message=said)
