"""Runs a suite's tests in a sandbox, and reads what they report."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from codegym.grading.ready import project_root
from codegym.sandbox.base import REPORT_FD, Sandbox
from codegym.tasks import Environment, Suite
from codegym.types import (
    CommandResult,
    ForkingRunner,
    Manner,
    ObservingRunner,
    RecordingRunner,
    Runner,
    RunnerCommand,
    TestOutcome,
    VaryingRunner,
    Work,
)

MAX_OUTPUT_BYTES = 64_000


@dataclass(frozen=True, slots=True)
class Watch:
    """What is to be observed in a run, of a sandbox that has the runner's observer.

    Attributes:
        keys: The tests to run, by key; where empty, all that the suite selects.
        limited: Those of them that have only ``limit_sec`` each.
        limit_sec: Seconds.
        timeout_sec: Wall time of the run; by default the suite's.
        collect: Whether the run says which node id each key has.
        hash_seed: What ``PYTHONHASHSEED`` is; by default the runner's.
        brief: Whether nobody reads why a test failed: then it is cheap that many do.
    """

    keys: tuple[str, ...] = ()
    limited: tuple[str, ...] = ()
    limit_sec: float = 5.0
    timeout_sec: float | None = None
    collect: bool = False
    hash_seed: int | None = None
    brief: bool = False


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """One run of a suite. All of it is untrusted.

    Attributes:
        records: What was reported, in order, doubles kept; by key where it was watched.
        result: How the process ended; decides nothing.
    """

    records: tuple[TestOutcome, ...]
    result: CommandResult

    @property
    def note(self) -> str:
        """What to say of the run as a whole, or ``""``."""
        if self.result.timed_out:
            return f"The tests were stopped after {self.result.seconds:.0f} s."
        if self.result.restarted == "memory":
            return "The tests were stopped for want of memory."
        return ""


async def run_suite(
    box: Sandbox,
    environment: Environment,
    suite: Suite,
    runner: Runner,
    ids: Sequence[str] = (),
    *,
    timeout_sec: float | None = None,
    record: Sequence[str] = (),
    watch: Watch | None = None,
    manner: Manner | None = None,
    work: Work | None = None,
) -> SuiteRun:
    """Run tests in a sandbox that has the runner's payload.

    Args:
        box: Where; its image says which interpreter.
        environment: Whose suite it is.
        suite: Which tests there are, and how they are configured.
        runner: Runs them.
        ids: Exactly these; where empty, all that the suite selects (for discovery).
        timeout_sec: Wall time; by default the suite's.
        record: Files inside whose lines are recorded; for a ``RecordingRunner`` and a sandbox that
            has its recorder. They are read from the result's report.
        watch: What is observed, for an ``ObservingRunner`` and a sandbox that has its observer; its
            keys say which tests are run. What was seen is read from the result's report.
        manner: How the tests are run otherwise than usual.
        work: What is tried instead, for a ``ForkingRunner`` and a sandbox that has its forker.

    Raises:
        SandboxError: The infrastructure broke. What the tests do is never an error.
    """
    command = runner.command(
        ids,
        REPORT_FD,
        python=box.spec.image.python,
        import_paths=suite.import_paths,
        select=suite.select,
        deselect=suite.deselect,
        config=suite.config,
        root=project_root(environment),
    )
    if record and isinstance(runner, RecordingRunner):
        command = runner.recording(command, record)
    if watch is not None and isinstance(runner, ObservingRunner):
        command = _watched(runner, suite, command, watch)
        timeout_sec = timeout_sec or watch.timeout_sec
    command = _otherwise(runner, command, manner, work)
    result = await box.exec(
        command.argv,
        stdin=command.stdin,
        env=command.env,
        timeout_sec=suite.timeout_sec if timeout_sec is None else timeout_sec,
        max_output_bytes=MAX_OUTPUT_BYTES,
        report=True,
    )
    return await asyncio.to_thread(_read, runner, command, result)  # it may be long


def _read(runner: Runner, command: RunnerCommand, result: CommandResult) -> SuiteRun:
    own = replace(result, report=command.own(result.report))
    return SuiteRun(tuple(runner.parse(own.report)), own)


def _otherwise(
    runner: Runner, command: RunnerCommand, manner: Manner | None, work: Work | None
) -> RunnerCommand:
    """The command of a run in a manner, or of one that tries something instead."""
    if manner is not None and isinstance(runner, VaryingRunner):
        command = runner.varied(command, manner)
    if work is not None and isinstance(runner, ForkingRunner):
        command = runner.forking(command, work)
    return command


def _watched(
    runner: ObservingRunner, suite: Suite, command: RunnerCommand, watch: Watch
) -> RunnerCommand:
    """The command of a run that is observed."""
    command = runner.observing(
        command,
        watch.keys,
        projections=dict(suite.projections),
        limited=watch.limited,
        limit_sec=watch.limit_sec,
        collect=watch.collect,
        brief=watch.brief,
    )
    if watch.hash_seed is None:
        return command
    return replace(command, env={**command.env, "PYTHONHASHSEED": str(watch.hash_seed)})
