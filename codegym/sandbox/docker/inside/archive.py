"""Folders as a stream, for trees that are sent and sandboxes that are forked.

An entry is a head, its path, its extents (where it has bytes: holes cost nothing) and these bytes.
Nothing is followed. What is neither file, folder nor link is left out: what held it open is gone.
"""

from __future__ import annotations

import os
import random
import stat
import struct
from collections.abc import Callable, Iterator

_HEAD = struct.Struct(">IIqQI")  # path bytes (0: the end), mode, time in ns, size, extents
_EXTENT = struct.Struct(">QQ")
_PIECE = 1 << 18
_MAX_DEPTH = 200  # what lies deeper is not carried; a path is bounded by the kernel, too

Read = Callable[[int], bytes]


def pack(folder: str) -> Iterator[bytes]:
    """The content of a folder that nothing changes meanwhile."""
    for path, info in walk(folder):
        name, full = os.fsencode(path), f"{folder}/{path}"
        if stat.S_ISLNK(info.st_mode):
            target = os.readlink(os.fsencode(full))
            head = _HEAD.pack(len(name), info.st_mode, 0, len(target), 1)
            yield head + name + _EXTENT.pack(0, len(target)) + target
        elif stat.S_ISDIR(info.st_mode):
            yield _HEAD.pack(len(name), info.st_mode, info.st_mtime_ns, 0, 0) + name
        elif stat.S_ISREG(info.st_mode):
            yield from _file(full, name, info)
    yield _HEAD.pack(0, 0, 0, 0, 0)


def _file(full: str, name: bytes, info: os.stat_result) -> Iterator[bytes]:
    with open(os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        extents = list(_extents(file.fileno(), info.st_size))
        head = _HEAD.pack(len(name), info.st_mode, info.st_mtime_ns, info.st_size, len(extents))
        yield head + name + b"".join(_EXTENT.pack(*extent) for extent in extents)
        for offset, size in extents:
            file.seek(offset)
            while size:
                piece = file.read(min(size, _PIECE))
                if not piece:
                    raise OSError(f"{name!r} became shorter while it was read")
                size -= len(piece)
                yield piece


def _extents(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    at = 0
    while at < size:
        try:
            data = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError:  # only a hole is left
            return
        at = os.lseek(descriptor, data, os.SEEK_HOLE)
        yield data, at - data


def walk(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every entry below a folder, folders first.

    What their owner took from himself can be read while its entry is being looked at; at the end
    everything has the mode that it had.
    """
    locked: list[tuple[str, int]] = []
    waiting = [("", 0)]
    try:
        while waiting:
            prefix, depth = waiting.pop()
            for entry in list(os.scandir(f"{folder}/{prefix}")):
                info, path = entry.stat(follow_symlinks=False), prefix + entry.name
                kind, mode = stat.S_IFMT(info.st_mode), stat.S_IMODE(info.st_mode)
                needed = {stat.S_IFDIR: 0o700, stat.S_IFREG: 0o400}.get(kind, 0)
                if mode & needed != needed:
                    os.chmod(f"{folder}/{path}", mode | needed)
                    locked.append((f"{folder}/{path}", mode))
                yield path, info
                if kind == stat.S_IFDIR and depth < _MAX_DEPTH:
                    waiting.append((path + "/", depth + 1))
    finally:
        for path, mode in reversed(locked):
            os.chmod(path, mode)


def unpack(read: Read, folder: str) -> int:
    """Write what ``pack`` made into an empty folder; returns how many entries there are.

    Args:
        read: Returns exactly so many bytes.
        folder: Where to.
    """
    count, folders = 0, []
    while True:
        length, mode, time_ns, size, extents = _HEAD.unpack(read(_HEAD.size))
        if not length:
            break
        count += 1
        full = f"{folder}/{os.fsdecode(read(length))}"
        places = [_EXTENT.unpack(read(_EXTENT.size)) for _ in range(extents)]
        if stat.S_ISDIR(mode):
            os.mkdir(full, 0o700)
            folders.append((full, mode, time_ns))
        elif stat.S_ISLNK(mode):
            os.symlink(read(size), os.fsencode(full))
        else:
            _write(read, full, size, places)
            _mark(full, mode, time_ns)
    for full, mode, time_ns in reversed(folders):
        _mark(full, mode, time_ns)
    return count


def _write(read: Read, full: str, size: int, places: list[tuple[int, int]]) -> None:
    with open(full, "xb") as file:
        for offset, length in places:
            file.seek(offset)
            while length:
                piece = read(min(length, _PIECE))
                file.write(piece)
                length -= len(piece)
        file.truncate(size)


def _mark(full: str, mode: int, time_ns: int) -> None:
    os.utime(full, ns=(time_ns, time_ns))
    os.chmod(full, stat.S_IMODE(mode))


def copy(source: str, target: str) -> None:
    """Lay a trusted tree into an empty folder: files in random order, so that no number tells."""
    entries = list(walk(source))
    folders = [(path, info) for path, info in entries if stat.S_ISDIR(info.st_mode)]
    others = [(path, info) for path, info in entries if not stat.S_ISDIR(info.st_mode)]
    for path, _ in folders:
        os.mkdir(f"{target}/{path}", 0o700)
    random.SystemRandom().shuffle(others)
    for path, info in others:
        if stat.S_ISLNK(info.st_mode):
            os.symlink(os.readlink(f"{source}/{path}"), f"{target}/{path}")
            continue
        mode = stat.S_IMODE(info.st_mode)
        old = os.open(f"{source}/{path}", os.O_RDONLY | os.O_CLOEXEC)
        new = os.open(f"{target}/{path}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            left = info.st_size
            while left:
                left -= os.sendfile(new, old, info.st_size - left, left)
            os.utime(new, ns=(info.st_mtime_ns, info.st_mtime_ns))
        finally:
            os.close(old)
            os.close(new)
    for path, info in reversed(folders):
        _mark(f"{target}/{path}", info.st_mode, info.st_mtime_ns)
