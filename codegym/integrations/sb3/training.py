"""Training, in the order that it happens: tasks, boards, first measurement, learning, last one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from codegym.agents.edits.prior import Prior, is_answer
from codegym.envs.kinds import Narrowable, choose_rows
from codegym.envs.marking import Marker
from codegym.envs.session import Session
from codegym.errors import SandboxError, TaskError, UsageError
from codegym.integrations.sb3.algorithms import algorithm, make_model
from codegym.integrations.sb3.board import Boards
from codegym.integrations.sb3.envs import TogetherVecEnv
from codegym.integrations.sb3.folder import Progress, TrainFolder
from codegym.integrations.sb3.playing import Choose, Field, at_random, by_model, by_prior, solving
from codegym.registration import resolve
from codegym.runs.lock import WriterLock
from codegym.store.memo import ScoreMemo
from codegym.tasks.holding_out import Split, split
from codegym.types import Task, TaskSource

_CHECKPOINT_SEC = 60.0
_START, _AFTER = "start", "after"


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """What to train: see ``codegym train sb3 --help``."""

    tasks: str | None
    out: Path
    algo: str = "maskable-ppo"
    minutes: float | None = None
    steps: int | None = None
    held_out: float = 0.3
    candidates: int = 96
    attempts: int = 2
    workers: int = 4
    seed: int = 0
    sandbox: str = "auto"


class Watcher:
    """Told how a training goes; override what is wanted."""

    def note(self, text: str) -> None:
        """Something that takes a while begins."""

    def progress(self, done: float, total: float, text: str) -> None:
        """So much of it is done."""


@dataclass(frozen=True)
class Outcome:
    """What came of a training.

    Attributes:
        train: Tasks trained on.
        held_out: Tasks measured with, none of a function that was trained on.
        in_reach: How many of those have their gold patch among the edits to choose from.
        left_out: Tasks that could not be used, to the reason.
        progress: How far it came.
        results: By ``"start"``, ``"random_edit"``, ``"unigram"`` and ``"after"``; the latter by
            steps of training.
    """

    train: int
    held_out: int
    in_reach: int
    left_out: Mapping[str, str]
    progress: Progress
    results: Mapping[str, Any]


def train(config: TrainConfig, watcher: Watcher | None = None) -> Outcome:
    """Train, or go on with a training; measure before and after, cold.

    Raises:
        UsageError: An option that cannot be used, or the folder is another training's.
        UnavailableError: No sandbox works here.
    """
    watcher, kind = watcher or Watcher(), algorithm(config.algo)
    source = choose_rows(resolve(config.tasks), "FixTests")
    config.out.mkdir(parents=True, exist_ok=True)
    lock, session = WriterLock(config.out / ".lock"), Session(config.sandbox)
    try:
        folder = TrainFolder(config.out, _pins(config, source.digest))
        boards = Boards(config.candidates)
        left_out = session.run(_prepare(session, boards, list(source), config.workers, watcher))
        parts = split(
            (t for t in source if t.instance_id not in left_out), config.held_out, config.seed
        )
        field = Field(
            _only(source, parts.train + parts.held_out),
            boards,
            config.attempts,
            config.sandbox,
            config.workers,
            config.seed,
        )
        lesson = _Lesson(config, replace(field, tasks=_only(source, parts.train)), folder, watcher)
        try:
            _measure_start(folder, field, parts, lesson.choose(kind.masks), watcher)
            lesson.learn()
            name = str(lesson.progress.steps)
            if name not in folder.results().get(_AFTER, {}):
                watcher.note("measuring what was learned")
                found = _measured(field, parts, lesson.choose(kind.masks))
                minutes = lesson.progress.seconds / 60
                after = folder.results().get(_AFTER, {})
                folder.note(_AFTER, after | {name: {"minutes": minutes, **found}})
        finally:
            lesson.close()
        reach = sum(session.run(_in_reach(session, boards, task)) for task in parts.held_out)
    finally:
        session.close()
        lock.release()
    counts = len(parts.train), len(parts.held_out), reach
    return Outcome(*counts, left_out, lesson.progress, folder.results())


def _pins(config: TrainConfig, digest: str) -> dict[str, Any]:
    names = ("tasks", "algo", "held_out", "candidates", "attempts", "workers", "seed", "sandbox")
    return {name: getattr(config, name) for name in names} | {"tasks_digest": digest}


def _only(source: TaskSource, tasks: Sequence[Task]) -> TaskSource:
    if not isinstance(source, Narrowable):
        raise UsageError("--tasks: a pack, an environment or a file of tasks is needed")
    wanted = {task.instance_id for task in tasks}
    return source.only(lambda task: task.instance_id in wanted)


async def _prepare(
    session: Session, boards: Boards, tasks: Sequence[Task], workers: int, watcher: Watcher
) -> dict[str, str]:
    """Make all boards; which tasks have none, and why."""
    setting, free = await session.setting(), asyncio.Semaphore(workers)
    left_out: dict[str, str] = {}
    done = 0

    async def prepare(task: Task) -> None:
        nonlocal done
        async with free:
            try:
                await boards.get(setting, task)
            except (SandboxError, TaskError, UsageError) as error:
                left_out[task.instance_id] = str(error)
        done += 1
        watcher.progress(done, len(tasks), "preparing tasks")

    await asyncio.gather(*map(prepare, tasks))
    return dict(sorted(left_out.items()))


async def _in_reach(session: Session, boards: Boards, task: Task) -> bool:
    board = await boards.get(await session.setting(), task)
    return any(is_answer(task, edit) for edit in board.edits)


def _measure_start(
    folder: TrainFolder, field: Field, parts: Split, chosen: Choose, watcher: Watcher
) -> None:
    """Measure what has learned nothing, and the baselines, where that was not done before."""
    known = folder.results()
    ways: dict[str, Choose] = {_START: chosen, "random_edit": at_random}
    if "unigram" not in known:
        ways["unigram"] = by_prior(Prior.of(parts.train))
    for name, choose in ways.items():
        if name not in known:
            watcher.note(f"measuring {name}")
            folder.note(name, _measured(field, parts, choose))


def _measured(field: Field, parts: Split, choose: Choose) -> dict[str, Any]:
    summary, played = solving(field, [task.instance_id for task in parts.held_out], choose)
    return {**asdict(summary), "solved_by": {one.task_id: one.solved_by for one in played}}


class _Lesson:
    """A model, its envs and how far it came."""

    def __init__(
        self, config: TrainConfig, field: Field, folder: TrainFolder, watcher: Watcher
    ) -> None:
        self._config, self._folder, self._watcher = config, folder, watcher
        self.progress = folder.progress()
        marker = Marker(ScoreMemo(folder.memo), config.seed)
        marker.tally = self.progress.tally
        self._envs = TogetherVecEnv([partial(field.env, marker)] * config.workers)
        self._envs.seed(config.seed + self.progress.steps)
        if folder.model.exists():
            kind = algorithm(config.algo).load()
            self.model = kind.load(folder.model, env=self._envs, device="cpu")
        else:
            self.model = make_model(config.algo, self._envs, config.seed)

    def choose(self, masks: bool) -> Choose:
        """How it chooses as it is now."""
        self.model.policy.set_training_mode(False)
        return by_model(self.model, masks=masks)

    def learn(self) -> None:
        """Learn until the time or the steps are over."""
        limit = 10**9 if self._config.steps is None else self._config.steps
        minutes = self._config.minutes
        if minutes is None and self._config.steps is None:
            minutes = 2.0
        seconds = float("inf") if minutes is None else 60.0 * minutes
        if self.progress.steps >= limit or self.progress.seconds >= seconds:
            return
        watching = _Watching(self, limit, seconds)
        try:
            self.model.learn(limit - self.progress.steps, watching, reset_num_timesteps=False)
        finally:
            watching.count()
            self.checkpoint()

    def checkpoint(self) -> None:
        """Keep all of it."""
        self._folder.checkpoint(self.model, self.progress)

    def tell(self, limit: int, seconds: float) -> None:
        """Say how far it is."""
        done, total = (self.progress.seconds, seconds)
        if seconds == float("inf"):
            done, total = self.progress.steps, limit
        p, t = self.progress, self.progress.tally
        self._watcher.progress(
            done,
            total,
            f"{p.steps} steps, {p.solved} of {p.episodes} episodes solved, {t.unique} gradings, "
            f"{t.hits} from memory",
        )

    def close(self) -> None:
        """Close the envs."""
        self._envs.close()


class _Watching(BaseCallback):
    """Counts, keeps checkpoints, and ends the learning in time."""

    def __init__(self, lesson: _Lesson, limit: int, seconds: float) -> None:
        super().__init__()
        self._lesson, self._limit, self._seconds = lesson, limit, seconds
        self._counted = self._kept = time.monotonic()

    def count(self) -> None:
        """Add the time since the last call."""
        now = time.monotonic()
        self._lesson.progress.seconds += now - self._counted
        self._counted = now

    def _on_step(self) -> bool:
        progress = self._lesson.progress
        self.count()
        progress.steps += self.training_env.num_envs
        ended = self.locals["dones"]
        progress.episodes += int(np.sum(ended))
        progress.solved += sum(bool(info["solved"]) for info in self.locals["infos"])
        self._lesson.tell(self._limit, self._seconds)
        if self._counted - self._kept > _CHECKPOINT_SEC:
            self._kept = self._counted
            self._lesson.checkpoint()
        return progress.seconds < self._seconds and progress.steps < self._limit
