"""Runs unittest's tests inside a sandbox and writes one JSON line a test to a descriptor.

Payload: this file is laid into sandboxes and never imported by the gym. It shares its process with
the code under test, which can write to the same descriptor: the report is a claim.

The request is one JSON object on standard input: ``ids`` (empty for all), ``select``, ``deselect``,
``import_paths``, ``root``, ``channel``.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
import unittest
from collections.abc import Iterator
from types import TracebackType
from typing import Any

MAX_MESSAGE_CHARS = 4000
_RANK = {"passed": 0, "skipped": 1, "failed": 2, "error": 3}
_Error = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]

# Kept here, because tests under way may replace them in their modules.
_write, _dumps, _clock, _pid = os.write, json.dumps, time.perf_counter, os.getpid


class Loading(unittest.TestCase):
    """Imports a file of tests, as a test itself: whatever that raises is then told like a test's.

    Attributes:
        found: The file's tests, once it was run.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path, self.found = path, list[unittest.TestCase]()

    def runTest(self) -> None:  # noqa: N802
        """Import it."""
        self.found = list(flat(load(self.path)))


class Result(unittest.TestResult):
    """Reports each test once, with the worst of its sub-tests."""

    def __init__(self, channel: int, path: str) -> None:
        super().__init__()
        self._channel, self._path, self._owner = channel, path, _pid()
        self._worst, self._message, self._began = "passed", "", 0.0
        self.well = True

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        """Begin one."""
        super().startTest(test)
        self._worst, self._message, self._began = "passed", "", _clock()

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        """End it: this is when it is reported."""
        super().stopTest(test)
        if isinstance(test, Loading) and self._worst == "passed":
            return
        self._send(name_of(self._path, test), self._worst, _clock() - self._began, self._message)

    def addError(self, test: object, err: _Error) -> None:  # noqa: N802
        """It raised what is no failed assertion; or a class or module could not be set up."""
        if isinstance(test, unittest.TestCase):
            its_own = not isinstance(test, Loading) and not _in_fixture(err)
            self._note("failed" if its_own else "error", said(err))
        else:  # of a set-up for many, such as "setUpClass (module.Class)"
            group = str(test).partition("(")[2].rstrip(")").rpartition(".")[2]
            module = str(test).startswith(("setUpModule", "tearDownModule"))
            where = self._path if module else f"{self._path}::{group}"
            self._send(where, "error", 0.0, said(err))

    def addFailure(self, test: unittest.TestCase, err: _Error) -> None:  # noqa: N802
        """An assertion failed."""
        self._note("failed", said(err))

    def addSkip(self, test: object, reason: str) -> None:  # noqa: N802
        """It was skipped."""
        if isinstance(test, unittest.TestCase):
            self._note("skipped", reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: _Error) -> None:  # noqa: N802
        """It failed as it should, so it did not pass."""
        self._note("skipped", "expected to fail")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        """It passed and should not."""
        self._note("failed", "E   it was expected to fail, and passed")

    def addSubTest(  # noqa: N802
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: _Error | None
    ) -> None:
        """A part of a test ended; one that failed fails the test."""
        if err is not None:
            self._note("failed", f"{subtest.shortDescription() or subtest}\n{said(err)}")

    def _note(self, outcome: str, message: str) -> None:
        if _RANK[outcome] > _RANK[self._worst]:
            self._worst, self._message = outcome, message

    def _send(self, test_id: str, outcome: str, seconds: float, message: str) -> None:
        if _pid() != self._owner:  # a test forked, and its child came back here
            return
        self.well = self.well and _RANK[outcome] < _RANK["failed"]
        send(self._channel, test_id, outcome, seconds, message)


def send(channel: int, test_id: str, outcome: str, seconds: float, message: str) -> None:
    """Write one record."""
    record: dict[str, Any] = {"id": test_id, "outcome": outcome, "seconds": round(seconds, 6)}
    if message:
        record["message"] = message[-MAX_MESSAGE_CHARS:]
    line = _dumps(record).encode() + b"\n"
    while line:
        line = line[_write(channel, line) :]


