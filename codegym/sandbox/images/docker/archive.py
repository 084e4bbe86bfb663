"""A container's files as a layer: read entry by entry, never extracted by the archive's own rules.

Devices, owners and privileges stay behind; everything else is kept or refused, so that a sandbox
finds what the container would.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from codegym.errors import DataError
from codegym.sandbox.images import etc, programs
from codegym.sandbox.images.listing import FORBIDDEN
from codegym.sandbox.images.settling import EPOCH_SEC, settle
from codegym.sandbox.images.venv import VENV

_FORMAT = "1"
#: The engine puts these into every archive of a container.
_ENGINES = frozenset({".dockerenv", "etc/hostname", "etc/hosts", "etc/mtab", "etc/resolv.conf"})
_MAX_LINKS = 40
_MOUNTED = ("dev", "proc", "sys")


class RootArchive:
    """A container's archive, checked.

    Args:
        archive: Untrusted, and seekable.
        dockerfile: To blame.

    Raises:
        DataError: It holds what no sandbox may, or lacks what each needs.
    """

    def __init__(self, archive: tarfile.TarFile, dockerfile: Path) -> None:
        self._archive, self._dockerfile = archive, dockerfile
        self._entries = dict(self._kept())
        self._check()

    def _kept(self) -> Iterator[tuple[str, tarfile.TarInfo]]:
        for member in self._archive:
            path = posixpath.normpath(member.name)
            if path.startswith(("/", "../")) or path == "..":
                raise DataError(self._dockerfile, f"its image holds an entry named {path!r}")
            device = not (member.isreg() or member.isdir() or member.issym() or member.islnk())
            if path == "." or device or path in _ENGINES or path.split("/")[0] in _MOUNTED:
                continue
            yield path, member

    def _check(self) -> None:
        """Raise ``DataError`` for what no sandbox may hold, and for what it cannot do without."""
        unwanted = [
            path
            for path in self._entries
            if not path.startswith(f"{VENV[1:]}/") and FORBIDDEN.intersection(path.split("/"))
        ]
        if unwanted:
            raise DataError(
                self._dockerfile,
                f"its image holds /{unwanted[0]}, and an installer or what one installed beside "
                f"{VENV} may hold copies of the answers; end its first stage with "
                '`RUN ["python3", "-I", "/codegym/install.py"]`',
            )
        needed = [f"{folder}/{name}" for name in programs.REQUIRED for folder in ("bin", "usr/bin")]
        missing = [path for path in (*needed, f"{VENV[1:]}/bin/python") if not self._leads(path)]
        if missing:
            raise DataError(
                self._dockerfile,
                f"its image has no program at /{missing[0]}, which every sandbox needs; "
                "choose a base image (`--base`) that has it",
            )

    def _leads(self, path: str) -> bool:
        """Whether a path leads to a file, links of its folders and itself followed."""
        for _ in range(_MAX_LINKS):
            parts = path.split("/")
            for count in range(1, len(parts) + 1):
                entry = self._entries.get("/".join(parts[:count]))
                if entry is not None and entry.issym():
                    beside = "/".join(parts[: count - 1])
                    there = posixpath.join("/", beside, entry.linkname, *parts[count:])
                    path = posixpath.normpath(there).lstrip("/")
                    break
            else:
                found = self._entries.get(path)
                return found is not None and not found.isdir()
        return False

    def digest(self) -> str:
        """Hash of all that ``write`` writes; times apart."""
        total = hashlib.sha256(_FORMAT.encode())
        for path, entry in sorted(self._entries.items()):
            about = f"{entry.type!r} {entry.mode & 0o100} {entry.size} {entry.linkname}"
            total.update(f"\0{path}\0{about}\0".encode("utf-8", "surrogateescape"))
            if entry.isreg():
                with self._open(entry) as content:
                    while part := content.read(1 << 20):
                        total.update(part)
        return total.hexdigest()

    def write(self, dest: Path) -> None:
        """Fill an empty folder. Links come last, so that no file is ever written through one."""
        kinds: tuple[tuple[Callable[[tarfile.TarInfo], bool], _Writer], ...] = (
            (tarfile.TarInfo.isdir, lambda at, _: at.mkdir(parents=True, exist_ok=True)),
            (tarfile.TarInfo.isreg, self._write_file),
            (tarfile.TarInfo.islnk, lambda at, entry: at.hardlink_to(dest / _target(entry))),
            (tarfile.TarInfo.issym, lambda at, entry: at.symlink_to(entry.linkname)),
        )
        try:
            for is_kind, write in kinds:
                for path, entry in self._entries.items():
                    if is_kind(entry):
                        write(dest / path, entry)
        except (FileExistsError, FileNotFoundError, NotADirectoryError, PermissionError) as error:
            raise DataError(self._dockerfile, f"its image cannot be laid out: {error}") from error
        for name in _MOUNTED:
            (dest / name).mkdir()
        hosts = dest / "etc/hosts"
        hosts.write_text(etc.TEXTS["etc/hosts"])
        os.utime(hosts, (EPOCH_SEC, EPOCH_SEC))
        (dest / "etc/mtab").symlink_to(etc.LINKS["etc/mtab"])
        settle(dest, file_times=True)

    def _write_file(self, at: Path, entry: tarfile.TarInfo) -> None:
        with self._open(entry) as content, at.open("xb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        at.chmod(0o755 if entry.mode & 0o100 else 0o644)
        os.utime(at, (entry.mtime, entry.mtime))

    def _open(self, entry: tarfile.TarInfo) -> IO[bytes]:
        content = self._archive.extractfile(entry)
        if content is None:
            raise DataError(self._dockerfile, f"its image's {entry.name} cannot be read")
        return content


_Writer = Callable[[Path, tarfile.TarInfo], object]


def _target(entry: tarfile.TarInfo) -> str:
    return posixpath.normpath(f"/{entry.linkname}").lstrip("/")
