"""Which paths are fit to cross at all, whatever they hold: pure laws over strings."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping

MAX_PATH_BYTES = 1024
MAX_PART_BYTES = 255
MAX_DEPTH = 32


def shape_problem(path: str) -> str:
    """Say why a path may not cross, or return ``""``.

    A path that may is relative, normalised, NFC, UTF-8, printable and bounded. What git keeps for
    itself is another rule's business.
    """
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "name is not UTF-8"
    if any(unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") for letter in path):
        return "name holds control characters"
    if unicodedata.normalize("NFC", path) != path:
        return "name is not in Unicode's composed form"
    parts = path.split("/")
    if "" in parts or "." in parts or ".." in parts or "\\" in path:
        return "path is not normalised"
    if size > MAX_PATH_BYTES or len(parts) > MAX_DEPTH:
        return "path is too long"
    if any(len(part.encode()) > MAX_PART_BYTES for part in parts):
        return "name is too long"
    return ""


def printable(path: str) -> str:
    """A path as it may be shown and stored: what is not printable is escaped."""
    return path if not shape_problem(path) else ascii(path)[1:-1][:MAX_PATH_BYTES]


def prefixes(path: str) -> Iterator[str]:
    """Its folders, outermost first, then itself: ``a``, ``a/b``, ``a/b/c``."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)
    yield path


def spellings(paths: Iterable[str], found: dict[str, str] | None = None) -> dict[str, str]:
    """Files and folders as a file system that ignores case knows them, to the first spelling.

    Args:
        paths: Files; their folders are added with them.
        found: What to add to.
    """
    found = {} if found is None else found
    for path in paths:
        for prefix in prefixes(path):
            found.setdefault(_folded(prefix), prefix)
    return found


def twin(path: str, known: Mapping[str, str]) -> str:
    """Another spelling of the path, or of a folder of it, that is known; else ``""``."""
    for prefix in prefixes(path):
        other = known.get(_folded(prefix), prefix)
        if other != prefix:
            return other
    return ""


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", path).casefold())
