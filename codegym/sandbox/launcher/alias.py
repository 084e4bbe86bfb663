"""Layers under random names, since a sandbox can read the names of its mounts."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

from . import syscalls as sc
from .namespace import ALIASES, LAYERS

#: Skeletons that no box uses and that are kept for the next ones.
_KEPT = 8


@dataclass
class _Skeleton:
    """A layer of what starts add to a root, and how many boxes have it."""

    digest: str
    holders: int = 0


class Alias:
    """The random names."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._skeletons: dict[str, _Skeleton] = {}  # by path; the one used last is the last
        self._contents: dict[str, str] = {}  # hash of a file to a file that has it

    def __call__(self, layer: str) -> str:
        """A random path at which ``layer`` is mounted: the one that is in the store now."""
        source = f"{LAYERS}/{layer}"
        known = self._names.get(layer)
        if known is None or os.stat(known).st_ino != os.stat(source).st_ino:  # pruned, built anew
            known = self._names[layer] = _random_folder()
            sc.mount(source, known, None, sc.MS_BIND)
        return known

    def skeleton(self, points: list[str], files: dict[str, bytes]) -> str:
        """A layer that has the mount points and the files that a start adds to its root.

        It is kept until it is dropped as often as it was asked for.
        """
        hashes = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
        digest = repr((points, sorted(hashes.items())))
        known = (path for path, each in self._skeletons.items() if each.digest == digest)
        path = next(known, "") or self._build(points, files, hashes)
        each = self._skeletons.pop(path, None) or _Skeleton(digest)
        each.holders += 1
        self._skeletons[path] = each
        return path

    def drop(self, path: str) -> None:
        """Let go of a skeleton; some of those that nobody holds are kept."""
        if path:
            self._skeletons[path].holders -= 1
        idle = [path for path, each in self._skeletons.items() if not each.holders]
        for path in idle[:-_KEPT]:
            del self._skeletons[path]
            _remove(path)
        if idle[:-_KEPT]:
            self._contents = {k: v for k, v in self._contents.items() if not _remove_unused(v)}

    def _build(self, points: list[str], files: dict[str, bytes], hashes: dict[str, str]) -> str:
        target = _random_folder()
        for point in points:
            os.makedirs(target + point, exist_ok=True)
        for path, data in files.items():
            os.makedirs(os.path.dirname(target + path), exist_ok=True)
            content = self._contents.get(hashes[path])
            if content is None:
                content = self._contents[hashes[path]] = _write(data)
            os.link(content, target + path)
        return target


def _write(data: bytes) -> str:
    """A file that skeletons share; what begins with ``#!`` can be run."""
    path = f"{ALIASES}/{os.urandom(6).hex()}"
    with open(path, "xb") as file:
        file.write(data)
    os.chmod(path, 0o755 if data.startswith(b"#!") else 0o644)
    return path


def _random_folder() -> str:
    path = f"{ALIASES}/{os.urandom(6).hex()}"
    os.mkdir(path)
    return path


def _remove(path: str) -> None:
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            os.unlink(f"{folder}/{name}")
        os.rmdir(folder)


def _remove_unused(content: str) -> bool:
    if os.stat(content).st_nlink > 1:
        return False
    os.unlink(content)
    return True
