"""What all test tools share: the request, programs with bounds, and the report."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_MESSAGE_CHARS = 4000
#: Bytes of a program's output that are read; one that prints more is not understood.
MAX_OUTPUT = 16 << 20
_PR_SET_DUMPABLE = 4
_PASSED, _FAILED = 0, 1


@dataclass(frozen=True)
class Request:
    """What to run.

    Attributes:
        ids: Exactly these tests; where empty, all.
        mark: What each line of the report begins with; no test's process knows it.
    """

    mark: str
    ids: frozenset[str]
    select: tuple[str, ...]
    deselect: tuple[str, ...]
    root: str
    channel: int
    build: tuple[str, ...]
    command: str
    reports: tuple[str, ...]

    def wants(self, test_id: str) -> bool:
        """Whether a test is asked for."""
        asked = not self.ids or test_id in self.ids
        return asked and not any(_is_below(test_id, one) for one in self.deselect)

    def wants_file(self, path: str) -> bool:
        """Whether a file has tests that may be asked for."""
        if self.ids:
            return any(one.startswith(path + "::") for one in self.ids)
        return self.selects(path) and path not in self.deselect

    def selects(self, path: str) -> bool:
        """Whether a file is in what is selected."""
        return any(_is_below(path, one.partition("::")[0]) for one in self.select)


def _is_below(path: str, folder: str) -> bool:
    folder = folder.rstrip("/")
    return folder == "." or path == folder or path.startswith((folder + "/", folder + "::"))


@dataclass
class Test:
    """What became of a test."""

    outcome: str
    seconds: float = 0.0
    message: str = ""


@dataclass
class Report:
    """Gathers what became of tests, and says each one once. Only what is asked for is said."""

    request: Request
    failed: bool = False
    _said: set[str] = field(default_factory=set)

    def file(self, path: str, tests: Iterable[tuple[str, Test]]) -> None:
        """Report the tests of one file; a name that it has twice is no test that can be told."""
        found: dict[str, Test] = {}
        for name, test in tests:
            test_id = f"{path}::{name}"
            if test_id in found:
                test = Test("error", 0.0, "E   several tests have this name")
            found[test_id] = test
        for test_id, test in found.items():
            if self.request.wants(test_id):
                self._send(test_id, test)

    def broken(self, path: str, message: str) -> None:
        """Report that a file's tests, or with ``"."`` all, could not be run."""
        self._send(path, Test("error", 0.0, message))

    def _send(self, test_id: str, test: Test) -> None:
        self.failed |= test.outcome in ("failed", "error")
        if test_id in self._said:
            return
        self._said.add(test_id)
        record: dict[str, Any] = {"id": test_id, "outcome": test.outcome}
        record["seconds"] = round(test.seconds, 6)
        if test.message:
            record["message"] = test.message[-MAX_MESSAGE_CHARS:]
        self.raw(record)

    def raw(self, record: Mapping[str, Any]) -> None:
        """Write one line."""
        line = f"{self.request.mark}{json.dumps(record)}\n".encode()
        while line:
            line = line[os.write(self.request.channel, line) :]


