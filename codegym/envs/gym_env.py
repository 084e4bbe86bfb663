"""``gymnasium.Env``: a thin synchronous face over ``Episode``."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from codegym.envs import kinds, render, spaces
from codegym.envs.episode import Episode
from codegym.envs.options import EpisodeOptions
from codegym.envs.session import Session
from codegym.errors import NotFoundError, TaskError, UsageError
from codegym.types import EpisodeResult, StepResult, Task, TaskSource

Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]
RENDER_MODES = ("ansi", "human")
_log = logging.getLogger("codegym")
METADATA = {"render_modes": list(RENDER_MODES), "render_fps": 4}


class CodeGymEnv(gym.Env[dict[str, Any], str]):
    """An env over the tasks of a source; each episode is one task.

    Action: one string, a JSON tool call (``codegym.call`` writes it). Observation: a ``Dict`` of
    ``instruction``, ``output``, ``steps_left``, ``last_exit_code``, ``failing``, ``passing`` (see
    ``codegym.types.Observation``). Info: the fields of ``codegym.types.Info``.

    The same seed and pack give the same task, first observation and expected test ids.

    Args:
        tasks: Where tasks come from; ``gymnasium.make`` takes what names it (see
            ``codegym.registration``).
        reward: See ``EpisodeOptions``; so for all options not named here.
        sandbox: Name of a sandbox backend; ``"auto"``: the first that works here.
        network: What a sandbox may reach: ``"none"``, a policy's name, or the path of a ``.toml``.
        render_mode: ``"ansi"``: ``render`` returns the transcript; ``"human"``: turns are printed.
        kind: The kind that rows are presented as; ``"Tasks"``: each as its own.

    Raises:
        UsageError: A value that cannot be used, or rows that cannot be presented as ``kind``.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(
        self,
        tasks: TaskSource,
        reward: str = "solved",
        gamma: float = 1.0,
        tools: str | Sequence[str] = "default",
        sandbox: str = "auto",
        network: str = "none",
        max_steps: int = 50,
        max_episode_sec: float = 1800.0,
        command_timeout_sec: float = 120.0,
        max_output_chars: int = 16_000,
        opening: str = "full",
        render_mode: str | None = None,
        kind: str = kinds.BY_ROW,
    ) -> None:
        self._options = EpisodeOptions(
            kind=kind,
            reward=reward,
            gamma=gamma,
            tools=tools,
            max_steps=max_steps,
            max_episode_sec=max_episode_sec,
            command_timeout_sec=command_timeout_sec,
            max_output_chars=max_output_chars,
            opening=opening,
            network=network,
        )
        self.render_mode = check_render_mode(render_mode)
        self.tasks = kinds.choose_rows(tasks, kind)
        self.action_space = spaces.action_space()
        self.observation_space = spaces.observation_space(max_steps, max_output_chars)
        self._session = Session(sandbox)
        self._episode: Episode | None = None

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools in the form that chat models take."""
        return copy.deepcopy(list(self._options.toolbox.functions))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seeds the choice of this task and the next ones.
            options: ``{"task_id": ID}`` chooses the task.

        Raises:
            NotFoundError: No such task, or option.
            SandboxError: No sandbox could be had. ``TaskError``: the task is broken.
        """
        super().reset(seed=seed)
        task = choose(self.tasks, self.np_random, task_id_of(options))
        episode_seed = int(self.np_random.integers(2**31))
        if self._session.inherited:  # a fork of this process must leave its parent's sandbox alone
            self._session, self._episode = self._session.anew(), None
        observation, info = self._session.run(self._reset(task, episode_seed))
        if self.render_mode == "human":
            render.show(render.start(task.instance_id, self._running.history.first))
        return observation, info

    async def _reset(self, task: Task, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._episode is None:
            self._episode = Episode(await self._session.setting(), self._options)
        first = await self._episode.reset(task, seed=seed)
        return spaces.to_dict(first), self._episode.info.as_dict()

    def step(self, action: str) -> Step:
        """Take one action. A faulty episode ends truncated, reward 0.0, ``info["fault"]`` set.

        Raises:
            UsageError: There is no running episode.
        """
        result = self._session.run(step_to_float(self._running, action))
        if result.ended:
            learn(self.tasks, self._running)
        if self.render_mode == "human":
            turns = self._running.history.turns
            render.show(render.turn_text(len(turns), turns[-1]) + render.ending(result))
        return as_step(result)

    def render(self) -> str | None:
        """The transcript where ``render_mode`` is ``"ansi"``; else None."""
        if self.render_mode != "ansi":
            return None
        return render.transcript(self._running.trajectory())

    def close(self) -> None:
        """Free the sandbox. Idempotent; the env can be reset again."""
        episode, self._episode = self._episode, None
        try:
            if episode is not None and not self._session.inherited:
                self._session.run(episode.close())
        finally:
            self._session.close()

    @property
    def _running(self) -> Episode:
        if self._episode is None:
            raise UsageError("there is no episode; call reset() first")
        return self._episode


def check_render_mode(mode: str | None) -> str | None:
    """Return the mode, or raise ``NotFoundError``."""
    if mode is not None and mode not in RENDER_MODES:
        raise NotFoundError("render mode", str(mode), RENDER_MODES)
    return mode


def task_id_of(options: Mapping[str, Any] | None) -> str | None:
    """``options["task_id"]``. Raises ``NotFoundError`` for another option."""
    for key in options or {}:
        if key != "task_id":
            raise NotFoundError("reset option", str(key), ["task_id"])
    task_id = (options or {}).get("task_id")
    if task_id is not None and not isinstance(task_id, str):
        raise UsageError(f"reset option task_id: expected a task's id, got {task_id!r}")
    return task_id


def choose(source: TaskSource, rng: np.random.Generator, task_id: str | None) -> Task:
    """The named task, else one drawn."""
    return source.sample(rng) if task_id is None else source.get(task_id)


def learn(source: TaskSource, episode: Episode) -> None:
    """Tell a source of tasks how an episode ended; why it was faulty, the log of this process."""
    if episode.fault:
        _log.warning("%s does not count: %s", episode.task.instance_id, episode.error)
    trajectory = episode.trajectory()
    result = EpisodeResult(
        index=0,
        task=episode.task,
        trajectory=trajectory,
        grade=episode.final_grade,
        reward=sum(turn.reward for turn in trajectory.turns),
        fault=episode.fault,
        error=episode.error,
    )
    source.observe([result])


async def step_to_float(episode: Episode, action: str) -> StepResult:
    """A step where a number is required: a broken task ends the episode instead of raising."""
    try:
        return await episode.step(action)
    except TaskError:
        if episode.last_result is None:
            raise
        return episode.last_result


def as_step(result: StepResult) -> Step:
    """A step in Gymnasium's form."""
    observation, info = spaces.to_dict(result.observation), result.info.as_dict()
    return observation, _finite(result.reward), result.terminated, result.truncated, info


def _finite(reward: float) -> float:
    if not math.isfinite(reward):
        raise UsageError(f"the reward plug-in returned {reward}; it must be a finite number")
    return float(reward)
