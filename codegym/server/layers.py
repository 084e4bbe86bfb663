"""A server's copies of its clients' layers: each is what its digest says, and is watched."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from codegym.errors import SandboxError, UnavailableError
from codegym.sandbox.remote.folders import digest_of, entries_of
from codegym.sandbox.remote.messages import Put
from codegym.server.receiving import Receiver, check
from codegym.store import LayerStore
from codegym.workspace.seal import Seal

_AT_ONCE = 256  # files looked at on each start, of each layer
_REMEMBERED = 512
_TAKEN_AT_ONCE = 8


class Layers:
    """Copies in a store, shared by all clients. An image's and a workspace's differ in their owner.

    Args:
        store: Where they are kept.
        owner: (uid, gid) that workspaces must belong to (the backend's ``owner``).
    """

    def __init__(self, store: LayerStore, owner: tuple[int, int] | None) -> None:
        self._store, self._owner = store, owner
        # Of its own: a client that sends slowly must not hold up those who start sandboxes.
        self._taking = ThreadPoolExecutor(_TAKEN_AT_ONCE, "codegym-layer")
        self._lock = threading.Lock()
        self._seals: OrderedDict[str, Seal] = OrderedDict()

    async def find(self, digest: str, *, workspace: bool) -> Path | None:
        """A layer's folder, or None where it is not there.

        Raises:
            UnavailableError: It was changed on the disk before this server first looked.
        """
        key = _key(digest, workspace)
        path = self._store.find(key)
        if path is not None and key not in self._seals:
            await asyncio.to_thread(self._read, path)
        return path

    def watch(self, layers: Sequence[Path]) -> None:
        """Look at layers once more, as a reset does (see ``Seal``). Safe for threads.

        Raises:
            UnavailableError: One was changed on the disk.
        """
        for path in layers:
            with self._lock:
                seal = self._seals.get(path.name)
                if seal:
                    self._seals.move_to_end(path.name)
            if seal is None or not seal.holds():  # changed, or removed and brought anew
                self._read(path)

    def _read(self, path: Path) -> None:
        """Read a layer, whole, and remember how it was."""
        seal = Seal(path, _AT_ONCE)  # first, so that no change falls between
        try:
            same = digest_of(entries_of(path)) == path.name.partition("-")[2]
        except FileNotFoundError as error:
            raise SandboxError(f"a layer was pruned before it could be used: {path}") from error
        if not same:
            raise UnavailableError(
                f"{path} is not what it was when it came", f"Remove it: `rm -r {path}`"
            )
        with self._lock:
            self._seals[path.name] = seal
            while len(self._seals) > _REMEMBERED:
                self._seals.popitem(last=False)

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
        with self._lock:
            self._seals.pop(key, None)
        await loop.run_in_executor(self._taking, self._store.publish, key, build)


def _key(digest: str, workspace: bool) -> str:
    return f"{'workspace' if workspace else 'layer'}-{digest}"


async def _awaited(piece: Callable[[], Awaitable[bytes]]) -> bytes:
    return await piece()
