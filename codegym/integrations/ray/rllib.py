"""RLlib: choosing edits as an env of flat numbers, which its default networks take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from gymnasium.wrappers import FlattenObservation

from codegym.integrations.sb3.env import CandidateEdits

#: The name that ``register`` gives.
ENV = "CodeGym/CandidateEdits-v0"


def make_env(config: Mapping[str, Any]) -> gym.Env[Any, Any]:
    """RLlib's env creator.

    Args:
        config: Arguments of ``CandidateEdits``: ``tasks``, ``candidates``, ``attempts``, ``memo``…

    Returns:
        Observation: ``Box``, shape ``(candidates * 14 + 1,)``, 0 to 1. Action: ``Discrete``; an
        edit that is not there, or was tried, is an attempt in vain.
    """
    return FlattenObservation(CandidateEdits(**config))


def register() -> None:
    """Make ``ENV`` known to RLlib: ``PPOConfig().environment(ENV, env_config={…})``."""
    from ray.tune.registry import register_env

    register_env(ENV, make_env)
