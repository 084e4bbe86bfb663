"""A log of events in one SQLite file, which many processes and threads write at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegym.errors import DataError, UnavailableError, UsageError

_FORMAT: Final = 1
_BUSY_SEC: Final = 60.0
_TABLES: Final = (
    "CREATE TABLE about (format INTEGER NOT NULL, identity TEXT NOT NULL)",
    "CREATE TABLE events (number INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL)",
)


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its number, from 1 upwards in the order of writing, and its text."""

    number: int
    body: str


class EventLog:
    """Appends events and reads them, in one order that every reader sees.

    What ``append`` returned from is on the disk: a killed process loses nothing of it, and leaves
    no part of what it was writing. The file is made by the first ``append``, and open only while it
    is used; so there is nothing to close, and threads and forked processes need no care. On a
    network file system SQLite's locks cannot be relied on.

    Args:
        path: The file.
        identity: What the events are about; a file about something else is refused.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path, self.identity = path, identity

    def append(self, bodies: Iterable[str]) -> None:
        """Write events, all or none.

        Raises:
            UsageError: The file is about something else.
            DataError: It is no such file.
            UnavailableError: It cannot be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")  # who waits now need not be turned down later
            if not self._known(connection):
                for table in _TABLES:
                    connection.execute(table)
                about = (_FORMAT, self.identity)
                connection.execute("INSERT INTO about VALUES (?, ?)", about)
            rows = ((body,) for body in bodies)
            connection.executemany("INSERT INTO events (body) VALUES (?)", rows)
            connection.execute("COMMIT")

    def since(self, number: int) -> list[Event]:
        """All events with a higher number, in order; none where there is no file yet.

        Raises:
            UsageError: The file is about something else. Else as ``append``.
        """
        if not self.path.exists():
            return []
        query = "SELECT number, body FROM events WHERE number > ? ORDER BY number"
        with self._opened() as connection:
            if not self._known(connection):
                return []
            return [Event(*row) for row in connection.execute(query, (number,))]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection, whose transaction is undone where it was not committed."""
        try:
            with closing(
                sqlite3.connect(self.path, timeout=_BUSY_SEC, isolation_level=None)
            ) as connection:
                yield connection
        except sqlite3.OperationalError as error:
            mend = "Look at the disk and who else uses the file"
            raise UnavailableError(f"{self.path} cannot be used: {error}", mend) from error
        except sqlite3.DatabaseError as error:
            problem = f"no log of events: {error}; move it away, or name another file"
            raise DataError(self.path, problem) from error

    def _known(self, connection: sqlite3.Connection) -> bool:
        """Whether there is anything in the file; raises where it is another's."""
        tables = "SELECT count(*) FROM sqlite_master WHERE name = 'about'"
        if not connection.execute(tables).fetchone()[0]:
            return False
        found, identity = connection.execute("SELECT format, identity FROM about").fetchone()
        if found != _FORMAT:
            raise DataError(self.path, f"of format {found}; this version writes {_FORMAT}")
        if identity != self.identity:
            raise UsageError(
                f"{self.path} is about something else ({identity}, not {self.identity}); "
                "name another file, or remove it to begin anew"
            )
        return True
