"""A layer as a list of entries and their bytes: what its digest is of, and how it is sent."""

from __future__ import annotations

import hashlib
import json
import os
import random
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from codegym.errors import UsageError
from codegym.sandbox.remote.messages import Entry
from codegym.sandbox.remote.wire import PIECE

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def digest_of(entries: Sequence[Entry]) -> str:
    """Hash of a layer: names, kinds, permissions, times and content, whatever their order."""
    total = hashlib.sha256()
    for each in sorted(entries, key=lambda entry: entry.path):
        fields = each.path, each.kind, each.mode, each.time_ns, each.size, each.content
        total.update(json.dumps(fields).encode() + b"\n")
    return total.hexdigest()


def entries_of(layer: Path) -> list[Entry]:
    """Read a layer, following nothing. Order: random, so that numbers given in it tell nothing.

    Raises:
        UsageError: It has a device, a pipe or a socket. ``OSError``: it was removed meanwhile.
    """
    found = [_entry(str(layer), "")]
    for folder, folders, names in os.walk(layer, onerror=_raise):
        inside = os.path.relpath(folder, layer)
        prefix = "" if inside == "." else f"{inside}/"
        found += [_entry(f"{folder}/{name}", prefix + name) for name in (*folders, *names)]
    random.SystemRandom().shuffle(found)
    return found


def pieces_of(layer: Path, entries: Sequence[Entry]) -> Iterator[bytes]:
    """The bytes of all files, in the order of the entries, cut into pieces of one size.

    Raises:
        OSError: A file is no longer what its entry says.
    """
    held = bytearray()
    for entry in entries:
        if entry.kind != "file":
            continue
        left = entry.size
        with os.fdopen(os.open(layer / entry.path, _FILE), "rb") as file:
            while left:
                data = file.read(min(left, PIECE))
                if not data:
                    raise OSError(f"{layer / entry.path} was changed while it was sent")
                left -= len(data)
                held += data
                while len(held) >= PIECE:
                    yield bytes(held[:PIECE])
                    del held[:PIECE]
    if held:
        yield bytes(held)


def _entry(path: str, name: str) -> Entry:
    status = os.lstat(path)
    mode, time_ns = stat.S_IMODE(status.st_mode), status.st_mtime_ns
    if stat.S_ISLNK(status.st_mode):
        return Entry(name, "link", 0o777, time_ns, 0, os.readlink(path))  # noqa: PTH115
    if stat.S_ISDIR(status.st_mode):
        return Entry(name, "folder", mode, time_ns)
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{path} is neither file, folder nor link: no layer can have it")
    with os.fdopen(os.open(path, _FILE), "rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return Entry(name, "file", mode, time_ns, status.st_size, content)


def _raise(error: OSError) -> None:
    raise error
