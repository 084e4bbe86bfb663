"""One writer for each run folder."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from codegym.errors import UsageError
from codegym.runs.journal import writing


class WriterLock:
    """An advisory lock that the kernel drops when its holder dies, however it dies.

    Raises:
        UsageError: Another process holds it.
    """

    def __init__(self, path: Path) -> None:
        with writing(path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._fd, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._fd)
            raise UsageError(
                f"{path.parent}: process {holder} is writing this run; wait for it, or choose "
                "another folder with --out"
            ) from None
        with writing(path):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let go. Idempotent."""
        if self._fd >= 0:
            # Said outright: a forked child has the same descriptor, and closing ours keeps it held.
            fcntl.flock(self._fd, fcntl.LOCK_UN)
            os.close(self._fd)
            self._fd = -1
