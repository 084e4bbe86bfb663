"""How episodes are played: the options that an env, a vector and rollouts share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

from codegym.envs import kinds
from codegym.envs.network import NONE, Network
from codegym.envs.rewards import load_reward
from codegym.envs.tools import Toolbox, load_tools
from codegym.errors import NotFoundError, UsageError
from codegym.types import Reward


@dataclass(frozen=True)
class EpisodeOptions:
    """Options of an episode; names, so that they can be written down.

    Attributes:
        kind: The kind that rows are presented as; ``"Tasks"``: each as its own.
        reward: ``"solved"``, ``"progress"``, ``"honest"``, a plug-in's name or ``module:attr``.
        gamma: Discount of shaped rewards, in (0, 1].
        tools: ``"default"``, or a list of names, plug-ins' names and ``module:attr``.
        max_steps: Actions before truncation, >= 1.
        max_episode_sec: Wall time before truncation, from the end of the reset.
        command_timeout_sec: Wall time of one action's commands; an environment's own holds, too.
        max_output_chars: Bound on an observation's ``output``, >= 200.
        opening: What a policy is told at first: ``"full"``, or ``"brief"``: only the failing tests
            and the files that are to be changed.
        network: What a sandbox may reach: ``"none"``, a policy's name, or the path of a ``.toml``.
    """

    kind: str = kinds.BY_ROW
    reward: str = "solved"
    gamma: float = 1.0
    tools: str | Sequence[str] = "default"
    max_steps: int = 50
    max_episode_sec: float = 1800.0
    command_timeout_sec: float = 120.0
    max_output_chars: int = 16_000
    opening: str = "full"
    network: str = NONE

    def __post_init__(self) -> None:
        """Raise ``UsageError`` where a value is out of its range or a name is unknown."""
        kinds.check_kind(self.kind)
        right = _is_number(self.gamma) and 0 < self.gamma <= 1
        _check(right, "gamma", self.gamma, "a number in (0, 1]")
        _check_whole("max_steps", self.max_steps, 1)
        _check_whole("max_output_chars", self.max_output_chars, 200)
        if self.opening not in kinds.OPENINGS:
            raise NotFoundError("opening", self.opening, kinds.OPENINGS)
        for name in ("max_episode_sec", "command_timeout_sec"):
            value = getattr(self, name)
            _check(_is_number(value) and value > 0, name, value, "a number above 0")
        # A wrong name is told now, not at the first reset.
        _ = self.toolbox, self.reward_function, self.reachable

    @cached_property
    def toolbox(self) -> Toolbox:
        """The tools."""
        return load_tools(self.tools)

    @cached_property
    def reward_function(self) -> Reward:
        """The reward."""
        return load_reward(self.reward)

    @cached_property
    def reachable(self) -> Network | None:
        """What a sandbox may reach; None for nothing."""
        return Network.named(self.network)


def _check_whole(name: str, value: int, least: int) -> None:
    # From JSON or a command line, so not what the annotation says.
    whole = type(value) is int
    _check(whole and value >= least, name, value, f"a whole number, at least {least}")


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and not math.isnan(value)


def _check(right: bool, name: str, value: object, wanted: str) -> None:
    if not right:
        raise UsageError(f"{name}: must be {wanted}, got {value!r}")
