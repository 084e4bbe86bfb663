"""The sandbox as tools see it: bounded in time and output, and able to run the shown tests."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from codegym.types import Box, CommandResult, TestOutcome

RunTests = Callable[[Sequence[str], float], Awaitable[Sequence[TestOutcome]]]


class Bench(Box, Protocol):
    """A ``Box`` that also runs tests: what CodeGym's own tools are given."""

    shown_tests: tuple[str, ...]

    async def run_tests(self, ids: Sequence[str]) -> Sequence[TestOutcome]:
        """Run shown tests in this sandbox. Their outcomes are untrusted."""
        ...


class Workbench:
    """One action's view of a sandbox. Whatever a tool asks for, the action's bounds hold.

    Args:
        box: The sandbox.
        shown_tests: The ids a policy may know of.
        run_tests: Runs some of them, given ids and seconds.
        timeout_sec: Wall time of all the action's commands together.
        max_output_bytes: Bound on each command's output.
    """

    def __init__(
        self,
        box: Box,
        *,
        shown_tests: tuple[str, ...],
        run_tests: RunTests,
        timeout_sec: float,
        max_output_bytes: int,
    ) -> None:
        self._box, self._run_tests = box, run_tests
        self._deadline = time.monotonic() + timeout_sec
        self._max_output_bytes = max_output_bytes
        self.shown_tests = shown_tests

    def _left(self, wanted_sec: float) -> float:
        return max(0.05, min(wanted_sec, self._deadline - time.monotonic()))

    async def shell(
        self, command: str, *, timeout_sec: float = float("inf"), max_output_bytes: int = 1 << 62
    ) -> CommandResult:
        """Run a command in the persistent shell."""
        return await self._box.shell(
            command,
            timeout_sec=self._left(timeout_sec),
            max_output_bytes=min(max_output_bytes, self._max_output_bytes),
        )

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_sec: float = float("inf"),
        max_output_bytes: int = 1 << 62,
        report: bool = False,
    ) -> CommandResult:
        """Run one program apart from the shell's state."""
        return await self._box.exec(
            argv,
            stdin=stdin,
            env=env or {},
            timeout_sec=self._left(timeout_sec),
            max_output_bytes=min(max_output_bytes, self._max_output_bytes),
            report=report,
        )

    async def read(self, path: str, *, max_bytes: int = 4 * 1024 * 1024) -> bytes:
        """Read a regular file."""
        return await self._box.read(path, max_bytes=max_bytes)

    async def write(self, path: str, data: bytes, *, executable: bool = False) -> None:
        """Write a file, making its folders."""
        await self._box.write(path, data, executable=executable)

    async def run_tests(self, ids: Sequence[str]) -> Sequence[TestOutcome]:
        """Run shown tests in this sandbox. Their outcomes are untrusted."""
        return await self._run_tests(ids, self._left(float("inf")))
