"""A sandbox that is a container, its shell's pipes and its files held by a keeper."""

from __future__ import annotations

import asyncio
import contextlib
import io
from dataclasses import replace
from typing import TYPE_CHECKING

from codegym.errors import CodeGymError, SandboxError
from codegym.sandbox.base import Sandbox
from codegym.sandbox.docker.doors import Doors
from codegym.sandbox.docker.inside import frames
from codegym.sandbox.docker.link import Link
from codegym.sandbox.docker.pool import Unit
from codegym.sandbox.egress import EGRESS_PORT
from codegym.sandbox.seccomp import seccomp_filter
from codegym.sandbox.shell import Shell, ShellEndedError
from codegym.sandbox.shelled import ShellSandbox, shell_command
from codegym.sandbox.work import parse_report
from codegym.types import Manifest, SandboxSpec

if TYPE_CHECKING:
    from codegym.sandbox.docker.backend import Docker

_GRACE_SEC = 0.05  # for a shell to end by itself, which spares the engine a kill
_DEATH_SEC = 30.0


class ChannelShell(Shell):
    """A shell whose pipes a keeper holds."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link
        self.first = link.new_channels(5)
        output, status, report, self._commands, self._given = range(self.first, self.first + 5)
        link.take(output, lambda _, data: self._on_output(data))
        link.take(status, self._on_status_frame)
        link.take(report, lambda _, data: self._on_report(data))

    @property
    def idle(self) -> bool:
        """Whether no command is running."""
        return self._waiting is None and not self._ended

    def _on_status_frame(self, kind: int, data: bytes) -> None:
        if kind == frames.DATA:
            self._on_status(data)
        else:
            self._on_end()

    async def _send_command(self, data: bytes) -> None:
        await self._send(self._commands, data)

    async def _send_input(self, data: bytes) -> None:
        await self._send(self._given, data)

    async def _send(self, channel: int, data: bytes) -> None:
        try:
            await self._link.send_all(channel, data)
        except SandboxError as error:
            raise ShellEndedError from error

    def _drain(self) -> None:
        """What was printed before a status has come before it."""

    def end(self) -> None:
        """Told that no process is left."""
        self._on_end()

    def close(self) -> None:
        """Stop listening. Idempotent."""
        for channel in range(self.first, self.first + 5):
            self._link.take(channel, None)
        self._on_end()


class DockerSandbox(ShellSandbox):
    """One sandbox; made by the backend."""

    def __init__(
        self,
        backend: Docker,
        spec: SandboxSpec,
        unit: Unit,
        tree: str,
        laying: asyncio.Task[None],
    ) -> None:
        super().__init__(spec)
        self._backend, self._unit, self._tree = backend, unit, tree
        self._laying = laying  # its files; the shell may start meanwhile, with no command yet
        self._doors: Doors | None = None
        self._watching: asyncio.Task[None] | None = None

    async def _start(self) -> Shell:
        unit, spec = self._unit, self.spec
        link = unit.slot.keeper.link
        if not unit.fresh:
            await unit.reboot()
        unit.fresh = False
        shell = self._shell = ChannelShell(link)
        if spec.egress is not None:
            self._doors = Doors(link, spec.egress)
            unit.on_connection = self._doors.open  # type: ignore[method-assign]
        able = self._backend.engine.abilities
        command = shell_command(
            spec.limits, memory_is_hard=able.memory, count_processes=not able.processes
        )
        request = {
            "command": command,
            "env": {**spec.image.env, **spec.env},
            "cwd": spec.mount,
            "filter": seccomp_filter(able.machine).hex(),
            "port": EGRESS_PORT if spec.egress else 0,
        }
        await unit.slot.ask("start", channel=shell.first, shell=request)
        await asyncio.shield(self._laying)
        self._watching = asyncio.ensure_future(self._watch(shell))
        return shell

    async def _watch(self, shell: ChannelShell) -> None:
        """Learn how the processes ended, where it was not our doing."""
        unit = self._unit
        try:
            await asyncio.shield(unit.ended)
            shell.end()
            code, starved = await asyncio.to_thread(unit.engine.wait, unit.container)
        except CodeGymError as error:
            self.lost(str(error))
            shell.end()
            return
        self.exited(code & 0xFF, "memory" if starved and code == _KILLED else "")

    async def _kill(self) -> None:
        unit = self._unit
        self._stop_watching()
        if not unit.fresh and not unit.ended.done():
            shell = self._shell
            idle = isinstance(shell, ChannelShell) and shell.idle
            await self._end_processes(gently=idle)
        self.exited(_KILLED, "killed")

    async def _end_processes(self, *, gently: bool) -> None:
        """End them all. The keeper's word counts: it watches the container's first process."""
        unit = self._unit
        if gently:
            await unit.slot.ask("end")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GRACE_SEC):
                    await asyncio.shield(unit.ended)
                return
        await asyncio.to_thread(unit.engine.kill, unit.container)
        try:
            async with asyncio.timeout(_DEATH_SEC):
                await asyncio.shield(unit.ended)
        except TimeoutError as error:
            raise SandboxError("a sandbox's processes did not end") from error

    def _stop_watching(self) -> None:
        if self._watching:
            self._watching.cancel()
            self._watching = None

    def _close_shell(self) -> None:
        if self._doors:
            self._doors.close()
            self._doors = None
        super()._close_shell()

    async def collect(self) -> Manifest:
        """Kill every process, then read the workspace's changes from outside."""
        self._require_running()
        await self._kill()
        self._close_shell()
        link = self._unit.slot.keeper.link
        channel, report = link.new_channels(1), io.BytesIO()

        def take(_: int, data: bytes) -> None:
            report.write(data)

        link.take(channel, take)
        try:
            await self._unit.slot.ask("collect", tree=self._tree, channel=channel)
        finally:
            link.take(channel, None)
        report.seek(0)
        return parse_report(report)

    async def fork(self) -> Sandbox:
        """A second sandbox with the same files, directory and exported variables.

        Its processes start with its first command.
        """
        self._require_running()
        spec = replace(self.spec, state=self._state)
        return await self._backend.forked(self, spec)

    async def copy_to(self, other: DockerSandbox) -> None:
        """Copy the files into another sandbox's empty slot; this one is paused meanwhile."""
        unit = self._unit
        await other._laying
        if unit.fresh or unit.ended.done():
            await _pipe(unit, other._unit)
            return
        await asyncio.to_thread(unit.engine.pause, unit.container)
        try:
            await _pipe(unit, other._unit)
        finally:
            await asyncio.to_thread(unit.engine.unpause, unit.container)

    def _require_running(self) -> None:
        if self._stopped:
            raise SandboxError("this sandbox was stopped")

    async def stop(self) -> None:
        """End it. Idempotent."""
        if self._stopped:
            return
        self._stopped = True
        try:
            await self._kill()
        finally:
            await asyncio.wait([self._laying])
            self._close_shell()
            self._backend.drop(self, self._unit, self._tree)


async def _pipe(source: Unit, target: Unit) -> None:
    """Bring all files from one slot into another, which may be another keeper's."""
    here, there = source.slot.keeper.link, target.slot.keeper.link
    read, write = here.new_channels(1), there.new_channels(1)
    here.take(read, lambda kind, data: there.send(write, kind, data))
    writing = there.ask("unpack", slot=target.slot.number, channel=write)
    try:
        await source.slot.ask("pack", channel=read)
    except BaseException:
        there.send(write, frames.END)  # what is cut short is refused there
        raise
    finally:
        here.take(read, None)
        await asyncio.gather(writing, return_exceptions=True)
    writing.result()


_KILLED = 137
