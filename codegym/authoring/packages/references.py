"""What a user names: a package of an index, a git repository, or a folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from codegym.authoring.packages.index import Requested
from codegym.errors import UsageError

_ADDRESS = re.compile(r"(?:git\+)?(https|file)://.+")
_FORMS = (
    "write pypi:NAME==VERSION, the path of a folder or of a git repository, or a repository's "
    "address (https://… or file://…)"
)


@dataclass(frozen=True, slots=True)
class Cloned:
    """A git repository by address or absolute path."""

    address: str


@dataclass(frozen=True, slots=True)
class Plain:
    """A folder that is no git repository."""

    folder: Path


def parse_reference(text: str) -> Requested | Cloned | Plain:
    """Read a reference.

    Raises:
        UsageError: It is none, or there is no such folder.
    """
    if text.startswith("pypi:"):
        return Requested.parse(text)
    if _ADDRESS.fullmatch(text):
        return Cloned(text.removeprefix("git+"))
    if "://" in text or re.match(r"[\w.-]+@[\w.-]+:", text):
        raise UsageError(f"{text!r} cannot be fetched: {_FORMS}. Clone others yourself")
    folder = Path(text).expanduser().resolve()
    if not folder.is_dir():
        raise UsageError(f"{text!r}: there is no such folder; {_FORMS}")
    return Cloned(str(folder)) if is_repository(folder) else Plain(folder)


def is_repository(folder: Path) -> bool:
    """Whether a folder is the root of a git checkout, or a bare repository."""
    bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    return bare or (folder / ".git").exists()
