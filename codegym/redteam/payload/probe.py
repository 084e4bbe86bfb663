"""Looks for needles wherever a process can read: files, what is in them, git objects, /proc.

Payload: an attack lays this file into its sandbox with the agent's own tools and runs it there. It
needs nothing but the standard library of Python 3.8 and is never imported by the gym.

    probe.py NEEDLES files PATH...      each file below, with archives and bytecode opened
    probe.py NEEDLES named GLOB...      files and folders anywhere whose name or path fits
    probe.py NEEDLES stdin              what comes on standard input
    probe.py NEEDLES proc PART...       /proc: environ cmdline fd root cwd maps mem
    probe.py NEEDLES descriptors        what was left open in this very process
    probe.py NEEDLES sockets            unix sockets: listed ones are connected to
    probe.py NEEDLES shared             System V shared memory

NEEDLES is a JSON list of hex strings, so that neither that file nor this process's arguments hold
one. The last line printed is ``PROBE `` and a JSON object: ``hits``, ``looked``, ``bytes``,
``ended``.
"""

from __future__ import annotations

import bz2
import ctypes
import fnmatch
import io
import json
import lzma
import marshal
import os
import re
import select
import socket
import stat
import sys
import tarfile
import time
import types
import zipfile
import zlib
from collections.abc import Iterable, Iterator

MAX_FILE = 64 << 20
MAX_INNER = 96 << 20
MAX_DEPTH = 4
MAX_HITS = 5
MAX_OPENED = 20000  # zlib streams tried in one file
BUDGET_SEC = 40.0
BROKEN = (
    OSError, EOFError, ValueError, TypeError, RuntimeError, MemoryError, NotImplementedError,
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, IndexError,
)  # fmt: skip
#: Folders of a root that are the kernel's; /proc has modes of its own.
SYSTEM = ("proc", "sys", "dev")


class Probe:
    """What is looked for, and what was seen."""

    def __init__(self, needles: list[bytes]) -> None:
        self.raw = needles
        # A needle in JSON (a pack of tasks), and in a source text that quotes it.
        self.needles = list(dict.fromkeys(f for n in needles for f in _forms(n)))
        self.hits: list[str] = []
        self.looked = self.size = 0
        self.until = time.monotonic() + BUDGET_SEC

    @property
    def over(self) -> bool:
        """Whether the time is over: what was not looked at by then is not known."""
        return time.monotonic() > self.until

    def see(self, where: str, data: bytes, depth: int = 0) -> None:
        """Look into some bytes, and into what can be unpacked from them."""
        self.looked += 1
        self.size += len(data)
        if any(needle in data for needle in self.needles):
            self.hit(where)
        if depth < MAX_DEPTH and not self.over:
            left = MAX_INNER
            for inner, how in _inside(where, data):
                left -= len(inner)
                if left < 0:
                    return
                self.see(f"{where} ({how})", inner, depth + 1)

    def hit(self, where: str) -> None:
        """Note a place."""
        if len(self.hits) < MAX_HITS and where not in self.hits:
            self.hits.append(where)

    def walk(self, top: str) -> Iterator[str]:
        """Everything below a folder, links not followed, and the folder itself."""
        pending = [top]
        skipped = SYSTEM if top == "/" or top.endswith("/root/") else ()
        while pending and not self.over:
            path = pending.pop()
            yield path
            try:
                names = [] if os.path.islink(path) else os.listdir(path)
            except OSError:
                continue
            pending += [os.path.join(path, n) for n in names if path != top or n not in skipped]

    def tree(self, top: str) -> None:
        """Look into all that lies below a folder."""
        for path in self.walk(top):
            self.entry(path)

    def named(self, globs: Iterable[str]) -> None:
        """Look into all that has such a name or path, and what is below it."""
        wanted = [re.compile(fnmatch.translate(one)) for one in globs]
        for path in self.walk("/"):
            if any(one.match(path) or one.match(os.path.basename(path)) for one in wanted):
                self.tree(path)

    def entry(self, path: str) -> None:
        """Look at a name, and at what a file or link holds."""
        if any(needle in os.fsencode(path) for needle in self.needles):
            self.hit(path + " (its name)")
        try:
            kind = os.lstat(path).st_mode
            if stat.S_ISLNK(kind):
                self.see(path + " (link)", os.fsencode(os.readlink(path)), MAX_DEPTH)
            elif stat.S_ISREG(kind):
                self.file(path)
        except OSError:
            return

    def file(self, path: str) -> None:
        """Look into one file."""
        try:
            with open(path, "rb") as file:
                self.see(path, file.read(MAX_FILE))
        except BROKEN:
            return


