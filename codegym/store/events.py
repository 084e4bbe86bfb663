"""A log of events in one SQLite file, which many processes and threads write at once."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegym.errors import DataError, UnavailableError, UsageError
from codegym.store.locks import locked

_FORMAT: Final = 1
_BUSY_SEC: Final = 60.0
_TABLES: Final = """
    CREATE TABLE IF NOT EXISTS about (format INTEGER NOT NULL, identity TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its number, from 1 upwards in the order of writing, and its text."""

    number: int
    body: str


class EventLog:
    """Appends events and reads them, in one order that every reader sees.

    What ``append`` returned from is on the disk: a killed process loses nothing of it, and leaves
    no part of what it was writing. The file is made by the first ``append``. Safe for threads and
    forked processes. On a network file system SQLite's locks cannot be relied on.

    Args:
        path: The file.
        identity: What the events are about; a file about something else is refused.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path, self.identity = path, identity
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None
        self._owner = 0

    def append(self, bodies: Iterable[str]) -> None:
        """Write events, all or none.

        Raises:
            UsageError: The file is about something else.
            DataError: It is no such file.
            UnavailableError: It cannot be written.
        """
        with self._connected(make=True) as connection:
            if connection is not None:
                with connection:
                    rows = ((body,) for body in bodies)
                    connection.executemany("INSERT INTO events (body) VALUES (?)", rows)

    def since(self, number: int) -> Iterator[Event]:
        """All events with a higher number, in order; none where there is no file yet.

        Raises:
            UsageError: The file is about something else. Else as ``append``.
        """
        query = "SELECT number, body FROM events WHERE number > ? ORDER BY number"
        with self._connected(make=False) as connection:
            rows = [] if connection is None else connection.execute(query, (number,)).fetchall()
        for found, body in rows:
            yield Event(found, body)

    def close(self) -> None:
        """Let go of the file. Idempotent; it can be used again afterwards."""
        with self._lock:
            if self._opened is not None and self._owner == os.getpid():
                self._opened.close()
            self._opened = None

    @contextmanager
    def _connected(self, *, make: bool) -> Iterator[sqlite3.Connection | None]:
        """A connection of this process, used by one thread at a time."""
        try:
            with self._lock:
                if self._opened is not None and self._owner != os.getpid():
                    self._opened = None  # the parent's: closing it here would drop its locks
                if self._opened is None and (make or self.path.exists()):
                    self._opened, self._owner = self._open(), os.getpid()
                yield self._opened
        except sqlite3.OperationalError as error:
            mend = "Look at the disk and who else uses the file"
            raise UnavailableError(f"{self.path} cannot be used: {error}", mend) from error
        except sqlite3.DatabaseError as error:
            raise DataError(self.path, f"no log of events: {error}") from error

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_BUSY_SEC, check_same_thread=False)
        try:
            # Two processes that turn on the journal at once would refuse each other.
            with locked(self.path.with_name(f"{self.path.name}.lock"), shared=False):
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
                self._check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        connection.executescript(_TABLES)
        found = connection.execute("SELECT format, identity FROM about").fetchone()
        if found is None:
            with connection:
                about = (_FORMAT, self.identity)
                connection.execute("INSERT INTO about VALUES (?, ?)", about)
        elif found[0] != _FORMAT:
            raise DataError(self.path, f"of format {found[0]}; this version writes {_FORMAT}")
        elif found[1] != self.identity:
            raise UsageError(
                f"{self.path} is about something else ({found[1]}, not {self.identity}); "
                "name another file, or remove it to begin anew"
            )
