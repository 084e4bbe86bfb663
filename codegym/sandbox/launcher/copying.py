"""Copying a paused sandbox's files: what a fork starts from."""

from __future__ import annotations

import os
import signal
import stat
import time

_PARTS = ("up", "tmp", "home")
_ROUNDS = 20


def namespace_of(pid: int | str) -> str:
    """Which pid namespace a process is in; ``""`` where it has ended."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def members(first: int) -> list[int]:
    """All processes in the pid namespace of ``first``, as seen here."""
    wanted = namespace_of(first)
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    return [pid for pid in pids if wanted and namespace_of(pid) == wanted]


def resident_pages() -> dict[str, int]:
    """Pages of memory that the processes of each pid namespace have to themselves."""
    pages: dict[str, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (name := namespace_of(entry)):
            try:
                with open(f"/proc/{entry}/statm", "rb") as file:
                    _, resident, shared = file.read().split()[:3]
            except (OSError, ValueError):  # it ended meanwhile
                continue
            pages[name] = pages.get(name, 0) + int(resident) - int(shared)
    return pages


def freeze(first: int) -> list[int]:
    """Stop every process inside; returns those that were running.

    New processes can appear while we look, so this looks until nothing new is there.
    """
    stopped: list[int] = []
    for _ in range(_ROUNDS):
        running = [pid for pid in members(first) if _state(pid) not in "TZX"]
        for pid in running:
            try:
                os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)
            except ProcessLookupError:
                continue
        if not running:
            break
        time.sleep(0.0002)
    return stopped


def thaw(stopped: list[int]) -> None:
    """Let them go on."""
    for pid in stopped:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            continue


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return "X"


def copy_box(source: str, target: str) -> None:
    """Copy a box's files into another's fresh disk, overlay marks included."""
    for part in _PARTS:
        _copy_folder(f"{source}/{part}", f"{target}/{part}")


def _copy_folder(source: str, target: str) -> None:
    for entry in os.scandir(source):
        info = entry.stat(follow_symlinks=False)
        place = f"{target}/{entry.name}"
        if stat.S_ISDIR(info.st_mode):
            os.mkdir(place, 0o700)
            _copy_folder(entry.path, place)
        elif stat.S_ISLNK(info.st_mode):
            os.symlink(os.readlink(entry.path), place)
            continue
        elif stat.S_ISREG(info.st_mode):
            _copy_file(entry.path, place)
        elif stat.S_ISCHR(info.st_mode) and info.st_rdev == 0:  # overlayfs: "deleted"
            os.mknod(place, info.st_mode, 0)
        else:
            continue  # sockets, pipes: what held them open is not copied either
        _copy_marks(entry.path, place)
        os.chmod(place, stat.S_IMODE(info.st_mode))
        os.utime(place, ns=(info.st_atime_ns, info.st_mtime_ns))


def _copy_file(source: str, target: str) -> None:
    with open(source, "rb") as reader, open(target, "xb") as writer:
        size = os.fstat(reader.fileno()).st_size
        offset = 0
        while offset < size:
            try:
                data = os.lseek(reader.fileno(), offset, os.SEEK_DATA)
            except OSError:  # only a hole is left
                break
            end = os.lseek(reader.fileno(), data, os.SEEK_HOLE)
            os.lseek(writer.fileno(), data, os.SEEK_SET)
            while data < end:
                data += os.sendfile(writer.fileno(), reader.fileno(), data, end - data)
            offset = end
        os.ftruncate(writer.fileno(), size)


def _copy_marks(source: str, target: str) -> None:
    try:
        for name in os.listxattr(source, follow_symlinks=False):
            if name.startswith("user."):
                value = os.getxattr(source, name, follow_symlinks=False)
                os.setxattr(target, name, value, follow_symlinks=False)
    except OSError:  # a folder without read permission for its owner has no marks of ours
        return
