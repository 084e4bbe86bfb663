"""Immutable folders under content keys, shared by processes.

A layer is built beside its place and renamed into it: it is there whole or not at all. Beside the
layers lies ``.locks/KEY``: who builds or removes a layer holds it alone, who uses one shares it,
and its modification time is the time of last use (a layer's own times can be seen inside a sandbox,
so they are never touched). A process that dies lets go of its locks; what it left half-built is
removed by the next build of that layer, or by ``prune``.

Nothing is synced: after a power cut, empty the cache.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codegym.errors import NotFoundError, UsageError
from codegym.store.cache import cache_dir, full_disk_explained, refusal_explained
from codegym.store.locks import locked
from codegym.store.spread import spread

_KEY = re.compile(r"[a-z]+-[0-9a-f]{8,128}")
_LEFTOVER = re.compile(rf"\.(?:build|trash)-({_KEY.pattern})-[0-9a-f]{{12}}")
_DAY_SEC = 86_400.0


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a prune did: layers and leftovers removed, bytes on disk freed, layers kept."""

    removed: int
    freed_bytes: int
    kept: int


class LayerStore:
    """A folder of layers. Safe for many threads and processes at once.

    Args:
        root: The folder; by default the cache folder's ``layers``.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root if root is not None else cache_dir() / "layers").absolute()
        with refusal_explained(self.root):
            (self.root / ".locks").mkdir(parents=True, exist_ok=True)
            spread(self.root)

    def find(self, key: str) -> Path | None:
        """Return the layer's folder and mark it used, or None where there is none."""
        path = self._path(key)
        if not path.is_dir():
            return None
        self._touch(key)
        return path

    def publish(self, key: str, build: Callable[[Path], None]) -> Path:
        """Return the layer under ``key``, building it where it is not there.

        Args:
            key: A word and a content hash, for example ``"tree-1a2b3c4d"``.
            build: Fills the empty folder that it is given; called at most once, and by one process
                at a time. What it raises comes through, and nothing is left behind.

        Raises:
            UnavailableError: The disk is full.
        """
        found = self.find(key)
        if found is not None:
            return found
        path = self._path(key)
        with full_disk_explained(self.root), locked(self._lock(key), shared=False):
            if not path.is_dir():
                self._remove_leftovers(key)
                self._build(key, build)
            self._touch(key)
        return path

    @contextmanager
    def hold(self, key: str) -> Iterator[Path]:
        """Keep a layer from being pruned within the block.

        Raises:
            NotFoundError: There is no such layer.
        """
        path = self._path(key)
        with locked(self._lock(key), shared=True):
            found = self.find(key)
            if found is None:
                raise NotFoundError("layer", key, hint=f"none was published in {self.root}")
            yield path

    def key_of(self, folder: Path) -> str | None:
        """Return the key of the layer that a folder is, or lies in; None where it is elsewhere."""
        if not folder.is_relative_to(self.root) or folder == self.root:
            return None
        key = folder.relative_to(self.root).parts[0]
        return key if _KEY.fullmatch(key) else None

    def prune(self, older_than_days: float) -> Pruned:
        """Remove layers not used for so many days, and what killed builds left.

        A layer that is held, or being built, stays whatever its age.
        """
        before = time.time() - older_than_days * _DAY_SEC
        removed = freed = kept = 0
        for entry in sorted(self.root.iterdir()):
            leftover = _LEFTOVER.fullmatch(entry.name)
            if leftover is None and _KEY.fullmatch(entry.name) is None:
                continue
            key = leftover.group(1) if leftover else entry.name
            size = self._remove(entry, key, None if leftover else before)
            removed, freed = removed + (size is not None), freed + (size or 0)
            kept += size is None and leftover is None
        self._remove_idle_locks()
        return Pruned(removed, freed, kept)

    def _build(self, key: str, build: Callable[[Path], None]) -> None:
        draft = self._beside("build", key)
        draft.mkdir()
        draft.chmod(0o755)  # whatever the umask: a sandbox's user must be able to enter
        try:
            build(draft)
            draft.rename(self._path(key))
        except BaseException:
            remove_tree(draft)
            raise

    def _remove(self, entry: Path, key: str, before: float | None) -> int | None:
        """Remove a layer last used before ``before``, or a leftover; return the bytes freed."""
        if before is not None and self._used(key) > before:
            return None
        with locked(self._lock(key), shared=False, wait=False) as got:
            if not got or not entry.is_dir() or (before is not None and self._used(key) > before):
                return None
            trash = self._beside("trash", key)
            entry.rename(trash)  # at once, so that a killed prune leaves no part of a layer
            size = disk_bytes(trash)
            remove_tree(trash)
            if not self._path(key).exists():
                self._lock(key).unlink(missing_ok=True)
            return size

    def _remove_idle_locks(self) -> None:
        """Remove the locks of layers that are not there (a build failed, a name was asked for)."""
        for lock in (self.root / ".locks").iterdir():
            with locked(lock, shared=False, wait=False) as got:
                if got and not self._path(lock.name).exists():
                    lock.unlink(missing_ok=True)

    def _remove_leftovers(self, key: str) -> None:
        for entry in self.root.glob(f".*-{key}-*"):
            found = _LEFTOVER.fullmatch(entry.name)
            if found and found.group(1) == key:
                remove_tree(entry)

    def _path(self, key: str) -> Path:
        if _KEY.fullmatch(key) is None:
            raise UsageError(f"{key!r} is no layer key: a word, a dash and 8 or more hex digits")
        return self.root / key

    def _beside(self, what: str, key: str) -> Path:
        return self.root / f".{what}-{key}-{secrets.token_hex(6)}"

    def _lock(self, key: str) -> Path:
        return self.root / ".locks" / key

    def _touch(self, key: str) -> None:
        lock = self._lock(key)
        try:
            os.utime(lock)
        except FileNotFoundError:
            lock.touch()
        except PermissionError:
            return  # a cache that was made for us read-only; it is pruned by whoever owns it

    def _used(self, key: str) -> float:
        try:
            return self._lock(key).stat().st_mtime
        except FileNotFoundError:
            return 0.0


def disk_bytes(path: Path) -> int:
    """Bytes that a folder's files take on disk."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            total += Path(folder, name).lstat().st_blocks * 512
    return total


def remove_tree(path: Path) -> None:
    """Remove a folder that may hold folders without write permission."""
    if os.geteuid() != 0:
        path.chmod(0o700)
        for folder, names, _ in os.walk(path):
            for name in names:
                inner = Path(folder, name)
                if not inner.is_symlink():
                    inner.chmod(0o700)
    shutil.rmtree(path)
