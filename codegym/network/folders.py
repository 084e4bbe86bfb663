"""The proxy's folder: held by its process, and removed by a later one where that was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "codegym-proxy-"
#: One that is newer may not be held yet.
_NEW_SEC = 60.0


@dataclass(frozen=True, slots=True)
class HeldFolder:
    """A temporary folder that is ours as long as this process lives.

    Attributes:
        path: The folder.
        descriptor: Of the folder, which is locked; the kernel lets go of it, however we end.
    """

    path: Path
    descriptor: int

    def remove(self) -> None:
        """Remove it and all that it holds."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.descriptor)


def make_folder() -> HeldFolder:
    """Make one; and remove those that nobody holds any more."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if _is_left(left):
            shutil.rmtree(left, ignore_errors=True)
    path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    descriptor = _open(path)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return HeldFolder(path, descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _is_left(folder: Path) -> bool:
    try:
        descriptor = _open(folder)
    except OSError:  # no folder, not ours, or gone meanwhile
        return False
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or time.time() - status.st_mtime < _NEW_SEC:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
