"""The driver's end of an episode that an actor plays."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from codegym.envs.checkpoint import Checkpoint
from codegym.envs.options import EpisodeOptions
from codegym.errors import UsageError
from codegym.integrations.ray.host import Ending, Failed, Start, Step
from codegym.types import (
    Action,
    Attestation,
    Fault,
    Grade,
    History,
    Manifest,
    Observation,
    Task,
    Trajectory,
    Turn,
)

#: Calls a method of the actor that has the episode; raises ``SandboxError`` where it is lost.
Call = Callable[..., Awaitable[Any]]


class RemoteEpisode:
    """See ``codegym.envs.stage.Played``.

    Args:
        key: Its number.
        options: How it is played.
        call: Reaches its actor.
    """

    def __init__(self, key: int, options: EpisodeOptions, call: Call) -> None:
        self._key, self._options, self._call = key, options, call
        self._start: Start | None = None
        self._turns: list[Turn] = []
        self._ending: Ending | None = None
        self._seed, self._until = 0, 0.0

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self._ending is not None

    @property
    def task(self) -> Task:
        """The task, as it is presented."""
        return self._begun.task

    @property
    def attestation(self) -> Attestation:
        """What the reset looked for in the sandbox's files."""
        return self._begun.attestation

    @property
    def left_sec(self) -> float:
        """Wall time before truncation."""
        return self._until - time.monotonic()

    @property
    def history(self) -> History:
        """What a policy is given."""
        start, functions = self._begun, self._options.toolbox.functions
        turns = tuple(self._turns)
        return History(start.task.instance_id, functions, start.first, turns, self._seed)

    @property
    def fault(self) -> Fault:
        """``""``, or whose fault it was that there is no grade."""
        return self._ending.fault if self._ending else ""

    @property
    def error(self) -> str:
        """The fault's message."""
        return self._ending.error if self._ending else ""

    @property
    def work(self) -> Manifest:
        """The policy's work, once it ended."""
        return self._ending.work if self._ending else Manifest()

    @property
    def final_grade(self) -> Grade | None:
        """The verdict, once it ended without a fault."""
        return self._ending.grade if self._ending else None

    def diff(self) -> str:
        """The work of an ended episode as a unified diff."""
        return self._ending.diff if self._ending else ""

    def trajectory(self, policy: str = "") -> Trajectory:
        """What happened."""
        start, ending = self._begun, self._ending
        return Trajectory(
            task_id=start.task.instance_id,
            policy=policy,
            seed=self._seed,
            first=start.first,
            turns=tuple(self._turns),
            terminated=bool(ending and ending.terminated),
            truncated=bool(ending and ending.truncated),
        )

    async def reset(self, task: Task, *, seed: int = 0) -> Observation:
        """Begin it."""
        return await self._begin(task, seed, None)

    async def resume(self, task: Task, checkpoint: Checkpoint) -> Observation:
        """Go on from a checkpoint."""
        await self._begin(task, checkpoint.seed, checkpoint)
        return self.history.last

    async def _begin(self, task: Task, seed: int, point: Checkpoint | None) -> Observation:
        start = _opened(await self._call("reset", self._key, self._options, task, seed, point))
        self._start, self._seed = start, seed
        self._turns, self._ending = list(point.turns) if point else [], None
        self._until = time.monotonic() + start.left_sec
        first: Observation = start.first
        return first

    async def step(self, action: Action | str) -> None:
        """Take an action; what came of it is in ``history`` and, at the end, in ``final_grade``."""
        taken = action if isinstance(action, Action) else Action(action)
        self._until += taken.lost_sec
        self._note(_opened(await self._call("step", self._key, taken)))

    async def expire(self) -> None:
        """End it: the policy gave no action in the time that was left."""
        self._note(_opened(await self._call("step", self._key, None)))

    def _note(self, step: Step) -> None:
        self._turns.append(step.turn)
        self._until = time.monotonic() + step.left_sec
        self._ending = step.ending

    async def checkpoint(self) -> Checkpoint:
        """This running episode as data."""
        point: Checkpoint = _opened(await self._call("checkpoint", self._key))
        return point

    async def close(self) -> None:
        """Free the sandbox. Idempotent."""
        await self._call("close_episode", self._key)

    @property
    def _begun(self) -> Start:
        if self._start is None:
            raise UsageError("there is no episode; call reset() first")
        return self._start


def _opened(answer: Any) -> Any:
    """An answer, or the error that it is."""
    if isinstance(answer, Failed):
        raise answer.as_error()
    return answer
