"""``requirements.lock``: every dependency pinned to a version and to hashes, and nothing else.

An option such as ``--index-url`` would let an environment choose where packages come from, and a
source distribution would run its build on the host: neither can be written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codegym.errors import DataError

_PIN = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[A-Za-z0-9._, -]*\])?\s*==\s*(?P<version>[^\s;#*]+)"
    r"\s*(?P<marker>;[^#]*?)?(?P<hashes>(?:\s+--hash=sha256:[0-9a-f]{64})*)\s*"
)
_FIX = "write it with `pip-compile --generate-hashes` or `uv pip compile --generate-hashes`"


@dataclass(frozen=True, slots=True)
class Pin:
    """One dependency. ``name`` is normalised; ``hashes`` are SHA-256 in hex, of its wheels."""

    name: str
    version: str
    hashes: tuple[str, ...]


def normalise(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(path: Path) -> tuple[tuple[Pin, ...], bytes]:
    """Read a lock file; returns its pins and its bytes.

    Raises:
        DataError: A line is no pinned requirement with at least one hash; or the file is missing.
    """
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, f"cannot be read: {error}") from error
    pins: dict[str, Pin] = {}
    for number, line in _joined(text):
        found = _PIN.fullmatch(line)
        if found is None:
            problem = f"{line!r} is not 'name==version' with hashes only; {_FIX}"
            raise DataError(path, problem, line=number)
        hashes = tuple(re.findall(r"[0-9a-f]{64}", found["hashes"]))
        pin = Pin(normalise(found["name"]), found["version"], hashes)
        if not hashes:
            raise DataError(path, f"{pin.name} has no hash; {_FIX}", line=number)
        if pin.name in pins and not found["marker"]:
            raise DataError(path, f"{pin.name} is pinned twice", line=number)
        pins[pin.name] = pin
    return tuple(pins.values()), raw


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Logical lines with the number of their first one; comments and blank lines left out."""
    whole, began = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(?:^|\s)#.*", "", line).rstrip()
        began = began if whole else number
        if line.endswith("\\"):
            whole += line[:-1].rstrip() + " "
            continue
        whole = (whole + line).strip()
        if whole:
            yield began, re.sub(r"\s+", " ", whole)
        whole = ""
    if whole.strip():
        yield began, whole.strip()
