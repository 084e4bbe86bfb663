"""The bubblewrap backend: no daemon, no root; a sandbox starts in milliseconds."""

from __future__ import annotations

import atexit
import os
import socket
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from codegym.errors import NotFoundError, SandboxError, UsageError
from codegym.sandbox.base import Sandbox
from codegym.sandbox.client import Launcher, owner
from codegym.sandbox.egress import EGRESS_PORT, Gate
from codegym.sandbox.pipes import PipeShell
from codegym.sandbox.shell import Shell
from codegym.sandbox.shelled import ShellSandbox, shell_command
from codegym.sandbox.work import parse_work
from codegym.store import Holds, LayerStore
from codegym.types import Capabilities, Manifest, SandboxSpec


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

    def _lost(self, problem: str) -> None:
        for box in self._boxes.values():
            box.lost(problem)

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


class BubblewrapSandbox(ShellSandbox):
    """One bubblewrap sandbox."""

    def __init__(self, backend: Bubblewrap, spec: SandboxSpec, name: str) -> None:
        super().__init__(spec)
        self.name = name
        self._backend = backend
        self._launcher = backend.launcher()
        self._gate: Gate | None = None

    @property
    def layers(self) -> tuple[Path, ...]:
        """The folders that it is mounted from."""
        return (*self.spec.image.layers, self.spec.workspace)

    async def _start(self) -> Shell:
        shell = self._shell = PipeShell()
        files = [_memory(data) for data in self.spec.files.values()]
        try:
            sent = [*shell.descriptors, *files]
            answer = await self._launcher.ask("start", sent, **self._request())
            self._open_gate(answer["fds"])
        finally:
            shell.close_inside()
            for descriptor in files:
                os.close(descriptor)
        return shell

    def _open_gate(self, fds: Sequence[int]) -> None:
        """Let out what connects to the listener that the launcher made inside, if there is one."""
        if self.spec.egress is not None:
            (descriptor,) = fds
            self._gate = Gate(socket.socket(fileno=descriptor), self.spec.egress)

    def _request(self) -> dict[str, object]:
        spec = self.spec
        hard = "memory" in self._launcher.hard
        command = shell_command(spec.limits, memory_is_hard=hard, count_processes=True)
        return {
            "box": self.name,
            "layers": [self._backend.inside(layer) for layer in spec.image.layers],
            "lower": self._backend.inside(spec.workspace),
            "mount": spec.mount,
            "env": {**spec.image.env, **spec.env},
            "files": list(spec.files),
            "command": command,
            "limits": asdict(spec.limits),
            "egress": EGRESS_PORT if spec.egress else 0,
        }

    async def _kill(self) -> None:
        await self._launcher.ask("kill", box=self.name)
        self.exited(128 + 9, "killed")

    def _close_shell(self) -> None:
        if self._gate:
            self._gate.close()
            self._gate = None
        super()._close_shell()

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
