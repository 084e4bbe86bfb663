"""Shows all that a process in this sandbox can read. Run with ``-I -S -B``; standard library only.

``look.py list CHANNEL`` tells of every file with its hash, and what other processes hold;
``look.py memory CHANNEL PID`` tells what is in a process's memory; ``look.py read CHANNEL`` takes
``[[path, offset, length], …]`` as JSON on its standard input and gives the bytes. All is written to
the channel: one line of JSON each, followed by as many bytes as its ``body`` says. It is told
nothing of what is looked for, and judges nothing.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable
from typing import IO, Any

LIVE_BYTES = 1 << 20
HELD_BYTES = 16 << 20
MEMORY_BYTES = 48 << 20
#: Devices and inodes of what was told of.
Seen = set[tuple[int, int]]
#: What blocks, acts, or never ends when it is read.
SKIPPED = {
    *("mem", "pagemap", "clear_refs", "kmsg", "kcore", "sysrq-trigger", "kpagecount", "kpageflags"),
    *("kpagecgroup", "kallsyms"),
}


def main() -> None:
    """Answer one request."""
    mode, channel = sys.argv[1], int(sys.argv[2])
    with open(channel, "wb", closefd=False) as out:
        if mode == "list":
            listing(out)
        elif mode == "memory":
            memory(out, sys.argv[3])
        else:
            for path, offset, length in json.load(sys.stdin):
                tell(out, read(path, offset, length), path=path)
        tell(out, end=True)


def tell(out: IO[bytes], body: bytes | None = None, **fields: Any) -> None:
    """Write one record."""
    if body is not None:
        fields["body"] = len(body)
    out.write(json.dumps(fields).encode() + b"\n" + (body or b""))


def listing(out: IO[bytes]) -> None:
    """Tell of all files and processes."""
    seen: Seen = set()
    walk(out, "/", seen)
    for pid in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
        process(out, pid, seen)
    proc(out, "/proc")
    proc(out, "/proc/self/net")


def walk(out: IO[bytes], top: str, seen: Seen) -> None:
    """Tell of all below a folder, links not followed, other mounts too."""
    pending = [top]
    while pending:
        folder = pending.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            names = sorted(allowed(os.listdir, folder))
        except OSError as error:
            tell(out, path=folder, kind="unread", why=reason(error))
            continue
        for name in names:
            path = os.path.join(folder, name)
            if path in ("/proc", "/sys") or path.endswith(("/root/proc", "/root/sys")):
                continue
            if entry(out, path, seen):
                pending.append(path)


def entry(out: IO[bytes], path: str, seen: Seen) -> bool:
    """Tell of one entry; returns whether it is a folder."""
    try:
        status = os.lstat(path)
        extra = attributes(path)
        if stat.S_ISLNK(status.st_mode):
            tell(out, path=path, kind="link", target=os.readlink(path), **extra)
        elif stat.S_ISREG(status.st_mode):
            seen.add((status.st_dev, status.st_ino))
            size, digest = hashed(path)
            tell(out, path=path, kind="file", size=size, digest=digest, **extra)
        else:
            folder = stat.S_ISDIR(status.st_mode)
            tell(out, path=path, kind="folder" if folder else "other", **extra)
            return folder
    except OSError as error:
        tell(out, path=path, kind="unread", why=reason(error))
    return False


def attributes(path: str) -> dict[str, Any]:
    """Extended attributes of a path, in hexadecimal."""
    try:
        names = os.listxattr(path, follow_symlinks=False)
        found = {name: os.getxattr(path, name, follow_symlinks=False).hex() for name in names}
    except OSError:
        found = {}
    return {"attributes": found} if found else {}


def allowed(how: Callable[[str], Any], path: str) -> Any:
    """Do it; what is the agent's own and shut, the agent can open."""
    try:
        return how(path)
    except PermissionError:
        os.chmod(path, 0o700)
        return how(path)


def opened(path: str) -> int:
    """A descriptor of a regular file."""
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)


