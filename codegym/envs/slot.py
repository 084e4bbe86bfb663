"""One place in a vector: its episode, its random state, and what happens where it faults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium.utils import seeding

from codegym.envs import spaces
from codegym.envs.episode import Episode
from codegym.envs.gym_env import as_step, choose, learn, step_to_float
from codegym.envs.options import EpisodeOptions
from codegym.errors import SandboxError, TaskError
from codegym.grading.setting import Setting
from codegym.types import Attestation, Fault, Info, Observation, Task, TaskSource, Trajectory


@dataclass(frozen=True, slots=True)
class Stepped:
    """What a slot's step gave. ``final`` holds the ended episode's last observation and info."""

    observation: dict[str, Any]
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    final: dict[str, Any] | None = None


class Slot:
    """One sub-env. A reset that faults gives an empty observation and ends at the next step."""

    def __init__(self, source: TaskSource, options: EpisodeOptions) -> None:
        self.rng: np.random.Generator = seeding.np_random()[0]
        self._source, self._options = source, options
        self._episode: Episode | None = None
        self._unborn: Info | None = None  # the info of an episode that could not begin
        self._ended = False

    @property
    def begun(self) -> bool:
        """Whether it was ever reset."""
        return self._episode is not None

    @property
    def ended(self) -> bool:
        """Whether its episode is over, and so is to be reset."""
        return self._ended

    def choose(self, task_id: str | None) -> Task:
        """The named task, else one drawn from this slot's random state."""
        return choose(self._source, self.rng, task_id)

    async def reset(self, setting: Setting, task: Task) -> None:
        """Begin an episode, or note why it could not."""
        seed = int(self.rng.integers(2**31))
        if self._episode is None:
            self._episode = Episode(setting, self._options)
        self._unborn, self._ended = None, False
        try:
            await self._episode.reset(task, seed=seed)
        except SandboxError:
            self._unborn = _faulty(task, "sandbox")
        except TaskError:
            self._unborn = _faulty(task, "task")

    async def step(self, setting: Setting, action: str, *, same_step: bool) -> Stepped:
        """Take an action; or, where the episode is over, begin the next one."""
        if self._ended:
            await self.reset(setting, self.choose(None))
            return Stepped(self.observation(), 0.0, False, False, self.info())
        stepped = await self._act(action)
        self._ended = stepped.terminated or stepped.truncated
        if not (self._ended and same_step):
            return stepped
        final = {"final_obs": stepped.observation, "final_info": stepped.info}
        await self.reset(setting, self.choose(None))
        return replace(stepped, observation=self.observation(), info=self.info(), final=final)

    async def _act(self, action: str) -> Stepped:
        if self._episode is None or self._unborn is not None:
            return Stepped(self.observation(), 0.0, False, True, self.info())
        result = await step_to_float(self._episode, action)
        if result.ended:
            learn(self._source, self._episode)
        return Stepped(*as_step(result))

    def observation(self) -> dict[str, Any]:
        """The newest observation."""
        if self._episode is None or self._unborn is not None:
            return spaces.to_dict(Observation("", "", 0))
        return spaces.to_dict(self._episode.history.last)

    def info(self) -> dict[str, Any]:
        """The newest info."""
        if self._unborn is not None:
            return self._unborn.as_dict()
        return self._episode.info.as_dict() if self._episode is not None else {}

    def trajectory(self) -> Trajectory:
        """What happened in its episode."""
        if self._episode is None:
            return Trajectory("", "", 0, Observation("", "", 0))
        return self._episode.trajectory()

    async def close(self) -> None:
        """Free the sandbox. Idempotent."""
        if self._episode is not None:
            await self._episode.close()

    def abandon(self) -> None:
        """Forget the episode, which belongs to another process."""
        self._episode, self._unborn, self._ended = None, None, False


def _faulty(task: Task, fault: Fault) -> Info:
    return Info(
        task_id=task.instance_id,
        kind=task.kind,
        env_digest="",
        steps=0,
        fault=fault,
        attestation=Attestation({}),
        integrity=0,
        grade=None,
    )
