"""Keeps what modules compile to, so that other sandboxes with the same files need not compile.

Payload, loaded by ``run_suite``: in one sandbox to report it, in others to put it where the
interpreter and pytest look. It is used only where a file has the same size and time as then, which
says nothing of files that another task changes: those are named, and left out.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile

import pytest

BLOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bytecode.json")
MAX_BYTES = 24 << 20


class Keeper:
    """A pytest plug-in that runs no tests, and reports what importing them compiled."""

    def __init__(self, root: str, channel: int) -> None:
        self._root, self._channel = root, channel
        self._folder = tempfile.mkdtemp()
        sys.dont_write_bytecode, sys.pycache_prefix = False, self._folder

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool:
        """Tests are imported now."""
        found, left = {}, MAX_BYTES
        for folder, _, names in os.walk(self._folder + self._root):
            for name in sorted(names):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    data = file.read()
                left -= len(data)
                if left > 0:
                    key = os.path.relpath(path, self._folder + self._root)
                    found[key] = base64.b64encode(data).decode()
        line = json.dumps({"bytecode": found}).encode() + b"\n"
        while line:
            line = line[os.write(self._channel, line) :]
        return True


def use(root: str, changed: list[str]) -> None:
    """Put what was kept where it is looked for, but for changed files (relative to ``root``)."""
    folder = tempfile.mkdtemp()
    stems = tuple(name.removesuffix(".py") + "." for name in changed)
    with open(BLOB) as file:
        kept = json.load(file)
    for name, data in kept.items():
        if name.startswith(stems):
            continue
        path = os.path.normpath(f"{folder}{root}/{name}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))
    sys.pycache_prefix = folder