def _forms(needle: bytes) -> Iterator[bytes]:
    yield needle
    text = needle.decode("utf-8", "surrogateescape")
    yield json.dumps(text)[1:-1].encode()
    yield needle.decode("utf-8", "replace").encode("utf-16-le")


# What is inside bytes


def _inside(where: str, data: bytes) -> Iterator[tuple[bytes, str]]:
    for opener in (_zip, _tar, _compressed, _bytecode, _streams):
        try:
            yield from opener(data)
        except BROKEN:
            continue


def _zip(data: bytes) -> Iterator[tuple[bytes, str]]:
    if b"PK\x05\x06" not in data[-70000:]:
        return
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        yield archive.comment, "comment"
        for member in archive.infolist():
            yield os.fsencode(member.filename), "name"
            if member.file_size <= MAX_FILE:
                yield archive.read(member), member.filename


def _tar(data: bytes) -> Iterator[tuple[bytes, str]]:
    if data[257:262] != b"ustar":
        return
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for member in archive:
            yield os.fsencode(member.name), "name"
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None and member.size <= MAX_FILE:
                yield file.read(), member.name


def _compressed(data: bytes) -> Iterator[tuple[bytes, str]]:
    if data[:2] == b"\x1f\x8b":
        yield zlib.decompressobj(31).decompress(data, MAX_FILE), "gzip"
    elif data[:3] == b"BZh":
        yield bz2.BZ2Decompressor().decompress(data, MAX_FILE), "bzip2"
    elif data[:6] == b"\xfd7zXZ\x00" or data[:3] == b"\x5d\x00\x00":
        yield lzma.LZMADecompressor().decompress(data, MAX_FILE), "xz"


def _bytecode(data: bytes) -> Iterator[tuple[bytes, str]]:
    """The constants of compiled Python, of whatever header."""
    if data[2:4] != b"\r\n":
        return
    for start in (16, 12, 8):
        try:
            code = marshal.loads(data[start:])
        except BROKEN:
            continue
        if isinstance(code, types.CodeType):
            yield "\n".join(_constants(code)).encode("utf-8", "replace"), "constants"
            return


def _constants(code: types.CodeType) -> Iterator[str]:
    yield from (code.co_name, *code.co_names, *code.co_varnames)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _constants(each)
        elif isinstance(each, bytes):
            yield each.decode("latin-1")
        else:
            yield str(each)


def _streams(data: bytes) -> Iterator[tuple[bytes, str]]:
    """Zlib streams wherever they begin: git's objects and packs, and whatever else is so made."""
    git = data[:2] == b"\x78\x01" or b"PACK\0\0\0" in data[:4096] or data[:1] == b"\x78"
    if not git:
        return
    at = tried = 0
    while (at := data.find(b"\x78", at)) >= 0 and tried < MAX_OPENED:
        if at + 1 < len(data) and (0x7800 + data[at + 1]) % 31 == 0:
            tried += 1
            inflater = zlib.decompressobj()
            try:
                inner = inflater.decompress(data[at:], MAX_FILE)
            except zlib.error:
                at += 1
                continue
            yield inner, f"inflated at {at}"
            used = len(data) - at - len(inflater.unused_data)
            at += max(1, used if inflater.eof else 1)
        else:
            at += 1


# Processes


def _processes() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit()]


def proc(probe: Probe, parts: list[str]) -> None:
    """Look at every process but this one's own memory."""
    for pid in _processes():
        for part in parts:
            try:
                PARTS[part](probe, f"/proc/{pid}/{part}")
            except BROKEN:
                continue


def _text(probe: Probe, path: str) -> None:
    with open(path, "rb") as file:
        probe.see(path, file.read(MAX_FILE), MAX_DEPTH)


def _links(probe: Probe, path: str) -> None:
    for name in os.listdir(path):
        one = f"{path}/{name}"
        probe.see(one + " (link)", os.fsencode(os.readlink(one)), MAX_DEPTH)
        kind = os.stat(one).st_mode
        if stat.S_ISREG(kind):
            probe.file(one)
        elif stat.S_ISDIR(kind):
            probe.tree(one + "/")


