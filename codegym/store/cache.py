"""The user's cache folder."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from codegym.errors import UnavailableError

_FULL = (errno.ENOSPC, errno.EDQUOT)


def cache_dir() -> Path:
    """Return the cache folder, made if it is not there: ``$CODEGYM_CACHE``, else the user's own.

    Only its owner can enter it; what lies below has ordinary modes.

    Raises:
        UnavailableError: It cannot be made, or everyone may write to it (whoever can change a layer
            decides what sandboxes run and how tasks are graded).
    """
    named = os.environ.get("CODEGYM_CACHE")
    path = Path(named).expanduser() if named else platformdirs.user_cache_path("codegym")
    path = path.absolute()
    with refusal_explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        mode = path.stat().st_mode
    if mode & stat.S_IWOTH:
        raise UnavailableError(
            f"everyone may write to the cache folder {path}, and so change what sandboxes run",
            "Set CODEGYM_CACHE to a folder of your own, which need not exist yet",
        )
    return path


@contextmanager
def full_disk_explained(folder: Path) -> Iterator[None]:
    """Turn "no space left" into an ``UnavailableError`` that says where and what to do."""
    try:
        yield
    except OSError as error:
        if not _is_full(error):
            raise
        raise UnavailableError(
            f"the disk that holds {folder} is full",
            "Free some of it: `codegym cache prune` removes what was not used lately. "
            "CODEGYM_CACHE puts the cache on another disk",
        ) from error


@contextmanager
def refusal_explained(folder: Path) -> Iterator[None]:
    """Turn a folder that cannot be made into an ``UnavailableError`` that says what to do."""
    try:
        with full_disk_explained(folder):
            yield
    except (PermissionError, FileExistsError, FileNotFoundError, NotADirectoryError) as error:
        raise UnavailableError(_refused(folder, error), _ELSEWHERE) from error
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        raise UnavailableError(_refused(folder, error), _ELSEWHERE) from error


_ELSEWHERE = "Set CODEGYM_CACHE to a folder that you may write to"


def _refused(folder: Path, error: OSError) -> str:
    return f"the cache cannot be written at {folder}: {error.strerror}"


def _is_full(error: BaseException | None) -> bool:
    """Whether a full disk is at the root of an error (`shutil` reports one only in words)."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        if isinstance(error, shutil.Error) and os.strerror(errno.ENOSPC) in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
