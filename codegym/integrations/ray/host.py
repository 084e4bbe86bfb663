"""What runs in an actor: the sandboxes of one group of episodes, on whichever node it is.

Errors travel as values: what Ray makes of exceptions depends on how each was constructed.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Literal, TypeVar

from codegym.envs.checkpoint import Checkpoint
from codegym.envs.episode import Episode
from codegym.envs.options import EpisodeOptions
from codegym.errors import CodeGymError, SandboxError, TaskError, UnavailableError, UsageError
from codegym.grading.setting import Setting
from codegym.types import (
    Action,
    Attestation,
    Fault,
    Grade,
    Image,
    Manifest,
    Observation,
    Task,
    Turn,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Start:
    """An episode that has begun.

    Attributes:
        task: As it is presented.
        first: The first observation.
        attestation: What the reset looked for.
        left_sec: Wall time before truncation.
    """

    task: Task
    first: Observation
    attestation: Attestation
    left_sec: float


@dataclass(frozen=True, slots=True)
class Ending:
    """How an episode ended."""

    terminated: bool
    truncated: bool
    fault: Fault
    error: str
    grade: Grade | None
    work: Manifest
    diff: str


@dataclass(frozen=True, slots=True)
class Step:
    """What came of an action: the turn, and the ending where it was the last."""

    turn: Turn
    left_sec: float
    ending: Ending | None


@dataclass(frozen=True, slots=True)
class Failed:
    """An error, as a value."""

    kind: Literal["sandbox", "task", "unavailable", "usage"]
    message: str
    task_id: str = ""

    def as_error(self) -> CodeGymError:
        """The error again."""
        if self.kind == "unavailable":
            problem, _, mend = self.message.partition(". ")
            return UnavailableError(problem, mend)
        if self.kind == "sandbox":
            return SandboxError(self.message)
        if self.kind == "task":
            return TaskError(self.task_id, self.message)
        return UsageError(self.message)


class Host:
    """Plays episodes for a driver; each is named by a number of the driver's.

    Args:
        sandbox: Name of the backend, on this node.
    """

    def __init__(self, sandbox: str) -> None:
        self._setting = Setting.on(sandbox)
        self._episodes: dict[int, Episode] = {}

    async def ping(self) -> bool:
        """That it is there."""
        return True

    async def ahead(self, task: Task) -> None:
        """Begin to make a task ready."""
        self._setting.ahead(task)

    async def image(self, task: Task) -> Image | Failed:
        """The image that a task starts from."""
        ready = await _caught(self._setting.ready(task))
        return ready if isinstance(ready, Failed) else ready.image

    async def reset(
        self, key: int, options: EpisodeOptions, task: Task, seed: int, point: Checkpoint | None
    ) -> Start | Failed:
        """Begin an episode, or go on with one."""
        episode = self._episodes[key] = Episode(self._setting, options)
        begun = episode.resume(task, point) if point else episode.reset(task, seed=seed)
        first = await _caught(begun)
        if isinstance(first, Failed):
            return first
        history = episode.history
        return Start(episode.task, history.first, episode.attestation, episode.left_sec)

    async def step(self, key: int, action: Action | None) -> Step | Failed:
        """Take an action; None: there was none in the time that was left."""
        episode = self._episodes[key]
        taken = await _caught(episode.expire() if action is None else episode.step(action))
        if isinstance(taken, Failed) and taken.kind != "task":
            return taken  # a broken task is noted in the episode, as its ending
        ending = _ending(episode) if episode.ended else None
        return Step(episode.history.turns[-1], episode.left_sec, ending)

    async def checkpoint(self, key: int) -> Checkpoint | Failed:
        """A running episode as data."""
        return await _caught(self._episodes[key].checkpoint())

    async def close_episode(self, key: int) -> None:
        """Free an episode's sandbox. Idempotent."""
        episode = self._episodes.pop(key, None)
        if episode is not None:
            await _caught(episode.close())

    async def close(self) -> None:
        """Free everything."""
        for key in list(self._episodes):
            await self.close_episode(key)
        await self._setting.close()


def _ending(episode: Episode) -> Ending:
    happened = episode.trajectory()
    return Ending(
        terminated=happened.terminated,
        truncated=happened.truncated,
        fault=episode.fault,
        error=episode.error,
        grade=episode.final_grade,
        work=episode.work,
        diff="" if episode.fault else episode.diff(),
    )


async def _caught(asked: Awaitable[T]) -> T | Failed:
    try:
        return await asked
    except SandboxError as error:
        return Failed("sandbox", str(error))
    except TaskError as error:
        return Failed("task", error.problem, error.task_id)
    except UnavailableError as error:
        return Failed("unavailable", str(error))
    except CodeGymError as error:
        return Failed("usage", str(error))
