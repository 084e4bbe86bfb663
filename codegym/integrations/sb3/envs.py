"""Many envs that step at the same time: while one waits for its grade, so do the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv

from codegym.integrations.sb3.env import CandidateEdits


class TogetherVecEnv(DummyVecEnv):
    """As ``DummyVecEnv``; steps of one round run in threads, and so do the resets after them."""

    def __init__(self, makers: Sequence[Callable[[], CandidateEdits]]) -> None:
        super().__init__(list(makers))
        self._threads = ThreadPoolExecutor(len(makers), thread_name_prefix="codegym-env")

    def step_wait(self) -> Any:
        """See ``VecEnv``."""
        for place, result in enumerate(self._threads.map(_stepped, self.envs, self.actions)):
            observation, reward, terminated, truncated, info = result
            self.buf_rews[place], self.buf_dones[place] = reward, terminated or truncated
            self.buf_infos[place] = info
            self._save_obs(place, observation)
        return (
            self._obs_from_buf(),
            np.copy(self.buf_rews),
            np.copy(self.buf_dones),
            [dict(info) for info in self.buf_infos],
        )

    def close(self) -> None:
        """Close all."""
        self._threads.shutdown()
        super().close()


def _stepped(env: Any, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    """A step, and a reset where the episode is over, as ``VecEnv`` wants it."""
    observation, reward, terminated, truncated, info = env.step(action)
    info["TimeLimit.truncated"] = truncated and not terminated
    if terminated or truncated:
        info["terminal_observation"] = observation
        observation, _ = env.reset()
    return observation, reward, terminated, truncated, info