def name_of(path: str, test: unittest.TestCase) -> str:
    """A test's id: its file, its class and its method."""
    if isinstance(test, Loading):
        return path
    method = getattr(test, "_testMethodName", "runTest")
    return f"{path}::{type(test).__qualname__}::{method}"


def said(err: _Error) -> str:
    """Where in the project something was raised, and what, marked as pytest marks it."""
    kind, value, trace = err
    frames = [
        f"{os.path.relpath(one.filename)}:{one.lineno}: in {one.name}"
        for one in traceback.extract_tb(trace)
        if os.path.abspath(one.filename).startswith(os.getcwd() + os.sep)
    ]
    lines = "".join(traceback.format_exception_only(kind, value)).splitlines()
    return "\n".join([*frames, *(f"E   {line}" for line in lines)])


def _in_fixture(err: _Error) -> bool:
    """Whether it was raised by what prepares a test or cleans up."""
    names = [one.name for one in traceback.extract_tb(err[2])]
    return bool({"setUp", "tearDown", "doCleanups"} & set(names))


def files(request: dict[str, Any]) -> Iterator[str]:
    """The files of tests: those that are named, and ``test*.py`` and ``*_test.py`` in folders."""
    asked = dict.fromkeys(one.partition("::")[0] for one in request["ids"])
    for one in asked or request["select"]:
        one = os.path.normpath(one.partition("::")[0])
        if os.path.isfile(one):
            yield one
        for where, folders, names in os.walk(one):
            folders[:] = sorted(name for name in folders if name.isidentifier())
            for name in sorted(names):
                if name.endswith(".py") and (name.startswith("test") or name.endswith("_test.py")):
                    yield os.path.normpath(os.path.join(where, name))


def load(path: str) -> unittest.TestSuite:
    """The tests of one file, imported by the name that it has on the import path."""
    folder, names = os.path.dirname(path), [os.path.basename(path).removesuffix(".py")]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        names.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    top = os.path.abspath(folder)
    if top not in sys.path:
        sys.path.insert(0, top)
    module = importlib.import_module(".".join(names))
    found = os.path.abspath(str(module.__file__))
    if found != os.path.abspath(path):
        raise ImportError(f"{path} is imported as {'.'.join(names)}, which is {found}")
    return unittest.TestLoader().loadTestsFromModule(module)


def flat(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """The tests of a suite, in order."""
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from flat(one)
        else:
            yield one


def _is_deselected(test_id: str, deselect: list[str]) -> bool:
    return any(test_id == one or test_id.startswith((one + "::", one + "/")) for one in deselect)


def run(request: dict[str, Any]) -> bool:
    """Run what is asked for; whether all of it passed."""
    wanted, deselect, well = frozenset(request["ids"]), request["deselect"], True
    for path in dict.fromkeys(files(request)):
        if _is_deselected(path, deselect):
            continue
        result, loading = Result(request["channel"], path), Loading(path)
        loading.run(result)
        chosen = unittest.TestSuite(
            test
            for test in loading.found
            if (not wanted or name_of(path, test) in wanted)
            and not _is_deselected(name_of(path, test), deselect)
        )
        chosen.run(result)
        well = well and result.well
    return well


def main() -> None:
    """Run what standard input asks for, and end at once: no exit handler has a say."""
    request = json.loads(sys.stdin.buffer.read())
    os.chdir(request["root"])
    os.set_inheritable(request["channel"], False)
    paths = [os.path.normpath(os.path.join(request["root"], p)) for p in request["import_paths"]]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # for the interpreters that tests start
    sys.argv = ["unittest"]
    well = run(request)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if well else 1)


if __name__ == "__main__":  # not where a test's child process imports it again
    main()
