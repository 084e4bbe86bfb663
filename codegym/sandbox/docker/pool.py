"""Containers that are ready before they are asked for, and what becomes of those that were used.

A container is used once. Its files' volume is used again, after the keeper has wiped it and the
kernel counts not a file and not a block in it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from codegym.errors import CodeGymError, SandboxError
from codegym.sandbox.docker.engine import Container, Engine
from codegym.sandbox.docker.inside.slots import BOOT, PARTS
from codegym.sandbox.docker.keeping import Keeper, Room, Slot
from codegym.types import WORKSPACE, Limits

_T = TypeVar("_T")

_HOME = "/home/agent"
_BOOT_SEC = 60.0
_STARTING_AT_ONCE = 4
_MAX_AHEAD = 8  # idle containers of one kind
_MAX_IDLE = 16  # of all kinds
_PAUSE_SEC = 0.05  # before work in the background: a start that is under way goes first
_SPARE_KEEPERS = 2  # with no slot in use
_BOOT_PROGRAM = (Path(__file__).parent / "inside" / "boot.py").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Kind:
    """What containers that can stand for each other have in common.

    Attributes:
        image: The engine's name of the image.
        python: Its interpreter.
        room: What may be written.
        limits: Memory, processes and CPU.
        mount: Where the workspace is.
        folders: Where files are laid, read-only.
        runtime: The engine's runtime, or ``""``.
    """

    image: str
    python: str
    room: Room
    limits: Limits
    mount: str
    folders: tuple[str, ...]
    runtime: str


class Unit:
    """One container and its slot."""

    def __init__(self, engine: Engine, kind: Kind, slot: Slot) -> None:
        self.engine, self.kind, self.slot = engine, kind, slot
        self.container = ""
        self.fresh = False  # its first program waits to be told what to become
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._booted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turn = 0

    async def make(self) -> None:
        """Wipe the slot and start a container over it."""
        extra = [f"f{number}" for number in range(len(self.kind.folders))]
        answer = await self.slot.ask("prepare", extra=extra)
        if not answer["clean"]:
            raise SandboxError("a sandbox's files could not all be removed")
        self.container = await asyncio.to_thread(self._make)
        await self.boot()

    def _make(self) -> str:
        kind = self.kind
        places = dict(zip(PARTS, (kind.mount, "/tmp", _HOME), strict=True))
        volumes = {self.slot.volume_of(part): (path, False) for part, path in places.items()}
        volumes[self.slot.volume_of(BOOT)] = ("/run/boot", True)
        for number, folder in enumerate(kind.folders):
            volumes[self.slot.volume_of(f"f{number}")] = (folder, True)
        return self.engine.make(
            Container(
                image=kind.image,
                command=[kind.python, "-I", "-S", "-c", _BOOT_PROGRAM],
                volumes=volumes,
                memory_mb=kind.limits.memory_mb,
                processes=kind.limits.processes,
                cpus=kind.limits.cpus,
                runtime=kind.runtime,
            )
        )

    async def boot(self) -> None:
        """Start the container, which does not run; returns when its first program is there."""
        loop = asyncio.get_running_loop()
        self._booted, self.ended = loop.create_future(), loop.create_future()
        self.slot.keeper.listeners[self.slot.number] = self._on_event
        self.slot.keeper.lost[self.slot.number] = self._on_lost
        self._turn = (await self.slot.ask("boot"))["turn"]
        await asyncio.to_thread(self.engine.start, self.container)
        try:
            async with asyncio.timeout(_BOOT_SEC):
                await self._booted
        except TimeoutError as error:
            said = await asyncio.to_thread(self.engine.last_words, self.container)
            raise SandboxError(f"a sandbox's container did not start: {said}") from error
        self.fresh = True

    async def reboot(self) -> None:
        """Start it once more, over the same files, after all its processes ended."""
        await asyncio.to_thread(self.engine.wait, self.container)
        await self.boot()

    def _on_event(self, event: dict[str, Any]) -> None:
        if event["event"] == "connected":
            self.on_connection(event["channel"])
            return
        waiting = self._booted if event["event"] == "booted" else self.ended
        if event["turn"] == self._turn and not waiting.done():
            waiting.set_result(None)

    def on_connection(self, channel: int) -> None:
        """Told of a connection out; set by whoever uses it."""

    def _on_lost(self, problem: str) -> None:
        for waiting in (self._booted, self.ended):
            if not waiting.done():
                waiting.set_exception(SandboxError(problem))
                waiting.exception()  # whoever waits for nothing need not be told

    def leave(self) -> None:
        """Stop listening."""
        self.slot.keeper.listeners.pop(self.slot.number, None)
        self.slot.keeper.lost.pop(self.slot.number, None)


class Pool:
    """Makes units, some ahead, and clears away what was used."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._idle: OrderedDict[Kind, list[Unit]] = OrderedDict()
        self._making: Counter[Kind] = Counter()
        self._used: Counter[Kind] = Counter()
        self._free: dict[Room, list[Slot]] = {}
        self._opening: dict[Room, asyncio.Lock] = {}
        self._keepers: list[Keeper] = []
        self._turns = asyncio.Semaphore(_STARTING_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def take(self, kind: Kind) -> Unit:
        """A container that is ready; at once where one was made ahead. Raises ``SandboxError``."""
        self._used[kind] += 1
        try:
            unit = self._pop(kind) or await self._make(kind)
        except BaseException:
            self._used[kind] -= 1
            raise
        if kind.mount == WORKSPACE and not self._closed:  # images are built once
            self._refill(kind)
        return unit

    def give(self, unit: Unit) -> None:
        """Take back a unit whose processes are gone; clears it away in the background."""
        self._used[unit.kind] -= 1
        self._soon(self._clear, unit)

    async def settled(self) -> None:
        """Wait until nothing is being made or cleared away."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    def sweep(self) -> None:
        """Remove what processes that were killed have left; in the background."""

        async def work(engine: Engine) -> None:
            await asyncio.to_thread(lambda: engine.sweep(engine.left_behind()))

        self._soon(work, self._engine)

    def _pop(self, kind: Kind) -> Unit | None:
        waiting = self._idle.get(kind)
        while waiting:
            unit = waiting.pop(0)
            if unit.slot.keeper.alive and not unit.ended.done():
                return unit
            self._soon(self._clear, unit)
        return None

    def _refill(self, kind: Kind) -> None:
        """Make so many that as many again as are in use can start at once, within bounds."""
        self._idle.setdefault(kind, [])
        self._idle.move_to_end(kind)
        wanted = min(_MAX_AHEAD, max(2, self._used[kind]))
        for _ in range(wanted - len(self._idle[kind]) - self._making[kind]):
            self._making[kind] += 1
            self._soon(self._make_ahead, kind)

    async def _make_ahead(self, kind: Kind) -> None:
        try:
            unit = await self._make(kind)
        finally:
            self._making[kind] -= 1
        self._idle.setdefault(kind, []).append(unit)
        while sum(map(len, self._idle.values())) > _MAX_IDLE:
            oldest = next(each for each in self._idle if self._idle[each])
            await self._clear(self._idle[oldest].pop(0))

    async def _make(self, kind: Kind) -> Unit:
        async with self._turns:
            unit = Unit(self._engine, kind, await self._slot(kind))
            try:
                await unit.make()
            except BaseException:
                self._soon(self._clear, unit)
                raise
        return unit

    async def _slot(self, kind: Kind) -> Slot:
        async with self._opening.setdefault(kind.room, asyncio.Lock()):
            free = self._free.setdefault(kind.room, [])
            free[:] = [slot for slot in free if slot.keeper.alive]
            if not free:
                free += await self._open_keeper(kind)
            return free.pop()

    async def _open_keeper(self, kind: Kind) -> list[Slot]:
        keeper = Keeper(self._engine, kind.room)
        try:
            await keeper.start(kind.image, kind.python)
        except BaseException:
            self._soon(self._close_keeper, keeper)
            raise
        self._keepers.append(keeper)
        return list(keeper.slots)

    async def _close_keeper(self, keeper: Keeper) -> None:
        keeper.forget()
        await asyncio.to_thread(keeper.close)

    async def _clear(self, unit: Unit) -> None:
        """Remove a container, wipe its slot, and have the slot back; one that fails is lost."""
        unit.leave()
        if unit.container:
            await asyncio.to_thread(self._engine.drop, unit.container)
        if unit.slot.keeper.alive and (await unit.slot.ask("prepare", extra=[]))["clean"]:
            self._free.setdefault(unit.kind.room, []).append(unit.slot)
        self._thin_out()

    def _thin_out(self) -> None:
        """Close keepers that are gone, and those that have nothing to do but a few."""
        unused = Counter(slot.keeper for free in self._free.values() for slot in free)
        idle = [each for each in self._keepers if unused[each] == len(each.slots)]
        for keeper in [each for each in self._keepers if not each.alive] + idle[:-_SPARE_KEEPERS]:
            self._keepers.remove(keeper)
            free = self._free[keeper.room]
            free[:] = [slot for slot in free if slot.keeper is not keeper]
            self._soon(self._close_keeper, keeper)

    def _soon(self, work: Callable[[_T], Awaitable[None]], what: _T) -> None:
        async def run() -> None:
            await asyncio.sleep(_PAUSE_SEC)
            with contextlib.suppress(CodeGymError):  # who needs one next is told then
                await work(what)

        task = asyncio.ensure_future(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Make no more, and let everything end. What there is is removed by its labels."""
        self._closed = True
        await self.settled()
        self.forget()

    def forget(self) -> None:
        """Close the streams to the keepers: they end, and with them all shells that they hold."""
        for keeper in self._keepers:
            keeper.forget()
