"""Query files in sections: ``;; name`` begins one, for the operator of that name."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from functools import cache
from importlib import resources

from tree_sitter import Query

from codegym.syntax import load_language

_HEADING = re.compile(r"^;; (\w+)$", re.MULTILINE)


def sections(files: Iterable[str]) -> dict[str, str]:
    """The sections of query files, by name; those of one name are joined."""
    found: dict[str, str] = {}
    for file in files:
        text = resources.files(__package__).joinpath("queries", file).read_text("utf-8")
        parts = _HEADING.split(text)
        for name, patterns in zip(parts[1::2], parts[2::2], strict=True):
            found[name] = found.get(name, "") + patterns
    return found


_alone = threading.Lock()


@cache
def compiled(language: str, patterns: str) -> Query:
    """A section's query, compiled once.

    Raises:
        UnavailableError: The language's grammar is not installed.
    """
    with _alone:  # two threads that compile at once crash the process
        return Query(load_language(language), patterns)
