"""Files that survive being killed at any byte: append-only lines, and atomic replacement."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from codegym.errors import UnavailableError


def full_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """All whole lines of a file with their 1-based numbers; a torn last line is left out."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            yield number, line[:-1]


class Journal:
    """An append-only file of JSON lines, one writer.

    Opening cuts a torn tail: whatever follows the last full line that is valid JSON. Lines before
    the last are never touched.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with writing(path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._size = _sound_length(path)
            os.ftruncate(self._fd, self._size)

    def append(self, line: bytes) -> None:
        """Add a line, all or nothing.

        Raises:
            UnavailableError: The disk is full. The file is as before.
        """
        data = memoryview(line + b"\n")
        with writing(self.path):
            try:
                written = 0
                while written < len(data):
                    written += os.pwrite(self._fd, data[written:], self._size + written)
            except OSError:
                os.ftruncate(self._fd, self._size)
                raise
            self._size += len(data)

    def clear(self) -> None:
        """Empty the file."""
        self.cut(0)

    def cut(self, lines: int) -> None:
        """Keep the first ``lines`` lines."""
        self._size = sum(len(line) + 1 for number, line in full_lines(self.path) if number <= lines)
        os.ftruncate(self._fd, self._size)

    def sync(self) -> None:
        """Wait until what was appended is on the disk."""
        with writing(self.path):
            os.fsync(self._fd)

    def close(self) -> None:
        """Close. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def replace(path: Path, data: bytes) -> None:
    """Write a whole file so that a reader finds the old content or the new, never a part.

    Raises:
        UnavailableError: The disk is full. The old content stands.
    """
    fresh = path.with_name(f".{path.name}.new")
    with writing(path):
        try:
            fresh.write_bytes(data)
            fresh.replace(path)
        except OSError:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` of a write into an error that says what to do next."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        mend = "Free some space" if full else "Make it writable"
        raise UnavailableError(
            f"cannot write {path}: {error.strerror}",
            f"{mend}, then give the same command again: it goes on where it was",
        ) from error


def _sound_length(path: Path) -> int:
    """Length up to and with the last full line that is valid JSON."""
    end = previous = 0
    last = b"null"
    for _, line in full_lines(path):
        previous, end, last = end, end + len(line) + 1, line
    try:
        json.loads(last)
    except ValueError:
        return previous
    return end
