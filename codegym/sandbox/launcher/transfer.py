"""Reading a policy's work as data, once every process of its sandbox is dead.

The merged view is mounted anew, read-only, and walked by a process without capabilities. Only
folders that the upper layer has can hold a difference: the cost follows the work, not the tree.
Nothing is followed: no link, no other mount; only regular files are opened; all is bounded.

Format of the report: for each entry one line of JSON, then, for a changed file, its bytes::

    {"path": "src/a.py", "size": 120, "exec": false}      changed: 120 bytes follow
    {"path": "src/b.py", "deleted": true}
    {"path": "x", "refused": "symlink"}
    {"end": true}
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from typing import BinaryIO

from . import syscalls as sc

MAX_BYTES = 64 << 20
MAX_FILE_BYTES = 16 << 20
MAX_ENTRIES = 20_000
MAX_DEPTH = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK
_FILE = os.O_RDONLY | os.O_NONBLOCK
_KINDS = {
    stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


@dataclass(frozen=True)
class Views:
    """One folder in the upper layer, the merged view and (where it was there) the lower layer."""

    upper: int
    merged: int
    lower: int | None

    def close(self) -> None:
        """Close its descriptors."""
        for descriptor in (self.upper, self.merged, self.lower):
            if descriptor is not None:
                os.close(descriptor)


class Reader:
    """Walks a box's differences and writes the report."""

    def __init__(self, report: BinaryIO, max_entries: int = MAX_ENTRIES) -> None:
        self._report, self._max_entries = report, max_entries
        self._bytes = 0
        self._entries = 0

    def run(self, upper: str, merged: str, lower: str) -> None:
        """Write the whole report."""
        try:
            tops = [os.open(path, _FOLDER | os.O_CLOEXEC) for path in (upper, merged, lower)]
        except PermissionError as error:  # the policy took it from everybody, itself included
            self._refuse(b"workspace", f"unreadable folder ({error.strerror})")
        else:
            views = Views(*tops)
            self._walk(b"", views, 0)
            views.close()
        self._write({"end": True})

    def _walk(self, prefix: bytes, views: Views, depth: int) -> None:
        changed = set(os.listdir(os.fsencode(f"/proc/self/fd/{views.upper}")))
        merged = set(os.listdir(os.fsencode(f"/proc/self/fd/{views.merged}")))
        lower = set(_names(views.lower))
        for name in sorted((changed & merged) | (lower - merged)):
            path = prefix + name
            if name == b".git" and not prefix:
                continue  # the policy's own history; git never reads it here
            self._entries += 1
            if self._entries > self._max_entries:
                self._refuse(path, "too many entries")
                return
            try:
                if name not in merged:
                    self._deleted(path, name, views.lower, depth)
                else:
                    self._changed(path, name, views, depth)
            except PermissionError as error:  # a folder that can be listed and not searched
                self._refuse(path, f"unreadable ({error.strerror})")

    def _changed(self, path: bytes, name: bytes, views: Views, depth: int) -> None:
        mode = os.stat(name, dir_fd=views.merged, follow_symlinks=False).st_mode
        below = _mode(name, views.lower)
        if stat.S_ISDIR(mode):
            if below and not stat.S_ISDIR(below):
                self._write({"path": _text(path), "deleted": True})
            self._descend(path, name, views, depth, bool(below and stat.S_ISDIR(below)))
            return
        if below and stat.S_ISDIR(below):
            self._deleted(path, name, views.lower, depth)
        if stat.S_ISREG(mode):
            self._file(path, name, views, below)
        else:
            self._refuse(path, _KINDS.get(stat.S_IFMT(mode), "special file"))

    def _descend(self, path: bytes, name: bytes, views: Views, depth: int, in_lower: bool) -> None:
        if name == b".git":
            self._refuse(path, "nested git folder")
            return
        if depth >= MAX_DEPTH:
            self._refuse(path, "too deep")
            return
        try:
            inner = Views(
                sc.open_beneath(name, _FOLDER, views.upper),
                sc.open_beneath(name, _FOLDER, views.merged),
                sc.open_beneath(name, _FOLDER, views.lower)
                if in_lower and views.lower is not None
                else None,
            )
        except OSError as error:
            self._refuse(path, f"unreadable folder ({error.strerror})")
            return
        self._walk(path + b"/", inner, depth + 1)
        inner.close()

    def _file(self, path: bytes, name: bytes, views: Views, below: int) -> None:
        try:
            descriptor = sc.open_beneath(name, _FILE, views.merged)
        except OSError as error:
            self._refuse(path, f"unreadable ({error.strerror})")
            return
        with open(descriptor, "rb") as file:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                self._refuse(path, "not a regular file")
                return
            if info.st_size > MAX_FILE_BYTES or self._bytes + info.st_size > MAX_BYTES:
                self._refuse(path, "too large")
                return
            data = file.read(info.st_size)
        executable = bool(info.st_mode & stat.S_IXUSR)
        if below and stat.S_ISREG(below) and executable == bool(below & stat.S_IXUSR):
            with open(sc.open_beneath(name, _FILE, views.lower or 0), "rb") as file:
                if file.read(len(data) + 1) == data:
                    return  # touched, not changed
        self._bytes += len(data)
        self._write({"path": _text(path), "size": len(data), "exec": executable})
        self._report.write(data)

    def _deleted(self, path: bytes, name: bytes, lower: int | None, depth: int) -> None:
        if lower is None or not (mode := _mode(name, lower)):
            return
        if not stat.S_ISDIR(mode):
            self._write({"path": _text(path), "deleted": True})
            return
        folder = sc.open_beneath(name, _FOLDER, lower)
        for inner in sorted(_names(folder)):
            self._deleted(path + b"/" + inner, inner, folder, depth + 1)
        os.close(folder)

    def _refuse(self, path: bytes, reason: str) -> None:
        self._write({"path": _text(path), "refused": reason})

    def _write(self, entry: dict[str, object]) -> None:
        self._report.write(json.dumps(entry).encode() + b"\n")


def read_work(upper: str, merged: str, lower: str, report_fd: int) -> None:
    """Write the report of a box to a descriptor, without capabilities."""
    sc.drop_capabilities()
    with open(report_fd, "wb", closefd=False) as report:
        Reader(report).run(upper, merged, lower)


def _names(folder: int | None) -> list[bytes]:
    return [] if folder is None else os.listdir(os.fsencode(f"/proc/self/fd/{folder}"))


def _mode(name: bytes, folder: int | None) -> int:
    if folder is None:
        return 0
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
