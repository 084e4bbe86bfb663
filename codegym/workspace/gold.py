"""Recognising content that only the solved tree has."""

from __future__ import annotations

from codegym.types import Tree
from codegym.workspace.archives import contents

#: Shorter content identifies nothing: an empty ``__init__.py`` is no answer.
DISTINCTIVE_BYTES = 32


class GoldFiles:
    """The files of the gold tree that the start tree lacks.

    Args:
        gold: The solved tree.
        start: The tree that a policy starts from.
    """

    def __init__(self, gold: Tree, start: Tree) -> None:
        known = {file.data for file in start.values()}
        self._whole: set[bytes] = set()
        self._parts: set[bytes] = set()
        for path, file in gold.items():
            text = file.data.strip()
            if file.data in known or len(text) < DISTINCTIVE_BYTES:
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
