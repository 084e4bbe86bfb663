"""Runs pytest inside a sandbox and writes one JSON line a test to a descriptor.

Payload: this file is laid into sandboxes and never imported by the gym, so it needs nothing but the
standard library and the pytest of the image. It shares its process with the code under test, which
can therefore write to the same descriptor: whoever reads the report must treat it as a claim.

The request is one JSON object on standard input: ``ids`` (empty for all), ``select``, ``deselect``,
``import_paths``, ``config``, ``root``, ``channel``, and ``record`` (files to record lines of). With
``keys`` (empty for all) instead of ``ids`` tests are observed, and named by keys; ``limited``,
``limit_sec`` and ``nodes`` then say of which the time is limited, and whether to report node ids,
and ``projections`` which attributes stand for an instance of a class.
With ``brief`` nobody reads why a test failed; pytest takes long to say it. With ``reverse`` tests
run in the opposite order. With ``all_or_nothing`` those after one that failed have ``LIMIT_SEC``.
With ``changed``, which files those are, what ``keep_bytecode`` kept is used; with ``compile`` it is
reported. With ``work``, ``fork_mutants`` says what is done.
"""

from __future__ import annotations

import builtins
import gc
import importlib.util
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, ModuleType
from typing import Any

# pytest comes first: nothing in the workspace is on the import path yet, so nothing can shadow it.
import pytest

MAX_MESSAGE_CHARS = 4000
OWN_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
SECTIONS = {
    "pyproject.toml": b"[tool.pytest",
    "tox.ini": b"[pytest]",
    "setup.cfg": b"[tool:pytest]",
}
LIMIT_SEC = 5.0
STARVED = 0.9  # of the limit: a test that had less of the processor is waited for,
PATIENCE = 6.0  # so many times the limit at most
RANK = {"passed": 0, "skipped": 1, "failed": 2, "error": 3}

# Kept here, because tests under way may replace them in their modules.
_write, _dumps, _clock, _pid = os.write, json.dumps, time.perf_counter, os.getpid
_cpu = time.process_time
_signal, _timer = signal.signal, signal.setitimer


