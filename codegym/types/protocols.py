"""Where users plug in. Each is structural: no base class is needed."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from codegym.types.episode import Action, EpisodeResult, History, TokenTrace, Trajectory
from codegym.types.evidence import Evidence
from codegym.types.grade import Assurance, Grade, TestOutcome
from codegym.types.sandbox import WORKSPACE, CommandResult
from codegym.types.task import Task

if TYPE_CHECKING:
    import numpy as np


@runtime_checkable
class Policy(Protocol):
    """Chooses actions. The only contract a policy has.

    ``act`` is cut off when the episode's time is over. A policy with ``bounds_its_time = True``
    is not: it ends by itself, and says in ``Action.lost_sec`` what of its time is not to count.
    """

    @property
    def version(self) -> str:
        """What makes its behaviour this and no other; pinned in ``run.json``."""
        ...

    async def act(self, history: History) -> Action:
        """Return the next action; must not keep state that another episode could see."""
        ...


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How an engine samples: ``temperature`` >= 0, ``top_p`` in (0, 1], ``max_tokens`` > 0."""

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()
    seed: int | None = None


class Engine(Protocol):
    """Generates tokens."""

    async def generate(self, prompt_ids: list[int], params: SamplingParams) -> TokenTrace:
        """Sample a continuation of ``prompt_ids``."""
        ...


class Box(Protocol):
    """The part of a sandbox that a tool may use (a ``codegym.sandbox.Sandbox`` is one)."""

    async def shell(
        self, command: str, *, timeout_sec: float = ..., max_output_bytes: int = ...
    ) -> CommandResult:
        """Run a command in the persistent shell."""
        ...

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = ...,
        env: Mapping[str, str] = ...,
        timeout_sec: float = ...,
        max_output_bytes: int = ...,
        report: bool = ...,
    ) -> CommandResult:
        """Run one program apart from the shell's state."""
        ...

    async def read(self, path: str, *, max_bytes: int = ...) -> bytes:
        """Read a regular file."""
        ...

    async def write(self, path: str, data: bytes, *, executable: bool = ...) -> None:
        """Write a file, making its folders."""
        ...


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answers.

    Attributes:
        output: Text for the policy.
        exit_code: Of the command it ran, or -1 where it ran none.
        failing: Shown tests that failed, where the tool ran them; else -1.
        passing: Shown tests that passed, likewise.
        submitted: Whether the episode is to end.
    """

    output: str
    exit_code: int = -1
    failing: int = -1
    passing: int = -1
    submitted: bool = False


class Tool(Protocol):
    """Something a policy can call."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of the arguments

    async def __call__(self, box: Box, /, **arguments: Any) -> ToolResult:
        """Act in the sandbox. A ``ValueError`` is the policy's doing and becomes the answer."""
        ...


class TaskSource(Protocol):
    """Where tasks come from: a pack, a file, a curriculum."""

    @property
    def digest(self) -> str:
        """Identifies the content; pinned in ``run.json``."""
        ...

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw a task."""
        ...

    def get(self, task_id: str) -> Task:
        """Return one task. Raises ``NotFoundError``."""
        ...

    def __iter__(self) -> Iterator[Task]:
        """All tasks, in a fixed order."""
        ...

    def observe(self, group: Sequence[EpisodeResult]) -> None:
        """Learn from outcomes; a fixed pack ignores them."""
        ...


class TaskSampler(Protocol):
    """Chooses tasks from a pool; a curriculum's heart.

    Its state follows from what it observed, in order: several processes that observe the same
    outcomes draw alike.
    """

    def sample(
        self, pool: Sequence[Task], n: int, *, rng: np.random.Generator | None = None
    ) -> list[Task]:
        """Draw tasks.

        Args:
            pool: What to draw from; not empty. The same object from call to call where the same
                tasks are meant, so that what was made of it can be kept.
            n: How many, >= 0.
            rng: Where all chance comes from; None: from the sampler's own, which is in its state.

        Returns:
            ``n`` tasks of the pool, none twice where it has that many.
        """
        ...

    def observe(self, group: Sequence[EpisodeResult]) -> None:
        """Learn from outcomes."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All state, as JSON values."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put back what ``state_dict`` gave."""
        ...

    def metrics(self) -> dict[str, float]:
        """Numbers worth plotting."""
        ...


class Reward(Protocol):
    """A pure function of grade and trajectory."""

    range: tuple[float, float]

    def __call__(self, grade: Grade, trajectory: Trajectory) -> float:
        """Return the final reward, within ``range``."""
        ...


@dataclass(frozen=True, slots=True)
class RunnerCommand:
    """A program to start.

    Attributes:
        argv: Absolute ``argv[0]`` first.
        env: Variables added to the image's.
        stdin: Its input.
        mark: Where not empty, what each line begins with that it reports itself, as ``stdin`` says:
            other lines are not its own, and left out.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    stdin: bytes = b""
    mark: bytes = b""

    def own(self, report: bytes) -> bytes:
        """What of a report it wrote itself, without its mark."""
        if not self.mark:
            return report
        lines = (line for line in io.BytesIO(report) if line.startswith(self.mark))
        return b"".join(line.removeprefix(self.mark) for line in lines)


