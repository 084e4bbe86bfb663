"""Noticing cheaply that a layer is no longer what was attested.

A seal remembers each entry's inode and change time. The kernel sets a change time whenever content,
name, mode, owner, times or links change, and nobody can set it back. What a layer is checked for on
each reset: its folder and every folder below, all of its ``.git``, and its files; of a larger tree
the next ``AT_ONCE`` of them, so that none is left unseen for more than a few resets.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from codegym.errors import UnavailableError

#: Files looked at on each reset, of each layer.
AT_ONCE = 1024
_TOGETHER = 512  # of all layers of one image
_REMEMBERED = 256

Mark = tuple[int, int, int]


class Seal:
    """A layer as it is when this is made: before it is attested. Safe for threads.

    Args:
        layer: Its folder.
        at_once: How many of its files each look goes over; all folders and all of ``.git`` always.
    """

    def __init__(self, layer: Path, at_once: int = AT_ONCE) -> None:
        self._always: list[tuple[str, Mark]] = []
        self._files: list[tuple[str, Mark]] = []
        self._at_once, self._next = at_once, 0
        git = f"{layer}/.git"
        for folder, folders, names in os.walk(layer):
            names += [name for name in folders if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114
            self._always.append((folder, _mark(folder)))
            inside = folder == git or folder.startswith(git + "/")
            marks = self._always if inside else self._files
            marks += [(path, _mark(path)) for path in (f"{folder}/{name}" for name in names)]

    def holds(self) -> bool:
        """Whether what is looked at this time is as it was."""
        begin, end = self._next, self._next + self._at_once
        self._next = end if end < len(self._files) else 0
        try:
            for path, mark in (*self._always, *self._files[begin:end]):
                status = os.lstat(path)
                if (status.st_dev, status.st_ino, status.st_ctime_ns) != mark:
                    return False
        except FileNotFoundError:
            return False
        return True


class LayerSeals:
    """Seals of layers that no tree says the content of, made at first use. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seals: OrderedDict[tuple[Path, int], Seal] = OrderedDict()

    def check(self, layers: Sequence[Path]) -> None:
        """Look at layers once more.

        Raises:
            UnavailableError: One was changed since. One that was removed, or removed and built
                anew, is none of that.
        """
        for layer in layers:
            try:
                key = layer, layer.stat().st_ino
            except FileNotFoundError:
                continue  # whoever starts a sandbox from it will tell
            with self._lock:
                seal = self._seals.get(key)
                if seal is None:
                    seal = self._seals[key] = Seal(layer, _TOGETHER // len(layers))
                self._seals.move_to_end(key)
                while len(self._seals) > _REMEMBERED:
                    self._seals.popitem(last=False)
            if not seal.holds():
                raise UnavailableError(
                    f"{layer} was changed since it was first used, and what is in it is unknown",
                    f"Remove it (`rm -r {layer}`) and start again: it is built anew",
                )


def _mark(path: str) -> Mark:
    status = os.lstat(path)
    return status.st_dev, status.st_ino, status.st_ctime_ns
