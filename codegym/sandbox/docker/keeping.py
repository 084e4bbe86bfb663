"""A keeper, as the gym sees it: a container of ours that has the files of several sandboxes."""

from __future__ import annotations

import asyncio
import hashlib
import io
import itertools
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegym.errors import SandboxError
from codegym.sandbox.docker.engine import USER, Container, Engine
from codegym.sandbox.docker.inside import archive, frames
from codegym.sandbox.docker.inside.slots import PARTS
from codegym.sandbox.docker.link import Link

SLOTS = 8
_READY_SEC = 60.0
_TREES_MB = 4096
_KEPT_TREES = 32
_KEPT_BLOBS = 32
_ROOT = Path(__file__).parents[3]
_MODULES = (
    *("codegym/sandbox/launcher/syscalls.py", "codegym/sandbox/launcher/transfer.py"),
    *(
        f"codegym/sandbox/docker/inside/{name}.py"
        for name in ("frames", "archive", "slots", "relay", "loop", "serve")
    ),
)
# Reads its own program from its input: a size, then a zip.
_START = """
import os, sys
def take(size):
    data = b""
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece: sys.exit(1)
        data += piece
    return data
file = os.memfd_create("program")
os.write(file, take(int.from_bytes(take(4), "big")))
sys.path.insert(0, f"/proc/self/fd/{file}")
from codegym.sandbox.docker.inside.serve import main
main()
"""


@dataclass(frozen=True, slots=True)
class Room:
    """What one sandbox may write: bytes (MiB) and the number of files and folders."""

    size_mb: int
    inodes: int


@dataclass(eq=False, slots=True)
class Slot:
    """One sandbox's files at a keeper, and the volumes that its container has them by."""

    keeper: Keeper
    number: int
    volume: str
    mountpoint: str
    parts: dict[str, str] = field(default_factory=dict)

    async def ask(self, op: str, **request: Any) -> dict[str, Any]:
        """A request about it."""
        return await self.keeper.link.ask(op, slot=self.number, **request)

    def volume_of(self, part: str) -> str:
        """The volume that is one of its folders; blocks where it must be made."""
        if part not in self.parts:
            device = f"{self.mountpoint}/{part}"
            made, _ = self.keeper.engine.make_volume(type="none", o="bind", device=device)
            self.parts[part] = made
        return self.parts[part]