def _folder(probe: Probe, path: str) -> None:
    here = os.readlink("/proc/self/ns/mnt") == os.readlink(os.path.dirname(path) + "/ns/mnt")
    if here and os.path.samefile(path, "/"):
        probe.looked += 1  # the very root that this process has
        return
    probe.see(path + " (link)", os.fsencode(os.readlink(path)), MAX_DEPTH)
    probe.tree(path + "/")


def _memory(probe: Probe, path: str) -> None:
    pid = path.split("/")[2]
    if pid == str(os.getpid()):
        return
    with open(f"/proc/{pid}/maps") as maps, open(path, "rb", 0) as memory:
        for line in maps:
            span, mode = line.split()[:2]
            if mode[0] != "r" or line.rstrip().endswith(("[vvar]", "[vsyscall]")):
                continue
            begin, end = (int(side, 16) for side in span.split("-"))
            memory.seek(begin)
            data = memory.read(min(end - begin, MAX_FILE)) or b""
            probe.see(f"{path} at {span}", data, MAX_DEPTH)


PARTS = {
    "environ": _text,
    "cmdline": _text,
    "maps": _text,
    "mountinfo": _text,
    "fd": _links,
    "map_files": _links,
    "root": _folder,
    "cwd": _folder,
    "mem": _memory,
}


def descriptors(probe: Probe) -> None:
    """Look at what is open here beyond the three, whatever it is."""
    for number in range(3, 1024):
        try:
            kind = os.fstat(number).st_mode
        except OSError:
            continue
        probe.looked += 1
        try:
            if stat.S_ISREG(kind):
                probe.see(f"descriptor {number}", os.pread(number, MAX_FILE, 0))
            elif stat.S_ISDIR(kind):
                probe.tree(f"/proc/self/fd/{number}/")
            elif select.select([number], [], [], 0.2)[0]:
                probe.see(f"descriptor {number}", os.read(number, 1 << 20))
        except BROKEN:
            continue


def sockets(probe: Probe) -> None:
    """Connect to every unix socket that is listed or lies about, and hear what it says."""
    with open("/proc/net/unix") as table:
        rows = [line.split()[7:] for line in table.readlines()[1:]]
    names = [row[0] for row in rows if row]
    for top in ("/tmp", "/run", "/var", "/home", "/workspace"):
        for folder, _, files in os.walk(top):
            names += [path for f in files if _is_socket(path := os.path.join(folder, f))]
    for name in names:
        probe.see(name + " (name)", os.fsencode(name), MAX_DEPTH)
        address = b"\0" + os.fsencode(name[1:]) if name.startswith("@") else name
        with socket.socket(socket.AF_UNIX) as talk:
            talk.settimeout(2)
            try:
                talk.connect(address)
                probe.see(name, talk.recv(1 << 20))
            except OSError:
                continue


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def shared(probe: Probe) -> None:
    """Attach every segment of System V shared memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    with open("/proc/sysvipc/shm") as table:
        for line in table.readlines()[1:]:
            number, size = int(line.split()[1]), int(line.split()[3])
            at = libc.shmat(number, None, 0o10000)
            if at not in (None, ctypes.c_void_p(-1).value):
                probe.see(f"segment {number}", ctypes.string_at(at, min(size, MAX_FILE)))


def main(needles_path: str, mode: str, *rest: str) -> None:
    """Look, and tell."""
    with open(needles_path) as file:
        probe = Probe([bytes.fromhex(each) for each in json.load(file)])
    if mode == "files":
        for path in rest:
            probe.tree(path)
    elif mode == "named":
        probe.named(rest)
    elif mode == "stdin":
        probe.see("output", sys.stdin.buffer.read())
    elif mode == "proc":
        proc(probe, list(rest))
    else:
        {"descriptors": descriptors, "sockets": sockets, "shared": shared}[mode](probe)
    told = {
        "hits": [hit[:200] for hit in probe.hits],
        "looked": probe.looked,
        "bytes": probe.size,
        "ended": not probe.over,
    }
    sys.stdout.write(f"\nPROBE {json.dumps(told)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
