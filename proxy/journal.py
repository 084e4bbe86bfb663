"""What an episode asked for, and what it was told: one JSON object a line."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from .rules import Verdict

#: A log that is full denies: nothing passes that is not written down.
MAX_BYTES = 64 << 20
_MAX_CHARS = 500


class JournalFullError(RuntimeError):
    """No more can be written down, so no more may pass."""


class Journal:
    """Appends records to a file; a record that cannot be written raises, and so denies."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(path, flags, 0o600)
        self._bytes = os.fstat(self._file).st_size

    def note(self, event: str, verdict: Verdict, **details: str | int | None) -> None:
        """Write down a verdict, before it takes effect; texts from the sandbox are cut."""
        record = {"time": round(time.time(), 3), "event": event, "allowed": verdict.allowed}
        record |= {"rule": verdict.rule, "reason": verdict.reason}
        record |= {k: v[:_MAX_CHARS] if isinstance(v, str) else v for k, v in details.items()}
        line = json.dumps(record).encode() + b"\n"
        self._bytes += len(line)
        if self._bytes > MAX_BYTES:
            raise JournalFullError(f"the log has reached {MAX_BYTES} bytes")
        if os.write(self._file, line) != len(line):
            raise JournalFullError("the log could not be written: the disk is full")

    @property
    def is_open(self) -> bool:
        """Whether more can be written."""
        return self._file >= 0

    def close(self) -> None:
        """Close the file; idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