class Keeper:
    """Started by ``start``; ends with ``close``, or with the gym.

    Args:
        engine: Where it runs.
        room: What each of its slots has.
    """

    def __init__(self, engine: Engine, room: Room) -> None:
        self.engine, self.room = engine, room
        self.slots: list[Slot] = []
        self.listeners: dict[int, Callable[[dict[str, Any]], None]] = {}
        self.lost: dict[int, Callable[[str], None]] = {}
        self._container = ""
        self._link: Link | None = None
        self._ready = asyncio.get_running_loop().create_future()
        self._trees: OrderedDict[tuple[str, int], asyncio.Future[str]] = OrderedDict()
        self._blobs: OrderedDict[str, asyncio.Future[None]] = OrderedDict()
        self._names = itertools.count()
        self._users: dict[str, int] = {}

    @property
    def link(self) -> Link:
        """The stream to it. Raises ``SandboxError`` where it is gone."""
        if self._link is None or not self._link.alive:
            raise SandboxError("a sandbox's keeper is gone")
        return self._link

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._link is not None and self._link.alive

    async def start(self, image: str, python: str) -> None:
        """Start it, from an image that has Python. Raises ``SandboxError``."""
        stream = await asyncio.to_thread(self._make, image, python)
        self._link = await Link.over(stream, self._on_event, self._on_lost)
        await asyncio.to_thread(self.engine.start, self._container)
        program = _program()
        self._link.send_raw(len(program).to_bytes(4, "big") + program)
        try:
            async with asyncio.timeout(_READY_SEC):
                await self._ready
        except TimeoutError as error:
            raise SandboxError("a sandbox's keeper did not start") from error

    def _make(self, image: str, python: str) -> Any:
        options = f"size={self.room.size_mb}m,nr_inodes={self.room.inodes + _OWN_INODES}"
        options += f",mode=0700,uid={USER},gid={USER},nosuid,nodev"
        for number in range(SLOTS):
            made = self.engine.make_volume(type="tmpfs", device="tmpfs", o=options)
            self.slots.append(Slot(self, number, *made))
        trees = f"size={_TREES_MB}m,mode=0700,uid={USER},gid={USER}"
        self._container = self.engine.make(
            Container(
                image=image,
                command=[python, "-I", "-S", "-c", _START],
                volumes={slot.volume: (f"/s/{slot.number}", False) for slot in self.slots},
                stdin=True,
                tmpfs={"/trees": trees},
            )
        )
        return self.engine.attach(self._container)

    def _on_event(self, event: dict[str, Any]) -> None:
        if event["event"] == "ready":
            if not self._ready.done():
                self._ready.set_result(None)
        elif listener := self.listeners.get(event["slot"]):
            listener(event)

    def _on_lost(self, problem: str) -> None:
        if not self._ready.done():
            self._ready.set_exception(SandboxError(problem))
        for told in list(self.lost.values()):
            told(problem)

    # -- trees -------------------------------------------------------------------------------------

    async def tree(self, folder: Path) -> str:
        """Have it keep a tree, sent once; returns its name there. See ``let_go``."""
        key = str(folder), _number_of(folder)
        future = self._trees.get(key)
        if future is None or (future.done() and future.exception()):
            future = self._trees[key] = asyncio.ensure_future(self._send(folder))
        self._trees.move_to_end(key)
        name = await asyncio.shield(future)
        self._users[name] = self._users.get(name, 0) + 1
        await self._drop_old()
        return name

    def let_go(self, tree: str) -> None:
        """Undo one ``tree``."""
        self._users[tree] -= 1

    async def blob(self, data: bytes) -> str:
        """Have it keep a file's content, sent once; returns its name there."""
        name = f"b{hashlib.sha256(data).hexdigest()}"
        sending = self._blobs.get(name)
        if sending is None or (sending.done() and sending.exception()):
            sending = self._blobs[name] = asyncio.ensure_future(self._send_blob(name, data))
        self._blobs.move_to_end(name)
        await asyncio.shield(sending)
        while len(self._blobs) > _KEPT_BLOBS:
            oldest, _ = self._blobs.popitem(last=False)
            await self.link.ask("drop", tree=oldest)
        return name

    async def _send_blob(self, name: str, data: bytes) -> None:
        link = self.link
        channel = link.new_channels(1)
        receiving = link.ask("blob", blob=name, size=len(data), channel=channel)
        try:
            await link.send_all(channel, data)
        finally:
            await receiving

    async def _send(self, folder: Path) -> str:
        link, name = self.link, f"t{next(self._names)}"
        channel = link.new_channels(1)
        receiving = link.ask("tree", tree=name, channel=channel)
        pieces = archive.pack(str(folder))
        try:
            while batch := await asyncio.to_thread(_some, pieces):
                await link.send_all(channel, batch)
        except OSError as error:
            raise SandboxError(f"a layer cannot be read: {error}") from error
        finally:
            link.send(channel, frames.END)
            await receiving
        return name

    async def _drop_old(self) -> None:
        for key, future in list(self._trees.items())[:-_KEPT_TREES]:
            if future.done() and not future.exception() and not self._users[future.result()]:
                del self._trees[key]
                await self.link.ask("drop", tree=future.result())

    # -- the end -----------------------------------------------------------------------------------

    def close(self) -> None:
        """End it and remove what it had; blocks. Its sandboxes' containers are gone already."""
        if self._container:
            self.engine.drop(self._container)
        for slot in self.slots:
            self.engine.drop_volumes([*slot.parts.values(), slot.volume])

    def forget(self) -> None:
        """Close the stream: it ends."""
        if self._link:
            self._link.close()


def _number_of(folder: Path) -> int:
    try:
        return folder.stat().st_ino
    except OSError as error:
        problem = f"a layer was pruned before a sandbox could use it: {error}"
        raise SandboxError(problem) from error


_OWN_INODES = len(PARTS) + 1 + 1 + 1  # its folders, its root, and the meeting place
_BATCH = 1 << 20


def _some(pieces: Any) -> bytes:
    batch = bytearray()
    for piece in pieces:
        batch += piece
        if len(batch) >= _BATCH:
            break
    return bytes(batch)


def _program() -> bytes:
    """What a keeper runs, as a zip."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for module in _MODULES:
            file.write(_ROOT / module, module)
        for folder in {parent for module in _MODULES for parent in Path(module).parents}:
            if folder != Path():
                file.writestr(f"{folder}/__init__.py", "")
    return out.getvalue()
