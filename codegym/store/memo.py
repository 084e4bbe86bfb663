"""Scores by key, in one SQLite file that many processes may use at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from codegym.errors import DataError, UnavailableError

_BUSY_SEC: Final = 60.0
_TABLE: Final = "CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, score REAL NOT NULL)"


class ScoreMemo:
    """Remembers scores. What ``put`` returned from is on the disk.

    The file is open only while it is used, so there is nothing to close, and threads and forked
    processes need no care.

    Args:
        path: The file; made by the first ``put``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, key: str) -> float | None:
        """The score of a key, or None where there is none.

        Raises:
            DataError: The file is no such file.
            UnavailableError: It cannot be used.
        """
        if not self.path.exists():
            return None
        with self._opened() as connection:
            query = "SELECT score FROM scores WHERE key = ?"
            row: tuple[float] | None = connection.execute(query, (key,)).fetchone()
        return None if row is None else row[0]

    def put(self, key: str, score: float) -> None:
        """Remember a score; it takes the place of an earlier one. Raises as ``get``."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._opened() as connection:
            connection.execute("INSERT OR REPLACE INTO scores VALUES (?, ?)", (key, score))

    def drop(self, key: str) -> None:
        """Forget a key. Raises as ``get``."""
        if self.path.exists():
            with self._opened() as connection:
                connection.execute("DELETE FROM scores WHERE key = ?", (key,))

    def __len__(self) -> int:
        if not self.path.exists():
            return 0
        with self._opened() as connection:
            count: int = connection.execute("SELECT count(*) FROM scores").fetchone()[0]
        return count

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(
                sqlite3.connect(self.path, timeout=_BUSY_SEC, isolation_level=None)
            ) as connection:
                connection.execute(_TABLE)
                yield connection
        except sqlite3.OperationalError as error:
            mend = "Look at the disk and who else uses the file"
            raise UnavailableError(f"{self.path} cannot be used: {error}", mend) from error
        except sqlite3.DatabaseError as error:
            raise DataError(self.path, f"no memo of scores: {error}") from error