@dataclass(frozen=True)
class Ended:
    """How a program ended: its status (negative for a signal), and what it printed."""

    status: int
    out: str
    err: str
    seconds: float
    overflowed: bool = False
    late: bool = False

    @property
    def how(self) -> str:
        """In words."""
        if self.overflowed:
            return "it printed too much"
        if self.late:
            return "it took too long"
        if self.killed:
            return f"it was ended by {signal.Signals(self._signal).name}"
        return f"it ended with status {self.status}"

    @property
    def killed(self) -> bool:
        """Whether a signal ended it."""
        return self._signal in _SIGNALS

    @property
    def _signal(self) -> int:
        return -self.status if self.status < 0 else self.status - 128  # as a shell says it

    @property
    def tail(self) -> str:
        """The last it said."""
        return (self.err.strip() or self.out.strip())[-MAX_MESSAGE_CHARS // 2 :]


_SIGNALS = frozenset(int(one) for one in signal.Signals)


@dataclass(frozen=True)
class Limit:
    """What one program may take: seconds of processor time, and of wall time."""

    cpu_sec: int
    wall_sec: float


def run(
    argv: str | list[str],
    cwd: str,
    env: Mapping[str, str] | None = None,
    pass_fds: tuple[int, ...] = (),
    limit: Limit | None = None,
) -> Ended:
    """Run a program, or a shell command, to its end; what it started ends with it."""
    began, late = time.perf_counter(), False
    words = ["/bin/sh", "-c", argv] if isinstance(argv, str) else argv
    if limit is not None:
        words = ["/bin/sh", "-c", 'ulimit -t "$0"; exec "$@"', str(limit.cpu_sec), *words]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            child = subprocess.Popen(
                words,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=pass_fds,
                start_new_session=True,
            )
        except OSError as error:
            return Ended(127, "", f"{words[0]}: {error.strerror}", 0.0)
        try:
            child.wait(limit.wall_sec if limit else None)
        except subprocess.TimeoutExpired:
            late = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        status = child.wait()
        late = late or (limit is not None and status in (-signal.SIGXCPU, 128 + signal.SIGXCPU))
        printed, over = _read(out)
        seconds = time.perf_counter() - began
        return Ended(status, printed, _read(err)[0], seconds, over, late)


def _read(file: Any) -> tuple[str, bool]:
    """A file's text, and whether it is too much of it."""
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - MAX_OUTPUT))
    return file.read(MAX_OUTPUT).decode("utf-8", "replace"), size > MAX_OUTPUT


def said(*lines: str) -> str:
    """What a test raised, in the form in which messages mark it."""
    return "\n".join(f"E   {one}".rstrip() for each in lines for one in each.splitlines())


def frame(root: str, text: str) -> str:
    """The first place in the project's own files that a text names, as ``path:line: ``."""
    for path, line in re.findall(r"(?:file://)?([^\s():\"']+):(\d+)(?::\d+)?", text):
        inside = os.path.relpath(os.path.join(root, path), root)
        if not inside.startswith("..") and os.path.isfile(os.path.join(root, inside)):
            return f"{inside}:{line}: "
    return ""


def files_of(request: Request, is_test: Callable[[str], bool]) -> Iterator[str]:
    """The files of tests that are asked for, in order: named ones, and those in named folders."""
    seen: set[str] = set()
    for one in request.select:
        name = os.path.normpath(one.partition("::")[0])
        top = os.path.join(request.root, name)
        found = [name] if os.path.isfile(top) else sorted(_below(request.root, top, is_test))
        for path in found:
            if path not in seen and request.wants_file(path):
                seen.add(path)
                yield path


def _below(root: str, top: str, is_test: Callable[[str], bool]) -> Iterator[str]:
    for where, folders, names in os.walk(top):
        folders[:] = [one for one in folders if one != "node_modules" and not one.startswith(".")]
        for name in names:
            path = os.path.relpath(os.path.join(where, name), root)
            if is_test(path):
                yield path


def built(report: Report) -> bool:
    """Run the build commands; where one fails, that is reported of all tests."""
    for command in report.request.build:
        ended = run(command, report.request.root)
        if ended.status != 0:
            report.broken(".", f"{ended.tail}\n" + said(f"`{command}` failed: {ended.how}"))
            return False
    return True


def ask() -> dict[str, Any]:
    """What is asked for. From now on nothing that is started may open this process's memory."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    asked: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    os.set_inheritable(asked["channel"], False)
    os.chdir(asked["root"])
    return asked


def request_of(asked: Mapping[str, Any]) -> Request:
    """The request that every tool gets."""
    return Request(
        mark=asked["mark"],
        ids=frozenset(asked["ids"]),
        select=tuple(asked["select"]),
        deselect=tuple(asked["deselect"]),
        root=asked["root"],
        channel=asked["channel"],
        build=tuple(asked["build"]),
        command=asked["command"],
        reports=tuple(asked["reports"]),
    )


def main(tool: Callable[[Report], None]) -> None:
    """Run what standard input asks for with a tool."""
    report = Report(request_of(ask()))
    if built(report):
        tool(report)
    sys.exit(_FAILED if report.failed else _PASSED)
