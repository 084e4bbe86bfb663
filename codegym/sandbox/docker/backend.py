"""The Docker backend: where there is a daemon; a sandbox starts in milliseconds from a pool."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import posixpath
from dataclasses import replace
from pathlib import Path

from codegym.errors import CodeGymError, NotFoundError, SandboxError, UnavailableError, UsageError
from codegym.sandbox.base import Sandbox
from codegym.sandbox.client import owner
from codegym.sandbox.docker.box import DockerSandbox
from codegym.sandbox.docker.engine import Engine
from codegym.sandbox.docker.importing import ensure_image
from codegym.sandbox.docker.keeping import Room
from codegym.sandbox.docker.pool import Kind, Pool, Unit
from codegym.store import Holds, LayerStore
from codegym.types import Capabilities, Image, SandboxSpec

_MB = 1 << 20
_PAGE = 4096
_LARGE_BYTES = 1 << 16
_ENTRIES = 256  # a tree's number of entries counts in steps of so many


class Docker:
    """Starts sandboxes in containers; a ``Backend``.

    Args:
        store: Where layers are.
        runtime: Which of the engine's runtimes runs them; ``""`` for the engine's own choice.
    """

    name = "docker"

    def __init__(self, store: LayerStore | None = None, runtime: str = "") -> None:
        self._holds = Holds(store or LayerStore())
        self._runtime = runtime
        self._engine: Engine | None = None
        self._pool: Pool | None = None
        self._images: dict[str, asyncio.Future[str]] = {}
        self._sizes: dict[Path, tuple[int, int]] = {}
        self._boxes: set[DockerSandbox] = set()
        self._pid = os.getpid()

    @property
    def owner(self) -> tuple[int, int] | None:
        """As bubblewrap's, so that both share layers; here it makes no difference."""
        try:
            return owner()
        except UnavailableError:
            return None

    @property
    def engine(self) -> Engine:
        """The engine. Raises ``UnavailableError``."""
        if self._engine is None:
            self._engine = Engine()
            atexit.register(self.end)
        return self._engine

    @property
    def pool(self) -> Pool:
        """Its containers."""
        if self._pool is None:
            self._pool = Pool(self.engine)
            self._pool.sweep()
        return self._pool

    def capabilities(self) -> Capabilities:
        """What holds here. Raises ``UnavailableError``."""
        able = self.engine.abilities
        if self._runtime and self._runtime not in able.runtimes:
            raise UnavailableError(
                f"the Docker engine has no runtime {self._runtime!r}",
                f"It has {', '.join(sorted(able.runtimes))}; others are set in its daemon.json",
            )
        hard, notes = {"disk_mb", "files", "wall_time"}, []
        soft: set[str] = set()
        for name, there in (
            ("memory_mb", able.memory),
            ("processes", able.processes),
            ("cpus", able.cpus),
        ):
            (hard if there else soft).add(name)
        if soft:
            notes.append("The engine's kernel has no control groups for the soft ones.")
        return Capabilities(self.name, frozenset(hard), frozenset(soft), True, tuple(notes))

    async def start(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox."""
        box = await self._box(spec, lay=True)
        try:
            await box.open()
        except BaseException:
            await box.stop()
            raise
        return box

    async def forked(self, source: DockerSandbox, spec: SandboxSpec) -> Sandbox:
        """A sandbox with another's files."""
        box = await self._box(spec, lay=False)
        try:
            await source.copy_to(box)
        except BaseException:
            await box.stop()
            raise
        return box

    async def _box(self, spec: SandboxSpec, *, lay: bool) -> DockerSandbox:
        """A sandbox without processes, whose tree is being laid, or which has none."""
        self._hold(spec)
        try:
            unit = await self.pool.take(await self._kind(spec))
        except BaseException:
            self._holds.drop(_layers(spec))
            raise
        tree = ""
        try:
            tree = await unit.slot.keeper.tree(spec.workspace)
        except BaseException:
            self._release(spec, unit, tree)
            raise
        laying = asyncio.ensure_future(_lay(spec, unit, tree if lay else ""))
        laying.add_done_callback(lambda done: done.cancelled() or done.exception())
        box = DockerSandbox(self, spec, unit, tree, laying)
        self._boxes.add(box)
        return box

    def drop(self, box: DockerSandbox, unit: Unit, tree: str) -> None:
        """Told that a sandbox stopped."""
        self._boxes.discard(box)
        self._release(box.spec, unit, tree)

    def _release(self, spec: SandboxSpec, unit: Unit, tree: str) -> None:
        self._holds.drop(_layers(spec))
        if tree:
            unit.slot.keeper.let_go(tree)
        self.pool.give(unit)

    def _hold(self, spec: SandboxSpec) -> None:
        try:
            self._holds.take(_layers(spec))
        except NotFoundError as error:
            raise SandboxError(
                f"a layer was pruned before a sandbox could use it: {error}"
            ) from error

    async def settled(self) -> None:
        """Wait until all that is made ahead is there, and what was used is cleared away."""
        if self._pool is not None:
            await self._pool.settled()

    # -- what a sandbox needs ----------------------------------------------------------------------

    async def _kind(self, spec: SandboxSpec) -> Kind:
        image = await self.image(spec.image)
        folders = tuple(sorted({folder for folder, _ in _placed(spec.image, tuple(spec.files))}))
        size, entries = await self._size(spec.workspace)
        size += sum(map(len, spec.files.values()))
        limits = spec.limits
        room = Room(
            size_mb=limits.disk_mb + size // _MB,
            inodes=limits.files + entries // _ENTRIES * _ENTRIES,
        )
        return Kind(
            image=image,
            python=spec.image.python,
            room=room,
            limits=replace(limits, disk_mb=0, files=0),
            mount=spec.mount,
            folders=folders,
            runtime=self._runtime,
        )

    async def image(self, image: Image) -> str:
        """The engine's name of an image, imported where it has none. Raises ``SandboxError``."""
        future = self._images.get(image.digest)
        if future is None or (future.done() and (future.cancelled() or future.exception())):
            importing = asyncio.to_thread(ensure_image, self.engine, image)
            future = self._images[image.digest] = asyncio.ensure_future(importing)
        return await asyncio.shield(future)

    async def _size(self, tree: Path) -> tuple[int, int]:
        """Bytes and entries of a tree, which never changes."""
        if tree not in self._sizes:
            self._sizes[tree] = await asyncio.to_thread(_measure, tree)
        return self._sizes[tree]

    # -- the end -----------------------------------------------------------------------------------

    async def close(self) -> None:
        """Stop all sandboxes and remove everything. Idempotent."""
        if self._pool is not None and self._pid == os.getpid():
            await self._pool.close()
        await asyncio.to_thread(self.end)

    def end(self) -> None:
        """The same, from anywhere. A forked child leaves its parent's alone."""
        atexit.unregister(self.end)
        engine, self._engine = self._engine, None
        pool, self._pool = self._pool, None
        if engine is None or self._pid != os.getpid():
            return
        if pool is not None:
            pool.forget()
        with contextlib.suppress(CodeGymError):  # an engine that is gone has nothing of ours
            engine.sweep()
        engine.close()
        self._holds.close()


async def _lay(spec: SandboxSpec, unit: Unit, tree: str) -> None:
    """Lay the tree, where one is named, and the files: the keeper is sent large ones once."""
    files: dict[str, str] = {}
    blobs: dict[str, str] = {}
    places = _placed(spec.image, tuple(spec.files))
    for (folder, rest), data in zip(places, spec.files.values(), strict=True):
        path = f"f{unit.kind.folders.index(folder)}/{rest}"
        if len(data) > _LARGE_BYTES:
            blobs[path] = await unit.slot.keeper.blob(data)
        else:
            files[path] = data.hex()
    await unit.slot.ask("lay", tree=tree, files=files, blobs=blobs)


def _layers(spec: SandboxSpec) -> tuple[Path, ...]:
    return (*spec.image.layers, spec.workspace)


def _placed(image: Image, paths: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each path as the topmost folder that the image does not have, and what is below it.

    Raises:
        UsageError: The image has the folder that a file is to be in.
    """
    found = []
    for path in paths:
        names = posixpath.normpath(path).strip("/").split("/")
        for count in range(1, len(names)):
            folder = "/".join(names[:count])
            if not any(os.path.lexists(layer / folder) for layer in image.layers):
                found.append((f"/{folder}", "/".join(names[count:])))
                break
        else:
            raise UsageError(f"{path}: files are laid in folders that the image does not have")
    return found


def _measure(tree: Path) -> tuple[int, int]:
    size, entries = 0, 0
    try:
        for folder, folders, files in os.walk(tree, onerror=_raise):
            entries += len(folders) + len(files)
            size += sum(-(-os.lstat(f"{folder}/{name}").st_size // _PAGE) for name in files)
    except OSError as error:
        problem = f"a layer was pruned before a sandbox could use it: {error}"
        raise SandboxError(problem) from error
    return size * _PAGE, entries


def _raise(error: OSError) -> None:
    raise error
