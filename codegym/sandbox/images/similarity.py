"""Whether an image already holds what a task asks for.

A package's own name says little: its code may lie in an image under another one (a vendor folder, a
backport, a copy). So similarity decides: no file of an image may share a function's body, as
``fingerprint`` normalises it, with the tree that solves the task. ``refusal`` says the same early
and in words, for names that are known to fail.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from codegym.sandbox.images.fingerprint import MIN_NODES, fingerprints
from codegym.sandbox.images.lock import Pin, normalise
from codegym.store import LayerStore
from codegym.types import Image, Tree

_INDEX = "functions.json"
_VERSION = f"1 {MIN_NODES} {sys.version_info[:2]}"
_VENDOR_FOLDERS = ("_vendor", "_vendored", "vendor", "vendored", "extern")

#: Distributions that the standard library mirrors under another name.
_MIRRORS = {
    "argparse": "argparse",
    "asyncio": "asyncio",
    "backports-zoneinfo": "zoneinfo",
    "configparser": "configparser",
    "contextlib2": "contextlib",
    "dataclasses": "dataclasses",
    "enum34": "enum",
    "exceptiongroup": "builtins",
    "funcsigs": "inspect",
    "futures": "concurrent.futures",
    "importlib-metadata": "importlib.metadata",
    "importlib-resources": "importlib.resources",
    "mock": "unittest.mock",
    "pathlib2": "pathlib",
    "pysqlite3": "sqlite3",
    "simplejson": "json",
    "singledispatch": "functools",
    "subprocess32": "subprocess",
    "taskgroup": "asyncio",
    "tomli": "tomllib",
    "typing-extensions": "typing",
    "unittest2": "unittest",
    "zipp": "zipfile",
}


@dataclass(frozen=True, slots=True)
class Match:
    """A function of a tree whose body an image holds.

    Attributes:
        path: The tree's file.
        function: Qualified name in that file.
        image_path: Absolute path inside the image.
        image_function: Qualified name there.
    """

    path: str
    function: str
    image_path: str
    image_function: str


def shared_functions(image: Image, tree: Tree, store: LayerStore) -> tuple[Match, ...]:
    """Find the tree's Python functions that the image holds too.

    Args:
        image: Its layers are indexed once each (seconds), and the index kept in ``store``.
        tree: The tree that solves the task.
        store: Where layers are.

    Returns:
        One match for each such function, in path order; empty is what an environment needs.
    """
    index: dict[str, list[str]] = {}
    for layer in reversed(image.layers):
        index.update(_index(layer, store))
    found: list[Match] = []
    for path, file in sorted(tree.items()):
        if not path.endswith(".py") or file.mode == "120000":
            continue
        found += [
            Match(path, each.name, *index[each.digest])
            for each in fingerprints(file.data)
            if each.digest in index
        ]
    return tuple(found)


def refusal(name: str, pins: Iterable[Pin], image: Image | None = None) -> str | None:
    """Say why a distribution cannot become an environment, or None.

    Args:
        name: Its name on an index.
        pins: The environment's lock: what runs its tests.
        image: Looked through for copies in vendor folders, where it is there.
    """
    asked = normalise(name)
    module = _MIRRORS.get(asked)
    if any(pin.name == asked for pin in pins):
        return (
            f"{name} is part of what runs the tests (the lock pins it), so every sandbox holds "
            "its code, and with it the answers"
        )
    if module is not None or asked.replace("-", "_") in sys.stdlib_module_names:
        return (
            f"{name} is mirrored by the standard library ({module or asked}), which sandboxes hold"
        )
    copies = vendored(image) if image is not None else {}
    if asked in copies:
        return f"the image holds a copy of {name} at {copies[asked]}"
    return None


def _index(layer: Path, store: LayerStore) -> Mapping[str, list[str]]:
    """Digest of each function body in a layer to path and name."""

    def build(dest: Path) -> None:
        index = {}
        for path in _sources(layer):
            inside = f"/{path.relative_to(layer)}"
            for each in fingerprints(path.read_bytes()):
                index[each.digest] = [inside, each.name]
        (dest / _INDEX).write_text(json.dumps(index))

    key = hashlib.sha256(f"{layer.name} {_VERSION}".encode()).hexdigest()
    folder = store.publish(f"functions-{key}", build)
    index: dict[str, list[str]] = json.loads((folder / _INDEX).read_text())
    return index


def _sources(layer: Path) -> Iterator[Path]:
    for path in sorted(layer.rglob("*.py")):
        if path.is_file() and not path.is_symlink():
            yield path


def vendored(image: Image) -> dict[str, str]:
    """Names of what lies in vendor folders, to where."""
    found: dict[str, str] = {}
    for layer in image.layers:
        for folder in layer.rglob("*"):
            if folder.name not in _VENDOR_FOLDERS or not folder.is_dir():
                continue
            for entry in folder.iterdir():
                name = re.sub(r"\.py$", "", entry.name)
                if not name.startswith("_"):
                    found.setdefault(normalise(name), f"/{entry.relative_to(layer)}")
    return found
