"""Recognising content that only the solved tree has."""

from __future__ import annotations

from codegym.types import Tree
from codegym.workspace.archives import contents

#: Shorter content identifies nothing: an empty ``__init__.py`` is no answer.
DISTINCTIVE_BYTES = 32


class GoldFiles:
    """The files of the gold tree that the start tree lacks.

    A file that is solved by changing it counts even where the start holds a copy of the solved
    state: that is a leak. One that is new, or moved, with content that the start has, does not.

    Args:
        gold: The solved tree.
        start: The tree that a policy starts from.
    """

    def __init__(self, gold: Tree, start: Tree) -> None:
        known = {file.data for file in start.values()}
        moved = {file.data for path, file in start.items() if gold.get(path) != file}
        self._whole: set[bytes] = set()
        self._parts: set[bytes] = set()
        for path, file in gold.items():
            text = file.data.strip()
            if len(text) < DISTINCTIVE_BYTES or (path in start and start[path].data == file.data):
                continue
            if file.data in (moved if path in start else known):
                continue
            self._whole.add(file.data)
            # Where the solution only takes lines away, the unsolved file may hold all of it.
            if path not in start or text not in start[path].data:
                self._parts.add(text)

    def in_bytes(self, data: bytes) -> bool:
        """Whether ``data`` is such a file, or holds one as it is."""
        return data in self._whole or any(part in data for part in self._parts)

    def in_file(self, data: bytes) -> bool:
        """The same, and whatever can be unpacked from ``data``."""
        return self.in_bytes(data) or any(map(self.in_bytes, contents(data)))
