"""A sandbox whose commands go through one persistent shell: what such backends share."""

from __future__ import annotations

import asyncio
import shlex
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from codegym.errors import SandboxError
from codegym.sandbox.base import (
    DEFAULT_OUTPUT_BYTES,
    DEFAULT_TIMEOUT_SEC,
    REPORT_FD,
    Sandbox,
)
from codegym.sandbox.shell import INPUT_FD, LOOP, Shell, ShellEndedError, Status
from codegym.types import CommandResult, Limits, SandboxSpec, ShellState

_READY_SEC = 30.0
_EXIT_SEC = 5.0
_MAX_REPORT_BYTES = 64 << 20
_TIMED_OUT = 124
_OPEN_FILES = 4096


def shell_command(limits: Limits, *, memory_is_hard: bool, count_processes: bool) -> list[str]:
    """The first program inside.

    Args:
        limits: The sandbox's.
        memory_is_hard: Something else limits all its memory; else each process is limited here.
        count_processes: Whether its user's processes are counted here. They must not be where
            other sandboxes have the same user in the same user namespace.
    """
    loop = LOOP.format(
        processes=limits.processes if count_processes else "hard",
        file_kb=limits.disk_mb << 10,
        data_kb="unlimited" if memory_is_hard else limits.memory_mb << 10,
        open_files=_OPEN_FILES,
    )
    return ["/bin/bash", "--noprofile", "--norc", "-c", loop]


class ShellSandbox(Sandbox):
    """Runs commands in a shell that is the sandbox's first process, as bubblewrap and Docker do."""

    def __init__(self, spec: SandboxSpec) -> None:
        self.spec = spec
        self._state = spec.state
        self._shell: Shell | None = None
        self._end: asyncio.Future[tuple[int, str]] | None = None
        self._stopped = False

    @abstractmethod
    async def _start(self) -> Shell:
        """Start the processes inside, over the files that are there."""

    @abstractmethod
    async def _kill(self) -> None:
        """End all processes; returns when none is left, and ``exited`` has been told."""

    def exited(self, status: int, reason: str) -> None:
        """Told that no process is left inside: status, and why where it was killed."""
        if self._end and not self._end.done():
            self._end.set_result((status, reason))

    def lost(self, problem: str) -> None:
        """Told that what runs this sandbox broke, and it is gone."""
        if self._end and not self._end.done():
            self._end.set_exception(SandboxError(problem))
            self._end.exception()  # whoever has no command running learns it from the next

    def _close_shell(self) -> None:
        if self._shell:
            self._shell.close()
            self._shell = None

    @property
    def state(self) -> ShellState:
        """Directory and exported variables after the last command."""
        return self._state

    async def open(self) -> None:
        """Start the processes inside; returns when the shell answers."""
        self._end = asyncio.get_running_loop().create_future()
        shell = self._shell = await self._start()
        try:
            async with asyncio.timeout(_READY_SEC):  # `wait_for` can lose a cancellation (3.11)
                await self._restore(shell)
        except (ShellEndedError, TimeoutError) as error:
            said = shell.output()[0].decode(errors="replace").strip()
            raise SandboxError(f"a sandbox did not start: {said or error!r}") from error

    async def _restore(self, shell: Shell) -> None:
        state = self._state
        command = f"{state.exports}\n" if state.exports else ":"
        if state.cwd:
            command += f"cd -- {shlex.quote(state.cwd)} || cd {self.spec.mount}"
        await shell.run("S", command, max_output_bytes=4096, report_bytes=0)
        shell.output()

    async def shell(
        self,
        command: str,
        *,
        timeout_sec: float = DEFAULT_TIMEOUT_SEC,
        max_output_bytes: int = DEFAULT_OUTPUT_BYTES,
    ) -> CommandResult:
        """Run a command in the persistent shell."""
        return await self._run("S", command, b"", timeout_sec, max_output_bytes, report=False)

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_sec: float = DEFAULT_TIMEOUT_SEC,
        max_output_bytes: int = DEFAULT_OUTPUT_BYTES,
        report: bool = False,
    ) -> CommandResult:
        """Run one program apart from the shell's state."""
        variables = {**self.spec.image.env, **self.spec.env, **(env or {})}
        words = ["/usr/bin/env", "-i", *(f"{k}={v}" for k, v in variables.items()), *argv]
        close = f"{INPUT_FD}<&-" + ("" if report else f" {REPORT_FD}>&-")
        body = f"cd {shlex.quote(self.spec.mount)} && exec {shlex.join(words)}"
        if stdin:  # all of it is always taken out of the pipe, whatever the program reads
            command = (
                f"/usr/bin/head -c {len(stdin)} <&{INPUT_FD} {REPORT_FD}>&- | "
                f"( ( {body} ) {close}; __code=$?; /bin/cat >/dev/null; exit $__code )"
            )
        else:
            command = f"( {body} ) {close} </dev/null"
        return await self._run("E", command, stdin, timeout_sec, max_output_bytes, report=report)

    async def _run(
        self,
        mode: str,
        command: str,
        stdin: bytes,
        timeout_sec: float,
        max_output_bytes: int,
        *,
        report: bool,
    ) -> CommandResult:
        shell = await self._running()
        began = time.perf_counter()
        code, restarted = 0, ""
        try:
            async with asyncio.timeout(timeout_sec):
                status: Status = await shell.run(
                    mode,
                    command,
                    stdin=stdin,
                    max_output_bytes=max_output_bytes,
                    report_bytes=_MAX_REPORT_BYTES if report else 0,
                )
            code = status.exit_code
            if mode == "S":
                self._state = status.state
        except TimeoutError:
            await self._kill()
            code, restarted = _TIMED_OUT, "timeout"
        except ShellEndedError:
            code, restarted = await self._how_it_ended()
        output, omitted = shell.output()
        reported = shell.report() if report else b""
        if restarted:
            self._close_shell()
        seconds = time.perf_counter() - began
        timed_out = restarted == "timeout"
        return CommandResult(code, output, omitted, seconds, timed_out, restarted, reported)

    async def _running(self) -> Shell:
        if self._stopped:
            raise SandboxError("this sandbox was stopped")
        if self._shell is None or (self._end and self._end.done()):
            self._close_shell()
            await self.open()
        if self._shell is None:
            raise SandboxError("the sandbox's shell is gone")
        return self._shell

    async def _how_it_ended(self) -> tuple[int, str]:
        """The shell closed its descriptors: it exited, or it tries to run on without them."""
        if self._end is None:
            return 1, "exit"
        try:
            async with asyncio.timeout(_EXIT_SEC):
                code, reason = await asyncio.shield(self._end)
        except TimeoutError:
            await self._kill()
            return 1, "exit"
        if reason == "machine":
            raise SandboxError("a sandbox was killed from outside it")
        return code, reason or "exit"
