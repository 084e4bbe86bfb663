"""The bubblewrap backend: no daemon, no root; a sandbox starts in milliseconds."""

from __future__ import annotations

import asyncio
import atexit
import os
import shlex
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from codegym.errors import NotFoundError, SandboxError, UsageError
from codegym.sandbox.base import (
    DEFAULT_OUTPUT_BYTES,
    DEFAULT_TIMEOUT_SEC,
    REPORT_FD,
    Sandbox,
)
from codegym.sandbox.client import Launcher, owner
from codegym.sandbox.egress import EGRESS_PORT, Gate
from codegym.sandbox.shell import INPUT_FD, LOOP, Shell, ShellEndedError, Status
from codegym.sandbox.work import parse_work
from codegym.store import Holds, LayerStore
from codegym.types import Capabilities, CommandResult, Manifest, SandboxSpec, ShellState

_READY_SEC = 30.0
_EXIT_SEC = 5.0
_MAX_REPORT_BYTES = 64 << 20
_TIMED_OUT = 124
_OPEN_FILES = 4096


class Bubblewrap:
    """Starts bubblewrap sandboxes; a ``Backend``."""

    name = "bubblewrap"

    def __init__(self, store: LayerStore | None = None) -> None:
        store = store or LayerStore()
        self._layers = store.root
        self._holds = Holds(store)
        self._launcher: Launcher | None = None
        self._boxes: dict[str, BubblewrapSandbox] = {}
        self._pid = os.getpid()

    @property
    def owner(self) -> tuple[int, int] | None:
        """Under root, the dedicated unprivileged ids; else None."""
        return owner()

    def capabilities(self) -> Capabilities:
        """What holds here. Raises ``UnavailableError``; call it within the event loop."""
        controllers = self.launcher().hard
        hard = {"disk_mb", "files", "processes", "wall_time"}
        soft: set[str] = set()
        (hard if "memory" in controllers else soft).add("memory_mb")
        notes = []
        if "cpu" in controllers:
            hard.add("cpus")
        else:
            notes.append("No CPU limit: this user has no control group of its own.")
        if soft:
            notes.append(
                "Memory is polled five times a second; a control group would make it hard."
            )
        return Capabilities(self.name, frozenset(hard), frozenset(soft), True, tuple(notes))

    async def start(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox."""
        self.launcher()  # first: one that died takes all it knew with it
        box = BubblewrapSandbox(self, spec, os.urandom(6).hex())
        self.add(box)
        try:
            await box.open()
        except BaseException:
            await box.stop()
            raise
        return box

    async def close(self) -> None:
        """Stop everything."""
        self.end()

    def end(self) -> None:
        """The same, from anywhere. A forked child leaves its parent's alone."""
        atexit.unregister(self.end)
        if self._pid != os.getpid():
            return
        for box in list(self._boxes.values()):
            box.forget()
        self._boxes.clear()
        self._holds.close()
        if self._launcher:
            self._launcher.close()
            self._launcher = None

    def launcher(self) -> Launcher:
        """The launcher, started where there is none or the last one died."""
        if self._launcher is not None and not self._launcher.alive:
            self.end()
        if self._launcher is None:
            self._launcher = Launcher(self._layers, self._exited, self._lost)
            atexit.register(self.end)
        return self._launcher

    def _exited(self, name: str, status: int, reason: str) -> None:
        if box := self._boxes.get(name):
            box.exited(status, reason)

    def _lost(self) -> None:
        for box in self._boxes.values():
            box.lost()

    def inside(self, layer: Path) -> str:
        """A layer's name in the store. Raises ``UsageError`` where it lies elsewhere."""
        try:
            return str(layer.relative_to(self._layers))
        except ValueError:
            raise UsageError(
                f"{layer} is not a layer of this backend's store, {self._layers}"
            ) from None

    def drop(self, box: BubblewrapSandbox) -> None:
        """Forget a stopped sandbox, and let its layers be pruned."""
        if self._boxes.pop(box.name, None):
            self._holds.drop(box.layers)

    def add(self, box: BubblewrapSandbox) -> None:
        """Know a sandbox, and keep its layers. Raises ``SandboxError`` where one was pruned."""
        try:
            self._holds.take(box.layers)
        except NotFoundError as error:
            raise SandboxError(
                f"a layer was pruned before a sandbox could use it: {error}"
            ) from error
        self._boxes[box.name] = box


class BubblewrapSandbox(Sandbox):
    """One bubblewrap sandbox."""

    def __init__(self, backend: Bubblewrap, spec: SandboxSpec, name: str) -> None:
        self.spec, self.name = spec, name
        self._backend = backend
        self._state = spec.state
        self._launcher = backend.launcher()
        self._shell: Shell | None = None
        self._gate: Gate | None = None
        self._end: asyncio.Future[tuple[int, str]] | None = None
        self._stopped = False

    @property
    def state(self) -> ShellState:
        """Directory and exported variables after the last command."""
        return self._state

    @property
    def layers(self) -> tuple[Path, ...]:
        """The folders that it is mounted from."""
        return (*self.spec.image.layers, self.spec.workspace)

    async def open(self) -> None:
        """Start the processes inside; returns when the shell answers."""
        shell = self._shell = Shell()
        self._end = asyncio.get_running_loop().create_future()
        files = [_memory(data) for data in self.spec.files.values()]
        try:
            sent = [*shell.descriptors, *files]
            answer = await self._launcher.ask("start", sent, **self._request())
            self._open_gate(answer["fds"])
        finally:
            shell.close_inside()
            for descriptor in files:
                os.close(descriptor)
        try:
            async with asyncio.timeout(_READY_SEC):  # `wait_for` can lose a cancellation (3.11)
                await self._restore(shell)
        except (ShellEndedError, TimeoutError) as error:
            said = shell.output()[0].decode(errors="replace").strip()
            raise SandboxError(f"a sandbox did not start: {said or error!r}") from error

    def _open_gate(self, fds: Sequence[int]) -> None:
        """Let out what connects to the listener that the launcher made inside, if there is one."""
        if self.spec.egress is not None:
            (descriptor,) = fds
            self._gate = Gate(socket.socket(fileno=descriptor), self.spec.egress)

    async def _restore(self, shell: Shell) -> None:
        state = self._state
        command = f"{state.exports}\n" if state.exports else ":"
        if state.cwd:
            command += f"cd -- {shlex.quote(state.cwd)} || cd {self.spec.mount}"
        await shell.run("S", command, max_output_bytes=4096, report_bytes=0)
        shell.output()

    def _request(self) -> dict[str, object]:
        spec = self.spec
        limits = spec.limits
        hard = "memory" in self._launcher.hard
        loop = LOOP.format(
            processes=limits.processes,
            file_kb=limits.disk_mb << 10,
            data_kb="unlimited" if hard else limits.memory_mb << 10,  # each process, at least
            open_files=_OPEN_FILES,
        )
        return {
            "box": self.name,
            "layers": [self._backend.inside(layer) for layer in spec.image.layers],
            "lower": self._backend.inside(spec.workspace),
            "mount": spec.mount,
            "env": {**spec.image.env, **spec.env},
            "files": list(spec.files),
            "command": ["/bin/bash", "--noprofile", "--norc", "-c", loop],
            "limits": asdict(limits),
            "egress": EGRESS_PORT if spec.egress else 0,
        }

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

    def exited(self, status: int, reason: str) -> None:
        """Told by the launcher that no process is left inside."""
        if self._end and not self._end.done():
            self._end.set_result((status, reason))

    def lost(self) -> None:
        """Told that the launcher ended, and this sandbox with it."""
        if self._end and not self._end.done():
            self._end.set_exception(SandboxError("the sandbox launcher ended"))
            self._end.exception()  # whoever has no command running learns it from the next

    async def _kill(self) -> None:
        await self._launcher.ask("kill", box=self.name)
        self.exited(128 + 9, "killed")

    def _close_shell(self) -> None:
        if self._gate:
            self._gate.close()
            self._gate = None
        if self._shell:
            self._shell.close()
            self._shell = None

    async def collect(self) -> Manifest:
        """Kill every process, then read the workspace's changes from outside."""
        await self._kill()
        self._close_shell()
        descriptor = os.memfd_create("work", os.MFD_CLOEXEC)
        try:
            await self._launcher.ask("collect", [descriptor], box=self.name)
            os.lseek(descriptor, 0, os.SEEK_SET)
        except BaseException:
            os.close(descriptor)
            raise
        return parse_work(descriptor)

    async def fork(self) -> Sandbox:
        """A second sandbox with the same files, directory and exported variables.

        Its processes start with its first command: a copy that is only collected needs none.
        """
        await self._running()
        name = os.urandom(6).hex()
        await self._launcher.ask("copy", box=self.name, target=name)
        box = BubblewrapSandbox(self._backend, replace(self.spec, state=self._state), name)
        self._backend.add(box)
        return box

    async def stop(self) -> None:
        """End it. Idempotent."""
        if self._stopped:
            return
        self._stopped = True
        try:
            await self._launcher.ask("free", box=self.name)
        finally:
            self.forget()
            self._backend.drop(self)

    def forget(self) -> None:
        """Close this side's descriptors; the launcher ends the rest."""
        self._stopped = True
        self._close_shell()


def _memory(data: bytes) -> int:
    descriptor = os.memfd_create("file", os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
