"""Looks at a repository from within its sandbox, for a policy that repairs by single edits.

A payload: it is written into the policy's own sandbox and started there. It runs the tests under a
tracer, and prints what it found as one line: sources, and how many failing and passing tests run
each of their lines.
"""

from __future__ import annotations

import base64
import contextlib
import fnmatch
import io
import json
import os
import subprocess
import sys
import zlib
from typing import Any


class Tracer:
    """A pytest plug-in: which lines of some files the tests run, and which tests fail."""

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files
        self._lines: set[tuple[str, int]] = set()
        self._failed = False
        self.failing = 0
        self.counts: dict[str, dict[int, list[int]]] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self._lines, self._failed = set(), False
        sys.settrace(self._enter)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A part of it ended."""
        self._failed = self._failed or report.failed

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """It ended."""
        sys.settrace(None)
        self.failing += self._failed
        for path, line in self._lines:
            self.counts.setdefault(path, {}).setdefault(line, [0, 0])[not self._failed] += 1

    def _enter(self, frame: Any, event: str, arg: Any) -> Any:
        path = self._files.get(frame.f_code.co_filename)
        if path is None:
            return None
        add = self._lines.add

        def trace(frame: Any, event: str, arg: Any) -> Any:
            add((path, frame.f_lineno))
            return trace

        return trace(frame, event, arg)


def survey(suffixes: list[str], protected: list[str]) -> dict[str, Any]:
    """What is known of the repository in the working directory."""
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True).stdout
    paths = [path for path in os.fsdecode(listed).split("\0") if path.endswith(tuple(suffixes))]
    paths = [path for path in paths if not any(fnmatch.fnmatch(path, one) for one in protected)]
    counts, failing = _traced(paths)
    hot = {path: lines for path, lines in counts.items() if any(f for f, _ in lines.values())}
    sources = {}
    for path in hot or paths:
        with (
            contextlib.suppress(UnicodeDecodeError),
            open(path, encoding="utf-8", newline="") as file,
        ):
            sources[path] = file.read()
    return {"sources": sources, "counts": hot, "failing": failing}


def _traced(paths: list[str]) -> tuple[dict[str, dict[int, list[int]]], int]:
    try:
        import pytest
    except ImportError:
        return {}, 0
    tracer = Tracer({os.path.realpath(path): path for path in paths})
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        pytest.main(["-q", "-p", "no:cacheprovider"], plugins=[tracer])
    return tracer.counts, tracer.failing


if __name__ == "__main__":
    sys.path.insert(0, "")
    found = json.dumps(survey(**json.loads(sys.argv[1])))
    sys.stdout.write(base64.b64encode(zlib.compress(found.encode())).decode())
