"""Locks between processes (and threads), on files that may be removed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, *, shared: bool, wait: bool = True) -> Iterator[bool]:
    """Hold the lock file at ``path``; yields whether it was got (always so with ``wait``).

    The kernel lets go of it when the process dies. Whoever holds it alone may remove the file.
    """
    descriptor = _acquire(path, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, wait)
    if descriptor is None:
        yield False
        return
    try:
        yield True
    finally:
        # A forked child has the same descriptor. Its copy must not keep a builder's lock; but a
        # user's lock is better held too long than let go by the first of the two.
        if not shared:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold a folder alone, without a file beside it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _acquire(path: Path, how: int, wait: bool) -> int | None:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, how if wait else how | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        if _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)  # it was removed while we waited, so nobody else would see this lock


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