def hashed(path: str) -> tuple[int, str]:
    """Size and hash of a file."""
    digest, size = hashlib.sha256(), 0
    descriptor = allowed(opened, path)
    try:
        while part := os.read(descriptor, 1 << 20):
            digest.update(part)
            size += len(part)
    finally:
        os.close(descriptor)
    return size, digest.hexdigest()


def read(path: str, offset: int, length: int) -> bytes:
    """Part of a file."""
    try:
        with open(opened(path), "rb") as file:
            file.seek(offset)
            return file.read(length)
    except OSError:
        return b""  # gone since it was listed: the hash tells


def process(out: IO[bytes], pid: str, seen: Seen) -> None:
    """Tell of one process: its files in /proc, its root, its descriptors."""
    base = "/proc/" + pid
    try:
        names = sorted(os.listdir(base))
    except OSError:
        return  # ended meanwhile
    tell(out, path=base, kind="process", mine=int(pid) == os.getpid())
    for name in names:
        if os.path.isfile(f"{base}/{name}") and not os.path.islink(f"{base}/{name}"):
            live(out, f"{base}/{name}", name)
    for link in ("root", "cwd"):
        walk_other(out, f"{base}/{link}", seen)
    try:
        descriptors = os.listdir(base + "/fd")
    except OSError as error:
        tell(out, path=base + "/fd", kind="unread", why=reason(error))
        return
    for descriptor in descriptors:
        held(out, f"{base}/fd/{descriptor}", seen)


def walk_other(out: IO[bytes], link: str, seen: Seen) -> None:
    """Walk a process's folder where it is none that was walked."""
    try:
        status = os.stat(link)
    except OSError:
        return
    if (status.st_dev, status.st_ino) not in seen:
        walk(out, link + "/.", seen)


def held(out: IO[bytes], link: str, seen: Seen) -> None:
    """A descriptor of a process: its name, and its content where no path leads to it."""
    try:
        tell(out, path=link, kind="link", target=os.readlink(link))
        status = os.stat(link)
        known = (status.st_dev, status.st_ino) in seen
        if stat.S_ISDIR(status.st_mode) and not known:
            walk(out, link + "/.", seen)
        elif (
            stat.S_ISREG(status.st_mode)
            and not known
            and not os.readlink(link).startswith("/proc/")
        ):
            live(out, link, "", HELD_BYTES)
    except OSError as error:
        if error.errno != errno.ENOENT:
            tell(out, path=link, kind="unread", why=reason(error))


def proc(out: IO[bytes], folder: str) -> None:
    """Files of the kernel's that are of no process."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        path = f"{folder}/{name}"
        if name.isdigit() or os.path.islink(path):
            continue
        if os.path.isdir(path):
            proc(out, path)
        else:
            live(out, path, name)


def live(out: IO[bytes], path: str, name: str, bound: int = LIVE_BYTES) -> None:
    """A file whose content is made when it is read, or that has no path."""
    if name in SKIPPED:
        return
    parts, size = [], 0
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            while size < bound and (part := os.read(descriptor, 1 << 16)):
                parts.append(part)
                size += len(part)
            if size >= bound:
                tell(out, path=path, kind="unread", why=f"only its first {size} bytes")
        finally:
            os.close(descriptor)
    except OSError:
        return  # refused to this process as to any other inside
    tell(out, b"".join(parts), path=path, kind="live")


def memory(out: IO[bytes], pid: str) -> None:
    """Tell what is in a process's writable memory."""
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
            left = MEMORY_BYTES
            for line in maps:
                span, rights = line.split()[:2]
                if "w" not in rights:
                    continue  # what cannot be written is a file's
                start, end = (int(word, 16) for word in span.split("-"))
                if end - start > left:
                    tell(out, path=f"/proc/{pid}/mem", kind="unread", why=f"{span} is too large")
                    continue
                left -= end - start
                try:
                    mem.seek(start)
                    body = mem.read(end - start)
                except (OSError, ValueError, OverflowError):
                    continue  # not there: a guard page
                tell(out, body, path=f"/proc/{pid}/mem {span}", kind="live")
    except OSError as error:
        tell(out, path=f"/proc/{pid}/mem", kind="unread", why=reason(error))


def reason(error: OSError) -> str:
    """An error in words."""
    return os.strerror(error.errno or 0)


main()
