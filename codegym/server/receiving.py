"""Writing a layer that a client sends. No name and no length of it is trusted."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from codegym.sandbox.remote.folders import digest_of
from codegym.sandbox.remote.messages import Entry, Put

MAX_BYTES = 8 << 30
_MAX_ENTRIES = 1_000_000
_MAX_PATH_BYTES = 3000  # below a folder of ours, within what the kernel takes
_MAX_NAME_BYTES = 255
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Take = Callable[[], bytes]


class RefusedError(Exception):
    """What a client sends is not what it says, or leads out of its layer."""


def check(put: Put) -> None:
    """Look at a layer's list: every name stays inside, every folder is listed, no bit is special.

    A link may point anywhere: it is followed inside sandboxes only, and nothing is written through
    one, since what has something below it is a folder of the list.

    Raises:
        RefusedError: It is not to be written.
    """
    kinds = {entry.path: entry.kind for entry in put.entries}
    if len(kinds) != len(put.entries) or len(kinds) > _MAX_ENTRIES or kinds.get("") != "folder":
        raise RefusedError("a layer is a folder, of names that each are there once")
    for entry in put.entries:
        if problem := _problem(entry, kinds):
            raise RefusedError(f"{entry.path!r}: {problem}")
    if sum(entry.size for entry in put.entries) > MAX_BYTES:
        raise RefusedError(f"a layer has at most {MAX_BYTES >> 30} GiB")
    if digest_of(put.entries) != put.digest:
        raise RefusedError("the list is not what its digest says")


def _problem(entry: Entry, kinds: dict[str, str]) -> str:
    try:
        parts, target = os.fsencode(entry.path).split(b"/"), os.fsencode(entry.content)
    except UnicodeEncodeError:
        return "no file can have this name"
    if entry.path and any(part in (b"", b".", b"..") for part in parts):
        return "it leads out of the layer, or is no plain name"
    too_long = any(len(part) > _MAX_NAME_BYTES for part in parts)
    if b"\0" in b"".join(parts) or too_long or len(entry.path) > _MAX_PATH_BYTES:
        return "no file can have this name"
    if entry.path and kinds.get(entry.path.rpartition("/")[0]) != "folder":
        return "it is below what is no folder"
    if entry.mode & ~0o777 or entry.size < 0 or not 0 <= entry.time_ns < 1 << 63:
        return "its permissions, size or time cannot be"
    match entry.kind:
        case "file":
            return "" if _DIGEST.fullmatch(entry.content) else "it has no digest"
        case "link":
            good = 0 < len(target) < _MAX_PATH_BYTES and b"\0" not in target and not entry.size
            return "" if good else "it points nowhere"
        case "folder":
            return "" if not entry.size and not entry.content else "a folder has no content"
    return f"{entry.kind!r} is neither file, folder nor link"


class Receiver:
    """Writes a layer whose list was checked.

    Args:
        dest: An empty folder.
        owner: (uid, gid) of all of it; None for this process's own.
        take: The next bytes of the files' contents, one after the other; never empty.
    """

    def __init__(self, dest: Path, owner: tuple[int, int] | None, take: Take) -> None:
        self._dest, self._take = str(dest), take
        self._owner = owner if owner != (os.geteuid(), os.getegid()) else None
        self._made = {""}
        self._held = b""

    def write(self, entries: Sequence[Entry]) -> None:
        """Write all of it. Raises ``RefusedError`` where a file is not what the list says."""
        for entry in entries:
            self._folder(entry.path if entry.kind == "folder" else entry.path.rpartition("/")[0])
            if entry.kind == "file":
                self._file(entry)
            elif entry.kind == "link":
                os.symlink(entry.content, self._at(entry.path))  # noqa: PTH211
                self._settle(entry, follow=False)
        if self._held:
            raise RefusedError("more was sent than the list says")
        folders = (entry for entry in entries if entry.kind == "folder")
        for entry in sorted(folders, key=lambda each: len(each.path), reverse=True):
            self._settle(entry)

    def _folder(self, path: str) -> None:
        if path not in self._made:
            self._folder(path.rpartition("/")[0])
            os.mkdir(self._at(path), 0o700)  # noqa: PTH102
            self._made.add(path)

    def _file(self, entry: Entry) -> None:
        total, left = hashlib.sha256(), entry.size
        with os.fdopen(os.open(self._at(entry.path), _NEW, 0o600), "wb") as file:
            while left:
                data = self._held or self._take()
                data, self._held = data[:left], data[left:]
                left -= len(data)
                total.update(data)
                file.write(data)
        if total.hexdigest() != entry.content:
            raise RefusedError(f"{entry.path!r}: the bytes are not what the list says")
        self._settle(entry)

    def _settle(self, entry: Entry, *, follow: bool = True) -> None:
        """Owner, permissions, time: what is given last, since each write changes the time."""
        path = self._at(entry.path)
        if self._owner:
            os.chown(path, *self._owner, follow_symlinks=False)
        if follow:
            os.chmod(path, entry.mode)  # noqa: PTH101
        os.utime(path, ns=(entry.time_ns, entry.time_ns), follow_symlinks=follow)

    def _at(self, path: str) -> str:
        return f"{self._dest}/{path}" if path else self._dest
