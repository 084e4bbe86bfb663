"""Tries many edits of functions in one session: a process forked for each, tests collected once.

Payload, loaded by ``run_suite`` where edits are tried, in a sandbox for that alone. It runs no test
in its own process, so each edit finds modules as an import left them. What it reports is a claim,
like all that comes out of a sandbox.

The work is ``{"tests": [node id, ...], "pieces": [{path, line, headers, text, future}, ...],
"mutants": [{"edits": [[piece, [[start, end, text], ...]], ...], "tests": [index, ...],
"cpu_sec": s, "wall_sec": s, "idle_sec": s}, ...], "memory_mb": m}``. For each mutant, in order, a
line ``{"mutant": n, "ended": "ran" | "cold" | "timed_out" | "crashed", "why": text, "failed":
[[test, "failed" | "error", exception], ...], "passed": [test, ...], "seconds": [[test, of the
processor, of waiting], ...]}``; before them one ``{"session": why it cannot be forked, or "",
"missing": [test, ...]}``.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import select
import shutil
import signal
import tempfile
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from codegym.grading.runners.payload.swap_code import Functions, Piece, Swap, UnfitError
else:
    from _cg_swap_code import Functions, Piece, UnfitError

MAX_RESULT_BYTES = 4 << 20
#: How often it is looked whether a mutant has anything to do.
TICK_SEC = 0.02
RANK = {"passed": 0, "skipped": 1, "failed": 2, "error": 3}

# Kept here, because tests under way may replace them in their modules.
_dumps, _write, _clock, _cpu = json.dumps, os.write, time.perf_counter, time.process_time


class Forker:
    """A pytest plug-in that takes the place of running the tests."""

    def __init__(self, work: dict[str, Any], channel: int) -> None:
        self._work, self._channel = work, channel
        self._worst, self._raised = "", ""
        self._items: list[Any] = []
        self._pieces: list[Any] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fork for every mutant."""
        by_id = {item.nodeid: item for item in session.items}
        self._items = [by_id.get(name) for name in self._work["tests"]]
        missing = [at for at, item in enumerate(self._items) if item is None]
        why = "threads" if len(os.listdir("/proc/self/task")) > 1 else ""
        self._send({"session": why, "missing": missing})
        if why:
            return True
        functions = Functions({piece["path"] for piece in self._work["pieces"]})
        self._pieces = [_piece(one, functions) for one in self._work["pieces"]]
        gc.collect()
        gc.freeze()
        for number, mutant in enumerate(self._work["mutants"]):
            self._send({**self._tried(number, mutant), "mutant": number})
        return True

    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> pytest.TestReport:
        """Say how a phase ended, and not why: that takes most of a failing test's time."""
        found: Any = call.excinfo
        said: Any = None
        outcome: Any = "passed"
        if found is not None:
            skipped = isinstance(found.value, pytest.skip.Exception)
            outcome, said = ("skipped", ("", 0, "")) if skipped else ("failed", "")
            self._raised = type(found.value).__name__
        return pytest.TestReport(
            item.nodeid, item.location, {}, outcome, said, call.when, duration=0.0
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst of set-up, call, tear-down and sub-tests."""
        outcome: str = report.outcome
        if report.failed:
            outcome = "failed" if report.when == "call" else "error"
        if not self._worst or RANK[outcome] > RANK[self._worst]:
            self._worst = outcome

    def _tried(self, number: int, mutant: dict[str, Any]) -> dict[str, Any]:
        """What becomes of a mutant."""
        try:
            swaps = [one for at, edits in mutant["edits"] for one in _fit(self._pieces[at], edits)]
        except UnfitError as error:
            return {"ended": "cold", "why": str(error)}
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
            return {"ended": "cold", "why": type(error).__name__}
        home = os.path.join(tempfile.gettempdir(), f"cg-{number}")
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._run(mutant, swaps, writing, home)
        os.close(writing)
        try:
            return _awaited(child, reading, mutant["wall_sec"], mutant["idle_sec"])
        finally:
            os.close(reading)
            shutil.rmtree(home, ignore_errors=True)

    def _run(self, mutant: dict[str, Any], swaps: list[Swap], channel: int, home: str) -> None:
        """In the child: run the tests, say how they ended, and end."""
        status = 1
        try:
            os.close(self._channel)
            _confine(mutant, self._work["memory_mb"], home)
            for function, code in swaps:
                function.__code__ = code
            result = _dumps(self._results(mutant["tests"])).encode() + b"\n"
            while result:
                result = result[_write(channel, result) :]
            status = 0
        finally:  # whatever was raised: nothing of the parent's may go on here
            os._exit(status)

    def _results(self, tests: list[int]) -> dict[str, Any]:
        failed: list[Any] = []
        passed: list[int] = []
        seconds: list[Any] = []
        items = [(at, self._items[at]) for at in tests if self._items[at] is not None]
        following = [item for _, item in items[1:]]
        for (at, item), after in zip(items, [*following, None], strict=True):
            self._worst, self._raised, began, cpu = "", "", _clock() - _queued(), _cpu()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._worst in ("failed", "error"):
                failed.append([at, self._worst, self._raised])
            elif self._worst == "passed":
                passed.append(at)
            cpu = _cpu() - cpu
            waited = max(0.0, _clock() - _queued() - began - cpu)
            seconds.append([at, round(cpu, 4), round(waited, 4)])
        return {"ended": "ran", "failed": failed, "passed": passed, "seconds": seconds}

    def _send(self, record: dict[str, Any]) -> None:
        line = _dumps(record).encode() + b"\n"
        while line:
            line = line[_write(self._channel, line) :]


def _piece(fields: dict[str, Any], functions: Functions) -> Any:
    """A piece, or why there is none."""
    try:
        return Piece(**fields, functions=functions)
    except (UnfitError, SyntaxError, ValueError, RecursionError) as error:
        return str(error) if isinstance(error, UnfitError) else type(error).__name__


def _fit(piece: Any, edits: list[tuple[int, int, str]]) -> list[Swap]:
    if isinstance(piece, str):
        raise UnfitError(piece)
    return piece.edited(edits)  # type: ignore[no-any-return]


def _confine(mutant: dict[str, Any], memory_mb: int, home: str) -> None:
    """A group, a folder and bounds of its own for the child, and nobody to listen to it."""
    os.setpgid(0, 0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.mkdir(home, 0o700)
    os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = home
    tempfile.tempdir = None
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[5]) * resource.getpagesize()
    bound = size + (memory_mb << 20)  # of data: threads reserve far more than they use
    with contextlib.suppress(ValueError):  # the sandbox's own is lower
        resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))
    hard = int(mutant["cpu_sec"]) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, mutant["cpu_sec"])


def _awaited(child: int, reading: int, wall_sec: float, idle_sec: float) -> dict[str, Any]:
    """Read the line that the child says, until it ends, or its time does."""
    said, now, late = b"", _clock(), False
    end = now + wall_sec
    while not said.endswith(b"\n") and len(said) < MAX_RESULT_BYTES:
        if select.select([reading], [], [], TICK_SEC)[0]:
            part = os.read(reading, 1 << 16)
            if not part:
                break
            said += part
        before, now = now, _clock()
        idle_sec -= now - before if _is_idle(child) else 0.0
        late = now > end or idle_sec < 0
        if late:
            break
    for kill in (os.kill, os.killpg):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    try:
        return json.loads(said) if said.endswith(b"\n") else _without_end(status, late)
    except (ValueError, RecursionError):
        return {"ended": "crashed", "why": "it said what is no result"}


def _queued() -> float:
    """For how long this process was ready to run and others ran instead, as far as is known."""
    try:
        with open("/proc/self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _is_idle(process: int) -> bool:
    """Whether all its threads sleep: however busy the machine is, that is no want of it."""
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/stat") as file:
                if not file.read().rpartition(")")[2].startswith(" S"):
                    return False
    except OSError:  # it ended
        return False
    return True


def _without_end(status: int, late: bool) -> dict[str, Any]:
    """What to say of a child that said nothing."""
    ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    late = late or ended_by in (signal.SIGPROF, signal.SIGXCPU)
    return {"ended": "timed_out" if late else "crashed", "why": f"status {status}"}
