"""``gymnasium.vector.VectorEnv`` on concurrent episodes: one loop, no worker processes."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array
from numpy.typing import NDArray

from codegym.envs import kinds, render, spaces
from codegym.envs.gym_env import METADATA, check_render_mode
from codegym.envs.options import EpisodeOptions
from codegym.envs.session import Session
from codegym.envs.slot import Slot, Stepped
from codegym.errors import NotFoundError, UsageError
from codegym.types import TaskSource

T = TypeVar("T")
Batch = tuple[
    dict[str, Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
]


class CodeGymVectorEnv(VectorEnv[dict[str, Any], Sequence[str], NDArray[Any]]):
    """Several episodes at once, each with its own task, sandbox and random state.

    All autoreset modes of Gymnasium, with its conventions for ``info`` (``_key`` masks,
    ``final_obs`` and ``final_info``). A sub-env that faults ends truncated with reward 0.0 and its
    ``fault`` set; the others go on.

    Args:
        num_envs: How many.
        autoreset_mode: An ``AutoresetMode``, or its value.
        tasks: As for ``CodeGymEnv``, and all the others.

    Raises:
        UsageError: As for ``CodeGymEnv``.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(
        self,
        num_envs: int = 1,
        *,
        tasks: TaskSource,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        sandbox: str = "auto",
        render_mode: str | None = None,
        kind: str = kinds.BY_ROW,
        **options: Any,
    ) -> None:
        if num_envs < 1:
            raise UsageError(f"num_envs: must be at least 1, got {num_envs}")
        self._options = _episode_options(kind, options)
        self._mode = _autoreset_mode(autoreset_mode)
        # Of this instance: the class's dict is shared.
        self.metadata = {**METADATA, "autoreset_mode": self._mode}
        self.num_envs = num_envs
        self.render_mode = check_render_mode(render_mode)
        self.tasks = kinds.choose_rows(tasks, kind)
        self.single_action_space = spaces.action_space()
        self.single_observation_space = spaces.observation_space(
            self._options.max_steps, self._options.max_output_chars
        )
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._session = Session(sandbox)
        self._slots = [Slot(self.tasks, self._options) for _ in range(num_envs)]

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools in the form that chat models take."""
        return copy.deepcopy(list(self._options.toolbox.functions))

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin episodes.

        Args:
            seed: For each sub-env; of an int ``n``, sub-env ``i`` gets ``n + i``.
            options: ``task_id``: one for each sub-env (None: drawn), or one for all;
                ``reset_mask``: bools, shape ``(num_envs,)``: which to reset; the others stay.
        """
        seeds, task_ids, mask = self._reset_arguments(seed, dict(options or {}))
        for slot, slot_seed in zip(self._slots, seeds, strict=True):
            if slot_seed is not None:
                slot.rng = seeding.np_random(slot_seed)[0]
        if isinstance(seed, int):
            self._np_random, self._np_random_seed = seeding.np_random(seed)
        chosen = [slot.choose(task_ids[i]) if mask[i] else None for i, slot in self._numbered()]

        async def reset_all() -> None:
            setting = await self._session.setting()
            pairs = zip(self._slots, chosen, strict=True)
            await _all([slot.reset(setting, task) for slot, task in pairs if task is not None])

        self._renew_after_fork()
        self._session.run(reset_all())
        infos: dict[str, Any] = {}
        for i, slot in self._numbered():
            if mask[i]:
                infos = self._add_info(infos, slot.info(), i)
        return self._stack([slot.observation() for slot in self._slots]), infos

    def step(self, actions: Sequence[str]) -> Batch:
        """Take one action in each sub-env, all at once."""
        if len(actions) != self.num_envs:
            raise UsageError(f"expected {self.num_envs} actions, one per env, got {len(actions)}")
        if not all(slot.begun for slot in self._slots):
            raise UsageError("there are no episodes; call reset() first")
        done = [i for i, slot in self._numbered() if slot.ended]
        if done and self._mode is AutoresetMode.DISABLED:
            raise UsageError(f"envs {done} have ended; reset them with options['reset_mask']")

        async def step_all() -> list[Stepped]:
            setting = await self._session.setting()
            same_step = self._mode is AutoresetMode.SAME_STEP
            pairs = zip(self._slots, actions, strict=True)
            return await _all(
                [slot.step(setting, action, same_step=same_step) for slot, action in pairs]
            )

        return self._batch(self._session.run(step_all()))

    def render(self) -> tuple[str, ...] | None:
        """One transcript per sub-env where ``render_mode`` is set; ``"human"`` prints them."""
        if self.render_mode is None:
            return None
        texts = tuple(render.transcript(slot.trajectory()) for slot in self._slots)
        if self.render_mode == "ansi":
            return texts
        render.show("\n".join(texts))
        return None

    def close_extras(self, **kwargs: Any) -> None:  # noqa: ARG002
        """Free all sandboxes."""
        try:
            if not self._session.inherited:
                self._session.run(_all([slot.close() for slot in self._slots]))
        finally:
            self._session.close()

    def _renew_after_fork(self) -> None:
        if self._session.inherited:
            self._session = self._session.anew()
            for slot in self._slots:
                slot.abandon()

    def _numbered(self) -> list[tuple[int, Slot]]:
        return list(enumerate(self._slots))

    def _reset_arguments(
        self, seed: int | Sequence[int | None] | None, options: dict[str, Any]
    ) -> tuple[list[int | None], list[str | None], NDArray[np.bool_]]:
        count = self.num_envs
        if seed is None or isinstance(seed, int | np.integer):
            seeds: list[int | None] = [
                None if seed is None else int(seed) + i for i in range(count)
            ]
        else:
            seeds = list(seed)
        mask = np.asarray(options.pop("reset_mask", np.ones(count, dtype=np.bool_)))
        task_id = options.pop("task_id", None)
        task_ids = [task_id] * count if task_id is None or isinstance(task_id, str) else [*task_id]
        for key in options:
            raise NotFoundError("reset option", str(key), ["task_id", "reset_mask"])
        if mask.shape != (count,) or mask.dtype != np.bool_ or not mask.any():
            raise UsageError(f"reset_mask: expected {count} bools, at least one of them true")
        for name, values in (("seed", seeds), ("task_id", task_ids)):
            if len(values) != count:
                raise UsageError(f"{name}: expected {count} values, one per env, got {len(values)}")
        return seeds, task_ids, mask

    def _batch(self, results: list[Stepped]) -> Batch:
        infos: dict[str, Any] = {}
        for i, result in enumerate(results):
            if result.final is not None:
                infos = self._add_info(infos, result.final, i)
            infos = self._add_info(infos, result.info, i)
        return (
            self._stack([result.observation for result in results]),
            np.array([result.reward for result in results], dtype=np.float64),
            np.array([result.terminated for result in results], dtype=np.bool_),
            np.array([result.truncated for result in results], dtype=np.bool_),
            infos,
        )

    def _stack(self, observations: list[dict[str, Any]]) -> dict[str, Any]:
        space: gym.Space[Any] = self.single_observation_space
        empty = create_empty_array(space, n=self.num_envs)
        stacked: dict[str, Any] = concatenate(space, observations, empty)  # type: ignore[assignment,arg-type]
        return stacked


async def _all(jobs: list[Coroutine[Any, Any, T]]) -> list[T]:
    """Run at once and wait for every one, also where one fails: none is left running."""
    done = await asyncio.gather(*jobs, return_exceptions=True)
    results: list[T] = []
    for outcome in done:
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results


def _episode_options(kind: str, options: dict[str, Any]) -> EpisodeOptions:
    known = [name for name in EpisodeOptions.__dataclass_fields__ if name != "kind"]
    for name in options:
        if name not in known:
            raise NotFoundError("option", name, known)
    return EpisodeOptions(kind=kind, **options)


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    if isinstance(mode, AutoresetMode):
        return mode
    known = {member.value: member for member in AutoresetMode}
    if mode not in known:
        raise NotFoundError("autoreset mode", str(mode), known)
    return known[mode]
