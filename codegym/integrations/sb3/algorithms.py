"""The algorithms that train, with settings for few and dear steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codegym.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One algorithm.

    Attributes:
        load: Gives its class; heavy.
        policy: Its policy: a name of Stable-Baselines3's, or ``"pointer"``.
        masks: Whether it knows which actions are possible.
        settings: Of its constructor, given how many envs step at once.
    """

    load: Callable[[], Any]
    policy: str
    masks: bool
    settings: Callable[[int], dict[str, Any]]


def _maskable_ppo() -> Any:
    from sb3_contrib import MaskablePPO

    return MaskablePPO


def _ppo() -> Any:
    from stable_baselines3 import PPO

    return PPO


def _a2c() -> Any:
    from stable_baselines3 import A2C

    return A2C


def _dqn() -> Any:
    from stable_baselines3 import DQN

    return DQN


#: Steps of all envs together between two updates.
_ROUND = 128


def _proximal(envs: int) -> dict[str, Any]:
    steps = max(_ROUND // envs, 2)
    size = {"n_steps": steps, "batch_size": min(64, steps * envs), "n_epochs": 6}
    return {**size, "learning_rate": 1e-3, "ent_coef": 0.01, "gamma": 1.0, "gae_lambda": 1.0}


def _advantage(envs: int) -> dict[str, Any]:
    return {"n_steps": max(32 // envs, 2), "ent_coef": 0.01, "gamma": 1.0}


def _values(_: int) -> dict[str, Any]:
    size = {"buffer_size": 5000, "batch_size": 64}  # an observation is kilobytes
    # The same chance of a drawn action throughout: nobody knows how many steps there will be.
    chance = {"exploration_initial_eps": 0.2, "exploration_final_eps": 0.2}
    return {**size, **chance, "learning_starts": 64, "gamma": 1.0}


ALGORITHMS: Mapping[str, Algorithm] = {
    "maskable-ppo": Algorithm(_maskable_ppo, "pointer", True, _proximal),
    "ppo": Algorithm(_ppo, "MultiInputPolicy", False, _proximal),
    "a2c": Algorithm(_a2c, "MultiInputPolicy", False, _advantage),
    "dqn": Algorithm(_dqn, "MultiInputPolicy", False, _values),
}


def algorithm(name: str) -> Algorithm:
    """The algorithm of a name. Raises ``NotFoundError``."""
    if name not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise NotFoundError("algorithm", name, ALGORITHMS, f"there are: {known}")
    return ALGORITHMS[name]


def make_model(name: str, env: Any, seed: int) -> Any:
    """A model that has learned nothing yet."""
    found = algorithm(name)
    policy: Any = found.policy
    if policy == "pointer":
        from codegym.integrations.sb3.pointer import PointerPolicy

        policy = PointerPolicy
    settings = found.settings(env.num_envs)
    return found.load()(policy, env, seed=seed, device="cpu", **settings)
