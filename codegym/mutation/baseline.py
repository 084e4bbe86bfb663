"""What an environment's suite does on its newest commit: the tests that pass, and their lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from codegym.errors import TaskError, UsageError
from codegym.grading.progress import Progress
from codegym.grading.ready import Ready
from codegym.grading.setting import Setting
from codegym.grading.suites import SuiteRun
from codegym.grading.trials import Observed, run_on, summarise, together
from codegym.mutation.coverage import Coverage
from codegym.store import LayerStore
from codegym.tasks import Environment, Suite
from codegym.types import WORKSPACE, RecordingRunner, Task
from codegym.version import __version__

REPEATS = 3
_VERSION = "1"
_RECORD = "baseline.json"
#: Recording makes a suite this much slower, at worst.
_SLOWER = 20.0


@dataclass(frozen=True)
class Baseline:
    """An environment whose tests pass.

    Attributes:
        ready: Its newest commit, made ready as if it were a task.
        seconds: Each test that passes every time, to how long it takes.
        suite_sec: Wall time of one run of the suite.
        coverage: Which tests run which lines, or None where the suite's runner cannot say.
    """

    ready: Ready
    seconds: Mapping[str, float]
    suite_sec: float
    coverage: Coverage | None

    @property
    def suite(self) -> Suite:
        """The suite."""
        return self.ready.suite

    def expected_sec(self, ids: frozenset[str]) -> float:
        """How long a run of some tests takes, with the start of the runner."""
        start = max(0.0, self.suite_sec - sum(self.seconds.values()))
        return start + sum(self.seconds[one] for one in ids)


async def measure(
    setting: Setting,
    environment: Environment,
    progress: Progress,
    *,
    files: frozenset[str],
    store: LayerStore,
) -> Baseline:
    """Run an environment's first suite on its newest commit, or take what is known of it.

    Args:
        setting: Runs it.
        environment: Its head is what is mutated later.
        progress: Told what takes time.
        files: Those whose lines are recorded.
        store: Keeps what was found.

    Raises:
        UsageError: No test passes every time, or the suite does not come to its end.
        SandboxError: The infrastructure broke, more than once.
        DataError: The environment is broken.
        UnavailableError: This machine lacks something.
    """
    suite = environment.suites[0]
    try:
        ready = await setting.ready(_head(environment, suite), environment)
    except TaskError as error:
        raise UsageError(f"{environment.name}: {error.problem}") from error
    scope = [__version__, environment.digest, ready.image.digest, suite.name, sorted(files)]
    content = json.dumps([_VERSION, *scope])
    key = f"baseline-{hashlib.sha256(content.encode()).hexdigest()}"
    found = store.find(key)
    if found is None:
        record = await _measured(setting, ready, progress, files)
        found = store.publish(key, lambda folder: _write(folder / _RECORD, record))
    return _read(found / _RECORD, ready)


def _head(environment: Environment, suite: Suite) -> Task:
    """The newest commit in the form of a task that has nothing to do."""
    return Task(
        instance_id=f"{environment.name}-head",
        environment=environment.name,
        base_commit=environment.head,
        patch="",
        fail_to_pass=("?",),
        pass_to_pass=(),
        suite=suite.name,
    )


@dataclass(frozen=True, slots=True)
class _Measured:
    seconds: Mapping[str, float]
    suite_sec: float
    coverage: Mapping[str, Mapping[str, frozenset[int]]] | None


async def _measured(
    setting: Setting, ready: Ready, progress: Progress, files: frozenset[str]
) -> _Measured:
    name = ready.environment.name
    progress.note(f"running the tests of {name}, {REPEATS} times")
    runs = await together(run_on(setting, ready) for _ in range(REPEATS))
    observed = summarise(runs)
    passing = _passing(name, observed)
    coverage = None
    if isinstance(ready.runner, RecordingRunner):
        progress.note(f"recording which lines the tests of {name} run")
        inside = {f"{WORKSPACE}/{path}": path for path in sorted(files)}
        limit = ready.suite.timeout_sec * _SLOWER
        run = await run_on(setting, ready, timeout_sec=limit, record=tuple(inside))
        lines = ready.runner.lines(run.result.report)
        coverage = {
            test_id: {inside[file]: found[file] for file in found if file in inside}
            for test_id, found in lines.items()
            if not test_id or test_id in passing
        }
    suite_sec = max(run.result.seconds for run in runs)
    return _Measured(_durations(runs, passing), suite_sec, coverage)


def _passing(name: str, observed: Observed) -> frozenset[str]:
    passing = frozenset(one for one, said in observed.outcomes.items() if said == "passed")
    hint = f"`codegym environment list` shows where {name} lies; its suite is in environment.toml"
    if observed.problem:
        raise UsageError(f"the suite of {name} does not come to its end: {observed.problem} {hint}")
    if not passing:
        raise UsageError(f"no test of {name} passes every time, so none can tell a fault; {hint}")
    return passing


def _durations(runs: list[SuiteRun], passing: frozenset[str]) -> dict[str, float]:
    longest = dict.fromkeys(sorted(passing), 0.0)
    for run in runs:
        for record in run.records:
            if record.id in longest:
                longest[record.id] = max(longest[record.id], record.seconds)
    return longest


def _write(path: Path, measured: _Measured) -> None:
    coverage = None
    if measured.coverage is not None:
        coverage = {
            test_id: {name: sorted(lines) for name, lines in files.items()}
            for test_id, files in measured.coverage.items()
        }
    found = {"seconds": measured.seconds, "suite_sec": measured.suite_sec, "coverage": coverage}
    path.write_text(json.dumps(found))


def _read(path: Path, ready: Ready) -> Baseline:
    found = json.loads(path.read_text())
    coverage = found["coverage"] and Coverage(
        {
            test_id: {name: frozenset(lines) for name, lines in files.items()}
            for test_id, files in found["coverage"].items()
        }
    )
    return Baseline(ready, found["seconds"], found["suite_sec"], coverage)
