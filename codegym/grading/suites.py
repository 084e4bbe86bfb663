"""Runs a suite's tests in a sandbox, and reads what they report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codegym.grading.ready import project_root
from codegym.sandbox.base import REPORT_FD, Sandbox
from codegym.tasks import Environment, Suite
from codegym.types import CommandResult, RecordingRunner, Runner, TestOutcome

MAX_OUTPUT_BYTES = 64_000


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """One run of a suite. All of it is untrusted.

    Attributes:
        records: What was reported, in order, doubles kept.
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
    result = await box.exec(
        command.argv,
        stdin=command.stdin,
        env=command.env,
        timeout_sec=suite.timeout_sec if timeout_sec is None else timeout_sec,
        max_output_bytes=MAX_OUTPUT_BYTES,
        report=True,
    )
    return SuiteRun(tuple(runner.parse(result.report)), result)
