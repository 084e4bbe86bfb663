"""What an environment's suite does on its newest commit: the tests that pass, and their lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from codegym.errors import TaskError, UsageError
from codegym.grading.progress import Progress
from codegym.grading.ready import Ready
from codegym.grading.setting import Setting
from codegym.grading.suites import SuiteRun
from codegym.grading.trials import Observed, last_line, run_on, summarise, together
from codegym.mutation.coverage import Coverage
from codegym.store import LayerStore
from codegym.tasks import Environment, Suite
from codegym.types import WORKSPACE, Manner, RecordingRunner, Task, VaryingRunner
from codegym.version import __version__

REPEATS = 3
UNSTEADY = "does not end alike every time when several suites run at once"
BACKWARDS = "does not pass when the tests run backwards"
PROCESSES = "starts processes, so the load of the machine decides how it ends"

_VERSION = "4"
_RECORD = "baseline.json"
#: Recording makes a suite this much slower, at worst.
_SLOWER = 20.0
#: So much is shown of what a build printed, each line of it so far.
_SHOWN_LINES, _SHOWN_CHARS = 20, 300


@dataclass(frozen=True)
class Baseline:
    """An environment whose tests pass.

    Attributes:
        ready: Its newest commit, made ready as if it were a task.
        seconds: Each test that passes every time, to how long it takes.
        start_sec: Wall time of a run before and between its tests.
        suite_sec: Wall time of one run of the suite.
        coverage: Which tests run which lines, or None where the suite's runner cannot say.
        left_out: Tests that may pass, and that no task asks for, to the reason.
    """

    ready: Ready
    seconds: Mapping[str, float]
    start_sec: float
    suite_sec: float
    coverage: Coverage | None
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def suite(self) -> Suite:
        """The suite."""
        return self.ready.suite

    def expected_sec(self, ids: frozenset[str]) -> float:
        """How long a run of some tests takes, with the start of the runner."""
        return self.start_sec + sum(self.seconds[one] for one in ids)


async def measure(
    setting: Setting,
    environment: Environment,
    suite: Suite,
    progress: Progress,
    *,
    files: frozenset[str],
    store: LayerStore,
) -> Baseline:
    """Run a suite of an environment on its newest commit, or take what is known of it.

    Args:
        setting: Runs it.
        environment: Its head is what is mutated later.
        suite: One of its suites.
        progress: Told what takes time.
        files: Those whose lines are recorded.
        store: Keeps what was found.

    Raises:
        UsageError: No test passes every time, or the suite does not come to its end; says why.
        SandboxError: The infrastructure broke, more than once.
        DataError: The environment is broken.
        UnavailableError: This machine lacks something.
    """
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
    start_sec: float
    suite_sec: float
    coverage: Mapping[str, Mapping[str, frozenset[int]]] | None
    left_out: Mapping[str, str]


async def _measured(
    setting: Setting, ready: Ready, progress: Progress, files: frozenset[str]
) -> _Measured:
    """Run the suite so often, all at once and with what is recorded: tests are to bear that."""
    name, runner = ready.environment.name, ready.runner
    backwards = isinstance(runner, VaryingRunner)
    manners = [*[None] * (REPEATS - 1), Manner(reverse=True) if backwards else None]
    works = [_plain(setting, ready, one) for one in manners]
    inside = {f"{WORKSPACE}/{path}": path for path in sorted(files)}
    if isinstance(runner, RecordingRunner):
        limit = ready.suite.timeout_sec * _SLOWER
        works.append(run_on(setting, ready, timeout_sec=limit, record=tuple(inside)))
    progress.note(f"running the tests of {name}, {len(works)} times at once")
    runs = await together(works)
    plain, recorded = runs[:REPEATS], runs[REPEATS:]
    observed = summarise(plain[:-1] if backwards else plain)
    passing = _passing(ready, observed, plain[0])
    left_out = dict.fromkeys(sorted(observed.unstable), UNSTEADY)
    if backwards:
        ordered = _ordered(ready, passing, plain[-1])
        left_out |= dict.fromkeys(sorted(ordered), BACKWARDS)
        passing -= ordered
    coverage = None
    if recorded and isinstance(runner, RecordingRunner):
        report = recorded[0].result.report
        starters = runner.starters(report) & passing
        if 2 * len(starters) < len(passing):  # else processes are what the suite is about
            passing -= starters
            left_out |= dict.fromkeys(sorted(starters), PROCESSES)
        coverage = {
            test_id: {inside[file]: found[file] for file in found if file in inside}
            for test_id, found in runner.lines(report).items()
            if not test_id or test_id in passing
        }
    return _Measured(
        seconds=_durations(plain, passing),
        start_sec=max(
            run.result.seconds - sum(one.seconds for one in run.records) for run in plain
        ),
        suite_sec=max(run.result.seconds for run in plain),
        coverage=coverage,
        left_out=left_out,
    )


async def _plain(setting: Setting, ready: Ready, manner: Manner | None) -> SuiteRun:
    """A run as it is; one that takes too long ends the others, which would take as long."""
    run = await run_on(setting, ready, manner=manner)
    if run.result.timed_out and manner is None:
        raise UsageError(
            f"the suite {ready.suite.name!r} of {ready.environment.name} does not come to its end: "
            f"{run.note} Give it more time ('timeout_sec'), or deselect what is slow, in "
            f"{ready.environment.folder}/environment.toml"
        )
    return run


def _passing(ready: Ready, observed: Observed, run: SuiteRun) -> frozenset[str]:
    """The tests that pass; where there is none, what is wrong, and where that is mended."""
    passing = frozenset(one for one, said in observed.outcomes.items() if said == "passed")
    name, suite = ready.environment.name, ready.suite
    file = f"{ready.environment.folder}/environment.toml"
    if observed.problem:
        raise UsageError(
            f"the suite {suite.name!r} of {name} does not come to its end: {observed.problem} It "
            f"is in {file}"
        )
    if not passing:
        raise UsageError(
            f"no test of {name} passes every time, so none can tell a fault: "
            f"{_why_none(observed, run, suite)}. The suite {suite.name!r} is in {file}"
            f"{_printed(observed)}"
        )
    return passing


def _ordered(ready: Ready, passing: frozenset[str], backwards: SuiteRun) -> frozenset[str]:
    """The tests that need others before them; of a run that did not end nothing can be said."""
    seen = summarise([backwards])
    ordered = frozenset(one for one in passing if seen.outcomes.get(one) != "passed")
    if seen.problem:
        return frozenset()
    if ordered == passing:
        raise UsageError(
            f"no test of {ready.environment.name} passes when they run backwards, so each depends "
            f"on others: none can tell a fault. The suite {ready.suite.name!r} is in "
            f"{ready.environment.folder}/environment.toml"
        )
    return ordered


def _printed(observed: Observed) -> str:
    """What a build or a command printed last, where that is why there is no test."""
    lines = [one[:_SHOWN_CHARS] for one in observed.uncollected.get(".", "").splitlines()[:-1]]
    return "\n".join(["\nThis is what was printed last:", *lines[-_SHOWN_LINES:]]) if lines else ""


def _why_none(observed: Observed, run: SuiteRun, suite: Suite) -> str:
    if observed.uncollected:
        path, said = next(iter(sorted(observed.uncollected.items())))
        where = "the tests cannot be built or run" if path == "." else f"{path} cannot be run"
        return f"{where}: {last_line(said)}"
    if not observed.outcomes and not observed.unstable:
        return f"there is none in {', '.join(suite.select)}"
    bad = [one for one in run.records if one.outcome in ("failed", "error")]
    example = f", as {bad[0].id}: {last_line(bad[0].message)}" if bad else ""
    count = len(observed.outcomes)
    unsteady = f", {len(observed.unstable)} do not end alike" if observed.unstable else ""
    return f"{count} fail or are skipped{unsteady}{example}"


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
    found = {
        "seconds": measured.seconds,
        "start_sec": measured.start_sec,
        "suite_sec": measured.suite_sec,
        "coverage": coverage,
        "left_out": measured.left_out,
    }
    path.write_text(json.dumps(found))


def _read(path: Path, ready: Ready) -> Baseline:
    found = json.loads(path.read_text())
    coverage = found["coverage"] and Coverage(
        {
            test_id: {name: frozenset(lines) for name, lines in files.items()}
            for test_id, files in found["coverage"].items()
        }
    )
    return Baseline(ready, **found | {"coverage": coverage})