class Reporter:
    """A pytest plug-in: keeps to the tests that are asked for, and reports each once.

    ``names`` is what tests are called in the report, by node id; where None, they are their own.
    ``failed`` says whether one was reported that failed.
    """

    def __init__(
        self,
        channel: int,
        ids: Iterable[str],
        deselect: Iterable[str] = (),
        names: dict[str, str] | None = None,
        *,
        reverse: bool = False,
    ) -> None:
        self._channel, self._ids, self._owner = channel, frozenset(ids), _pid()
        self._reverse = reverse
        self._names = names
        self._deselect = frozenset(deselect)
        self._worst, self._message, self._started = "", "", 0.0
        self.failed = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what is not asked for: whole files are collected, ids are compared exactly."""
        if self._names is not None:
            self._names.update((item.nodeid, key_of(item)) for item in items)
        dropped = [item for item in items if not self._is_wanted(item.nodeid)]
        if dropped:
            items[:] = [item for item in items if self._is_wanted(item.nodeid)]
            config.hook.pytest_deselected(items=dropped)
        if self._reverse:
            items.reverse()

    def _is_wanted(self, nodeid: str) -> bool:
        asked_for = not self._ids or self._name(nodeid) in self._ids
        return asked_for and self._deselect.isdisjoint(_names_of(nodeid))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Report a file or class that could not be collected, under its own id."""
        if report.outcome != "passed":
            outcome = "error" if report.failed else "skipped"
            self._send(report.nodeid, outcome, 0.0, _message(report))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin a test."""
        self._worst, self._message, self._started = "", "", _clock()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst of set-up, call, tear-down and sub-tests."""
        outcome = _outcome(report)
        if not self._worst or RANK[outcome] > RANK[self._worst]:
            self._worst = outcome
            self._message = "" if outcome == "passed" else _message(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """End a test: this is when it is reported."""
        outcome = self._worst or "error"
        self.failed |= RANK[outcome] > RANK["skipped"]
        self._send(self._name(nodeid), outcome, _clock() - self._started, self._message)

    def _name(self, nodeid: str) -> str:
        return nodeid if self._names is None else self._names.get(nodeid, nodeid)

    def _send(self, nodeid: str, outcome: str, seconds: float, message: str) -> None:
        if _pid() != self._owner:  # a test forked, and its child came back here
            return
        record: dict[str, Any] = {"id": nodeid, "outcome": outcome, "seconds": round(seconds, 6)}
        if message:
            record["message"] = message[-MAX_MESSAGE_CHARS:]
        line = _dumps(record).encode() + b"\n"
        while line:
            line = line[_write(self._channel, line) :]


def _names_of(nodeid: str) -> Iterator[str]:
    """The test, the same without its parameters, its classes, its file and its folders."""
    yield nodeid
    name = nodeid.partition("[")[0]
    while name:
        yield name
        cut = max(name.rfind("::"), name.rfind("/"))
        name = name[: max(cut, 0)]


class Limiter:
    """A pytest plug-in: some tests have a few seconds; past it they failed, whatever they do.

    One that had less of the processor than that is waited for: others may keep the machine busy.
    ``limits`` says of a node id, when its test begins, whether it is such a one.
    """

    def __init__(self, limits: Callable[[str], bool], limit_sec: float) -> None:
        self._limits, self._limit_sec = limits, limit_sec
        self._began = 0.0, 0.0
        self._armed = self._late = False

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Stop it in time; again each second, for a test may catch what stops it."""
        self._late = False
        if not self._limits(item.nodeid):
            yield
            return
        self._began = _clock(), _cpu()
        before, self._armed = _signal(signal.SIGALRM, self._stop), True
        _timer(signal.ITIMER_REAL, self._limit_sec, 1.0)
        yield
        self._armed = False
        _timer(signal.ITIMER_REAL, 0)
        _signal(signal.SIGALRM, before)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One that was stopped did not pass."""
        if self._late and report.when == "call":
            report.outcome = "failed"

    def _stop(self, number: int, frame: FrameType | None) -> None:
        wall, cpu = _clock() - self._began[0], _cpu() - self._began[1]
        starved = cpu < STARVED * self._limit_sec and wall < PATIENCE * self._limit_sec
        if self._armed and not starved:
            self._late = True
            raise pytest.fail.Exception(f"it took more than {self._limit_sec:g} s", pytrace=False)


class Ending:
    """A pytest plug-in: all is reported, so pytest need not look for garbage five times."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Leave nothing to look at."""
        gc.freeze()


def key_of(item: pytest.Item) -> str:
    """A test's name without values of its parameters: their places instead, by name."""
    spec, parent = getattr(item, "callspec", None), item.parent
    if spec is None or parent is None:
        return item.nodeid
    places = ",".join(f"{name}={place}" for name, place in sorted(spec.indices.items()))
    name = getattr(item, "originalname", None) or item.name.partition("[")[0]
    return f"{parent.nodeid}::{name}{{{places}}}"


def _outcome(report: pytest.TestReport) -> str:
    """One phase's outcome; an expected failure did not pass, so it counts as skipped."""
    if report.failed:
        return "failed" if report.when == "call" else "error"
    return "skipped" if report.skipped else "passed"


def _message(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why it did not pass, as text."""
    reason = getattr(report, "wasxfail", None)
    if report.skipped and reason is not None:
        return ("expected to fail: " + str(reason)).rstrip(": ")
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    return str(report.longreprtext)


def _arguments(request: dict[str, Any]) -> list[str]:
    """Command line: whole files, so that one test that is gone does not stop the others."""
    config = next((name for name in request["config"] if _configures(name)), os.devnull)
    return [
        *("-c", config, "--rootdir=" + request["root"], "-p", "no:cacheprovider"),
        *("--continue-on-collection-errors", "--maxfail=0"),
        "--tb=line" if request.get("brief") else "--tb=short",
        *(("--assert=plain",) if request.get("brief") and "changed" not in request else ()),
        *(("--capture=sys",) if request.get("work") else ()),  # no file is shared by children
        *_selected(request),
    ]


def _selected(request: dict[str, Any]) -> list[str]:
    """The files and folders to collect, of those that exist."""
    asked = request["ids"] or request.get("keys", ())
    files = dict.fromkeys(name.partition("::")[0] for name in asked)
    wanted = files or request["select"]
    return [name for name in wanted if os.path.exists(name.partition("::")[0])]


def _configures(name: str) -> bool:
    """Whether pytest would read its configuration from such a file."""
    if not os.path.isfile(name):
        return False
    section = SECTIONS.get(os.path.basename(name))
    if section is None:
        return os.path.basename(name) in OWN_FILES
    with open(name, "rb") as file:
        return section in file.read()


def load(name: str) -> ModuleType:
    """A module that lies beside this file, whose folder is on no import path.

    It has builtins of its own: tests under way may replace those that all share.
    """
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location("_cg_" + name, place)
    if spec is None or spec.loader is None:
        raise SystemExit(f"not there: {place}")
    module = importlib.util.module_from_spec(spec)
    vars(module)["__builtins__"] = dict(vars(builtins))
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def load_observer() -> list[ModuleType]:
    """The observer, last, and what it needs; none can be imported afterwards."""
    parts = ("reading", "library", "canonical", "observer")
    modules = [load(name) for name in parts]
    for name in parts:
        del sys.modules["_cg_" + name]
    return modules


def _plugins(request: dict[str, Any]) -> list[object]:
    """What reports, observes and records."""
    channel, keys, deselect = request["channel"], request.get("keys"), request["deselect"]
    plugins: list[object] = [Ending()]
    if "changed" in request:
        load("keep_bytecode").use(request["root"], request["changed"])
    if request.get("compile"):
        plugins.append(load("keep_bytecode").Keeper(request["root"], channel))
    elif request.get("work"):
        load("swap_code")
        plugins.append(load("fork_mutants").Forker(request["work"], channel))
    elif keys is None:
        reverse = request.get("reverse", False)
        reporter = Reporter(channel, request["ids"], deselect, reverse=reverse)
        plugins.append(reporter)
        if request.get("all_or_nothing"):
            plugins.append(Limiter(lambda _: reporter.failed, LIMIT_SEC))
    else:
        names: dict[str, str] = {}
        *_, canonical, watching = load_observer()
        canonical.PROJECTIONS.update(request["projections"])
        observer = watching.Observer(channel, names, nodes=request["nodes"])
        sys.modules["_cg_observer"] = observer.face()
        limited = frozenset(request["limited"])
        limiter = Limiter(lambda nodeid: names.get(nodeid) in limited, request["limit_sec"])
        plugins += [Reporter(channel, keys, deselect, names), observer, limiter]
    if request.get("record"):
        plugins.append(load("record_lines").Recorder(request["record"], channel))
    return plugins


def main() -> None:
    """Run what standard input asks for, and end at once: no exit handler has a say."""
    request = json.loads(sys.stdin.buffer.read())
    os.chdir(request["root"])
    os.set_inheritable(request["channel"], False)
    paths = [os.path.normpath(os.path.join(request["root"], p)) for p in request["import_paths"]]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # for the interpreters that tests start
    if not _selected(request):
        return
    arguments = _arguments(request)
    sys.argv = ["pytest", *arguments]
    status = pytest.main(arguments, plugins=_plugins(request))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(status))


if __name__ == "__main__":  # not where a test's child process imports it again
    main()
