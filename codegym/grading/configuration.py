"""The part of a configuration file that changes how pytest runs."""

from __future__ import annotations

import configparser
import tomllib
from typing import Any

#: Files that configure pytest and nothing else.
OWN = frozenset({"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
#: Files that may configure pytest among other things, and the sections that do.
SHARED = {
    "pyproject.toml": (),
    "setup.cfg": ("tool:pytest",),
    "tox.ini": ("pytest", "tool:pytest"),
    ".coveragerc": (),
}
_MAX_BYTES = 1_000_000  # of a file that is worth parsing


def pytest_part(name: str, data: bytes) -> object:
    """What a file says to pytest, in a form that compares equal where it says the same.

    Args:
        name: The file's name, without folders; one of ``OWN`` or ``SHARED``.
        data: Its content, which may be anything.

    Returns:
        None where it says nothing to pytest.
    """
    if name in OWN:
        return data
    unread = data if b"pytest" in data else None
    if len(data) > _MAX_BYTES:
        return unread
    try:
        text = data.decode()
        found = _toml(text) if name == "pyproject.toml" else _ini(text, SHARED[name])
    except (ValueError, RecursionError, configparser.Error):
        return unread
    return found or None


def _toml(text: str) -> Any:
    tool = tomllib.loads(text).get("tool")
    return tool.get("pytest") if isinstance(tool, dict) else None


def _ini(text: str, sections: tuple[str, ...]) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in sections if parser.has_section(name)}
