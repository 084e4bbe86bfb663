"""What a root layer is to hold, as data: a list of files, links and folders."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: Folders that lie below ``usr`` on a merged host, and are links to there in every root.
MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")

_NOTHING = re.compile(r"(?!)")

#: A file or folder so named never enters a root: installers, and what packages were installed.
FORBIDDEN = frozenset(
    {
        *("site-packages", "dist-packages", "ensurepip", "pip", "setuptools", "pkg_resources"),
        *("EXTERNALLY-MANAGED", "sitecustomize.py", "usercustomize.py"),
    }
)


@functools.cache
def folder_links() -> Mapping[str, str]:
    """The root's links to folders: path to target, as ``bin`` to ``usr/bin``."""
    links: dict[str, str] = {}
    for name in MERGED:
        inner = Path("/usr", name)
        if inner.is_symlink() and inner.is_dir():
            links[f"usr/{name}"] = os.path.relpath(inner.resolve(), "/usr")
        if Path("/", name).is_dir():
            links[name] = f"usr/{name}"
    return links


def place(path: str | Path) -> str:
    """Where a host's file lies in the root: ``/bin/ls`` at ``usr/bin/ls``."""
    parts = os.path.normpath(path).lstrip("/").split("/")
    if len(parts) > 1 and parts[0] in MERGED:
        parts.insert(0, "usr")
    inner = folder_links().get("/".join(parts[:2])) if len(parts) > 2 else None
    if inner is not None:
        parts[:2] = ["usr", *inner.split("/")]
    return os.path.normpath("/".join(parts))


@dataclass
class Listing:
    """A root layer's content; every key is a path relative to the root.

    Attributes:
        files: Path to the host's file it is copied from.
        texts: Path to generated content.
        links: Path to a symbolic link's target.
        folders: Empty folders, mount points among them.
    """

    files: dict[str, Path] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def add(self, path: str | Path) -> None:
        """List a host's regular file, or a link together with what it leads to."""
        real, at = Path(path).resolve(), place(path)
        there = place(real)
        if not real.is_file() or FORBIDDEN.intersection(at.split("/")):
            return
        if not os.access(real, os.R_OK):  # such as a setuid program that only root may read
            return
        if at != there and _same_kind(at, there):
            self.links[at] = os.path.relpath(there, Path(at).parent)
            at = there
        self.files.setdefault(at, real)

    def add_folder(self, folder: Path, *, skip: re.Pattern[str] = _NOTHING) -> None:
        """List all regular files below a folder, without the names that ``skip`` matches whole."""
        for where, names, files in os.walk(folder):
            names[:] = [name for name in names if _wanted(name, skip)]
            for name in files:
                path = Path(where, name)
                if _wanted(name, skip) and path.is_file():
                    self.files.setdefault(place(path), path)

    def digest(self) -> str:
        """Hash of the content: the same on two machines that have the same files.

        Bytecode is left out: it follows from its source, and grows as the host is used.
        """
        total = hashlib.sha256()
        for at, source in sorted(self.files.items()):
            if not at.endswith(".pyc"):
                total.update(f"file {at}\0{mode_of(source):o}\0".encode() + _hash(source))
        for at, data in sorted(self.texts.items()):
            total.update(f"text {at}\0".encode() + hashlib.sha256(data).digest())
        for at, target in sorted({**folder_links(), **self.links}.items()):
            total.update(f"link {at}\0{target}\0".encode())
        for at in sorted(self.folders):
            total.update(f"folder {at}\0".encode())
        return total.hexdigest()


def mode_of(path: Path) -> int:
    """A file's mode in a layer: never setuid, always readable."""
    return 0o755 if path.stat().st_mode & 0o111 else 0o644


def _wanted(name: str, skip: re.Pattern[str]) -> bool:
    return name not in FORBIDDEN and skip.fullmatch(name) is None


def _same_kind(at: str, there: str) -> bool:
    """Whether a link can stay one: its end is inside what a root has, not, say, in a home."""
    return at.startswith("usr/") and there.startswith("usr/")


def _hash(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
