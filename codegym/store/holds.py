"""Layers that a process is using, so that no prune removes them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from codegym.store.layers import LayerStore


class Holds:
    """Counts the users of layers and holds each layer once, whatever their number.

    Safe for threads. A process that dies lets go of all.

    Args:
        store: The layers' store; folders that are no layers of it are passed over.
    """

    def __init__(self, store: LayerStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._users: dict[str, int] = {}
        self._held: dict[str, ExitStack] = {}

    def take(self, folders: Sequence[Path]) -> None:
        """Hold the layers that these folders are, or lie in; all or none.

        Raises:
            NotFoundError: One was pruned.
        """
        with self._lock, ExitStack() as undo:
            for key in filter(None, map(self._store.key_of, folders)):
                if key not in self._users:
                    held = ExitStack()
                    held.enter_context(self._store.hold(key))
                    self._held[key] = held
                self._users[key] = self._users.get(key, 0) + 1
                undo.callback(self._let_go, key)
            undo.pop_all()

    def drop(self, folders: Sequence[Path]) -> None:
        """Undo one ``take`` of the same folders."""
        with self._lock:
            for key in filter(None, map(self._store.key_of, folders)):
                self._let_go(key)

    def close(self) -> None:
        """Let go of all. Idempotent."""
        with self._lock:
            for held in self._held.values():
                held.close()
            self._held.clear()
            self._users.clear()

    def _let_go(self, key: str) -> None:
        users = self._users.pop(key, 0) - 1
        if users > 0:
            self._users[key] = users
        elif held := self._held.pop(key, None):
            held.close()
