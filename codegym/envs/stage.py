"""Where episodes are played: in this process, or elsewhere by the same rules."""

# ruff: noqa: D102 - members of ``Played`` are documented on ``Episode``

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol, runtime_checkable

from codegym.envs.checkpoint import Checkpoint
from codegym.envs.episode import Episode
from codegym.envs.kinds import present
from codegym.envs.marking import Marker, Remembering
from codegym.envs.options import EpisodeOptions
from codegym.errors import TaskError, UsageError
from codegym.grading.setting import Setting
from codegym.network.ways import Keeping
from codegym.types import (
    Action,
    Attestation,
    Fault,
    Grade,
    History,
    Image,
    Manifest,
    Observation,
    StepResult,
    Task,
    TaskSource,
    Trajectory,
)


class Played(Protocol):
    """An episode, as far as rollouts look at it; see ``Episode``."""

    @property
    def ended(self) -> bool: ...
    @property
    def task(self) -> Task: ...
    @property
    def attestation(self) -> Attestation: ...
    @property
    def left_sec(self) -> float: ...
    @property
    def history(self) -> History: ...
    @property
    def fault(self) -> Fault: ...
    @property
    def error(self) -> str: ...
    @property
    def work(self) -> Manifest: ...
    @property
    def final_grade(self) -> Grade | None: ...

    def trajectory(self, policy: str = "") -> Trajectory: ...
    def diff(self) -> str: ...
    async def reset(self, task: Task, *, seed: int = 0) -> Observation: ...
    async def resume(self, task: Task, checkpoint: Checkpoint) -> Observation: ...
    async def step(self, action: Action | str) -> StepResult | None: ...
    async def expire(self) -> StepResult | None: ...
    async def checkpoint(self) -> Checkpoint: ...
    async def close(self) -> None: ...


@runtime_checkable
class Stage(Protocol):
    """Where the episodes of rollouts are played."""

    def ahead(self, task: Task) -> None:
        """A task, as it is presented, will be played soon."""
        ...

    def episode(self, options: EpisodeOptions, keeping: Keeping) -> Played:
        """A new episode, not begun. One that is lost raises ``SandboxError`` and is played anew."""
        ...

    async def image(self, task: Task) -> Image:
        """The image that a task, as it is presented, starts from."""
        ...


class Here:
    """This process's sandboxes.

    Args:
        setting: Of the running event loop.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def ahead(self, task: Task) -> None:
        """Begin to make it ready."""
        self._setting.ahead(task)

    def episode(self, options: EpisodeOptions, keeping: Keeping) -> Episode:
        """An episode in a sandbox of this process."""
        return Episode(self._setting, options, keeping)

    async def image(self, task: Task) -> Image:
        """Made where it is not in the cache."""
        return (await self._setting.ready(task)).image


def stage_of(place: Setting | Stage) -> Stage:
    """The stage that a setting is, or that is given."""
    return place if isinstance(place, Stage) else Here(place)


@asynccontextmanager
async def open_stage(
    sandbox: str,
    note: Callable[[str], None],
    stage: Stage | None = None,
    marker: Marker | None = None,
) -> AsyncIterator[Stage]:
    """The stage that is given, which its owner closes; else one over a setting, closed here.

    Args:
        sandbox: Name of a sandbox backend.
        note: Told what takes time.
        stage: The one that is given.
        marker: Remembers this process's grades.

    Raises:
        UsageError: A marker is given with a stage, whose grades are not of this process.
    """
    if stage is not None:
        if marker is not None:
            raise UsageError("a memo of grades is for sandboxes of this process alone")
        yield stage
        return
    setting: Setting
    if marker is None:
        setting = Setting.on(sandbox, progress=note)
    else:
        setting = Remembering.on(sandbox, progress=note)
        setting.marker = marker
    try:
        yield Here(setting)
    finally:
        await setting.close()


async def images_of(source: TaskSource, stage: Stage, kind: str) -> dict[str, Image]:
    """The image of each environment, made where it is not in the cache."""
    images: dict[str, Image] = {}
    for task in source:
        if task.environment not in images:
            with suppress(TaskError):  # a broken task is told of when it is played
                images[task.environment] = await stage.image(present(task, kind))
    return images
