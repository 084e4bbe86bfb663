"""Noticing cheaply that a layer is no longer what was attested.

A seal remembers each entry's inode and change time. The kernel sets a change time whenever content,
name, mode, owner, times or links change, and nobody can set it back. What a cached layer is checked
for on each reset: its folder and every folder below, all of its ``.git``, and its files, of which
at most ``SAMPLE`` are picked at random each time in a larger tree.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path

SAMPLE = 512

Mark = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Seal:
    """Marks of every entry of a layer: those always looked at, and those that may be sampled."""

    always: dict[str, Mark]
    files: dict[str, Mark]

    def holds(self) -> bool:
        """Whether what is looked at is as it was."""
        files = self.files.items()
        if len(files) > SAMPLE:
            files_seen = random.SystemRandom().sample(list(files), SAMPLE)
        else:
            files_seen = list(files)
        try:
            return all(_mark(path) == mark for path, mark in (*self.always.items(), *files_seen))
        except FileNotFoundError:
            return False


def seal(layer: Path) -> Seal:
    """Remember a layer as it is now; to be taken before it is attested."""
    always: dict[str, Mark] = {}
    files: dict[str, Mark] = {}
    git = f"{layer}/.git"
    for folder, _, names in os.walk(layer):
        always[folder] = _mark(folder)
        marks = always if folder == git or folder.startswith(git + "/") else files
        for name in names:
            path = f"{folder}/{name}"
            marks[path] = _mark(path)
    return Seal(always, files)


def _mark(path: str) -> Mark:
    status = os.lstat(path)
    return status.st_dev, status.st_ino, status.st_ctime_ns