class Runner(Protocol):
    """One test tool (pytest, unittest, cargo…).

    The command writes its report to the file descriptor that ``channel`` names. Everything in it is
    untrusted: ``parse`` never raises on content, it leaves out what it cannot read.
    """

    name: str
    assurance: Assurance

    def payload(self) -> Mapping[str, bytes]:
        """Files it needs in the sandbox: absolute path to content, laid read-only."""
        ...

    def command(
        self,
        ids: Sequence[str],
        channel: int,
        *,
        python: str,
        import_paths: Sequence[str],
        select: Sequence[str] = (),
        deselect: Sequence[str] = (),
        config: Sequence[str] = (),
        root: str = WORKSPACE,
    ) -> RunnerCommand:
        """How to run exactly the tests ``ids`` (or, where empty, to run all that ``select`` finds).

        Args:
            ids: Test ids, in any order.
            channel: The descriptor for the report, open in the program.
            python: Absolute path of the interpreter inside.
            import_paths: Folders put on the import path, relative to ``root``.
            select: Files and folders that hold the suite's tests, relative to ``root``.
            deselect: Of those, files, folders and tests that are not the suite's.
            config: The suite's configuration files, relative to ``root``.
            root: The project's folder inside; ids are relative to it.
        """
        ...

    def parse(self, report: bytes) -> list[TestOutcome]:
        """Read a report, in the order written, doubles kept."""
        ...


@runtime_checkable
class ConfiguredRunner(Runner, Protocol):
    """A runner that a suite tells how it is built and run."""

    def configured(
        self, *, build: Sequence[str] = (), command: str = "", reports: Sequence[str] = ()
    ) -> Runner:
        """The same runner for one suite: what ``environment.toml`` says, shell commands and globs.

        See ``codegym.tasks.Suite`` for what they mean.
        """
        ...


@runtime_checkable
class RecordingRunner(Runner, Protocol):
    """A runner that can also say which lines each test runs. As untrusted as its report."""

    def recorder(self) -> Mapping[str, bytes]:
        """Files that recording needs besides ``payload()``."""
        ...

    def recording(self, command: RunnerCommand, files: Sequence[str]) -> RunnerCommand:
        """The same command, recording lines of ``files`` (absolute paths inside)."""
        ...

    def lines(self, report: bytes) -> Mapping[str, Mapping[str, frozenset[int]]]:
        """Read what was recorded: test id to file to lines; ``""`` for what ran between tests."""
        ...

    def starters(self, report: bytes) -> frozenset[str]:
        """Read what was recorded: the tests that started other processes."""
        ...


@runtime_checkable
class ObservingRunner(Runner, Protocol):
    """A runner that can also say what tests see at the sites of their assertions.

    Tests are then named by keys, which hold no value of a parameter: a report's records carry them
    as ids. As untrusted as the report.
    """

    def observer(self) -> Mapping[str, bytes]:
        """Files that observation needs besides ``payload()``."""
        ...

    def observing(
        self,
        command: RunnerCommand,
        keys: Sequence[str],
        *,
        limited: Sequence[str] = (),
        limit_sec: float = ...,
        collect: bool = False,
        projections: Mapping[str, Sequence[str]] = ...,
        brief: bool = False,
    ) -> RunnerCommand:
        """The same command for the tests of ``keys`` (empty: all), instead of any ids.

        Args:
            command: What ``command`` gave.
            keys: Tests, by key.
            limited: Those of them that have ``limit_sec`` each, and then failed.
            limit_sec: Seconds, above 0.
            collect: Whether to say the node id of each key.
            projections: Attributes that stand for an instance, by class (``module.Class``).
            brief: Whether nobody reads why a test failed.
        """
        ...

    def evidence(self, report: bytes) -> Evidence:
        """Read what was seen; never raises on content."""
        ...
