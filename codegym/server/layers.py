"""A server's copies of its clients' layers: each is what its digest says, and is watched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from codegym.errors import UnavailableError
from codegym.sandbox.remote.folders import digest_of, entries_of
from codegym.sandbox.remote.messages import Put
from codegym.server.receiving import Receiver, check
from codegym.store import LayerStore
from codegym.workspace.seal import LayerSeals


class Layers:
    """Copies in a store, shared by all clients. An image's and a workspace's differ in their owner.

    Args:
        store: Where they are kept.
        owner: (uid, gid) that workspaces must belong to (the backend's ``owner``).
    """

    def __init__(self, store: LayerStore, owner: tuple[int, int] | None) -> None:
        self._store, self._owner = store, owner
        self._seals = LayerSeals()
        self._read: set[tuple[str, int]] = set()
        self._locks: dict[str, asyncio.Lock] = {}

    async def find(self, digest: str, *, workspace: bool) -> Path | None:
        """A layer's folder, or None where it is not there.

        One that an earlier server left is read once. ``watch`` notices what changes afterwards.

        Raises:
            UnavailableError: It was changed on the disk.
        """
        path = self._store.find(_key(digest, workspace))
        if path is None:
            return None
        mark = path.name, path.stat().st_ino
        if mark not in self._read:
            self._seals.check([path])  # first, so that no change falls between
            if digest_of(await asyncio.to_thread(entries_of, path)) != digest:
                raise UnavailableError(
                    f"{path} is not what it was when it came", f"Remove it: `rm -r {path}`"
                )
            self._read.add(mark)
        return path

    def watch(self, layers: list[Path]) -> None:
        """Look at layers once more. Raises ``UnavailableError`` where one was changed."""
        self._seals.check(layers)

    async def receive(self, put: Put, piece: Callable[[], Awaitable[bytes]]) -> None:
        """Take a layer, if it is not there: it is there whole or not at all.

        Args:
            put: Its list.
            piece: Awaited for each next piece of the files' bytes; never called where it is there.

        Raises:
            RefusedError: It is not what it says. ``UnavailableError``: the disk is full.
        """
        await asyncio.to_thread(check, put)
        loop = asyncio.get_running_loop()

        def take() -> bytes:
            return asyncio.run_coroutine_threadsafe(_awaited(piece), loop).result()

        def build(dest: Path) -> None:
            Receiver(dest, self._owner if put.workspace else None, take).write(put.entries)

        key = _key(put.digest, put.workspace)
        async with self._locks.setdefault(key, asyncio.Lock()):
            path = await asyncio.to_thread(self._store.publish, key, build)
            self._seals.check([path])
            self._read.add((path.name, path.stat().st_ino))


def _key(digest: str, workspace: bool) -> str:
    return f"{'workspace' if workspace else 'layer'}-{digest}"


async def _awaited(piece: Callable[[], Awaitable[bytes]]) -> bytes:
    return await piece()
