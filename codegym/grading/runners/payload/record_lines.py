"""Records which lines of some files each test runs, and which tests start processes.

Payload, like ``run_suite``: laid beside it where lines are wanted, which is never in a policy's
sandbox nor in a grade's. What runs while tests are collected is reported under the id ``""``.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

#: A test that ran so many lines and none for the first time has shown what it runs: what is left
#: are long loops, which tracing would make many times longer.
ENOUGH = 500_000

_write, _dumps, _pid = os.write, json.dumps, os.getpid


class Recorder:
    """A pytest plug-in. It traces: a test that traces too is recorded only until it does."""

    def __init__(self, files: Iterable[str], channel: int) -> None:
        self._channel, self._owner = channel, _pid()
        self._seen: dict[str, set[int]] = {name: set() for name in files}
        self._old = 0  # lines in a row that had run before
        self._tracers = {name: self._tracer(lines) for name, lines in self._seen.items()}
        self._children = _children()
        self._start()

    def pytest_collection_finish(self) -> None:
        """All modules of tests are imported."""
        self._send("")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin a test, whatever the one before did to tracing."""
        for lines in self._seen.values():
            lines.clear()
        self._children = _children()
        self._start()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """End a test."""
        self._send(nodeid)

    def _start(self) -> None:
        self._old = 0
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A function begins, or a generator goes on: only those of the files are followed."""
        tracer = self._tracers.get(frame.f_code.co_filename)
        return None if tracer is None else tracer(frame, event, arg)

    def _tracer(self, lines: set[int]) -> Callable[[FrameType, str, Any], Any]:
        add = lines.add

        def trace(frame: FrameType, event: str, arg: Any) -> Any:
            line = frame.f_lineno
            if line not in lines:
                add(line)
                self._old = 0
            elif self._old > ENOUGH:
                sys.settrace(None)
            else:
                self._old += 1
            return trace

        return trace

    def _send(self, test_id: str) -> None:
        if _pid() != self._owner:
            return
        lines = {name: _ranges(found) for name, found in self._seen.items() if found}
        (before, faults), (now, more) = self._children, _children()
        # One that a test before left behind may end here: then a child is gone.
        started = not now <= before or (more > faults and now >= before)
        record = {"id": test_id, "lines": lines, "processes": started}
        line = _dumps(record).encode() + b"\n"
        while line:
            line = line[_write(self._channel, line) :]


def _children() -> tuple[frozenset[str], int]:
    """Processes that this one started and that are there, and page faults of those that ended."""
    found: set[str] = set()
    for name in glob.glob("/proc/self/task/*/children"):
        with contextlib.suppress(OSError), open(name) as file:
            found.update(file.read().split())
    return frozenset(found), resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt


def _ranges(lines: Iterable[int]) -> list[list[int]]:
    """First and last line of each run of lines."""
    found: list[list[int]] = []
    for line in sorted(line for line in lines if line):
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found
