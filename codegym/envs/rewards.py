"""Rewards: pure functions of grade and trajectory, chosen by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, cast, runtime_checkable

from codegym import plugins
from codegym.errors import UsageError
from codegym.types import Grade, Reward, Trajectory

#: The rewards that come with CodeGym.
BUILTIN: Mapping[str, str] = {
    "solved": "codegym.envs.rewards:Solved",
    "progress": "codegym.envs.rewards:Progress",
    "honest": "codegym.envs.rewards:Honest",
}


@runtime_checkable
class Shaped(Protocol):
    """A ``Reward`` that also has a potential.

    Each step then earns ``gamma * potential(after) - potential(before)``, with the potential 0 at
    the start, where every FAIL_TO_PASS test fails, and 0 at the end, however the episode ends: so
    shaping adds nothing to a whole episode's discounted return, and changes no optimal policy.
    """

    range: tuple[float, float]

    def __call__(self, grade: Grade, trajectory: Trajectory) -> float:
        """Return the final reward, before shaping."""
        ...

    def potential(self, grade: Grade, shown: Sequence[str], fail_to_pass: Sequence[str]) -> float:
        """How far the work is, 0 to 1, from a trusted grade's outcomes of shown tests only."""
        ...


class Solved:
    """1.0 where the work is right, else 0.0; at the last step."""

    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __call__(self, grade: Grade, trajectory: Trajectory) -> float:  # noqa: ARG002
        """Return the grade's score."""
        return grade.score


class Honest:
    """``solved``, and -1.0 where the grade names an attempt to score without solving."""

    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def __call__(self, grade: Grade, trajectory: Trajectory) -> float:  # noqa: ARG002
        """Return the grade's score, or the penalty: tampering never scores."""
        return -1.0 if grade.tampering else grade.score


class Progress:
    """``solved``, and on the way the change in the share of shown tests that are repaired.

    The potential is the fraction of shown FAIL_TO_PASS tests that pass, times that of shown
    PASS_TO_PASS tests that still do; 0 where anything was tampered with. ``range`` is a step's.
    """

    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def __call__(self, grade: Grade, trajectory: Trajectory) -> float:  # noqa: ARG002
        """Return the grade's score."""
        return grade.score

    def potential(self, grade: Grade, shown: Sequence[str], fail_to_pass: Sequence[str]) -> float:
        """Repaired shown tests times unbroken shown tests."""
        if grade.tampering:
            return 0.0
        passed = {outcome.id: outcome.outcome == "passed" for outcome in grade.outcomes}
        failing = set(fail_to_pass)
        repaired = [passed.get(test, False) for test in shown if test in failing]
        unbroken = [passed.get(test, False) for test in shown if test not in failing]
        return _share(repaired, of_none=0.0) * _share(unbroken, of_none=1.0)


def _share(flags: Sequence[bool], *, of_none: float) -> float:
    return sum(flags) / len(flags) if flags else of_none


def load_reward(name: str) -> Reward:
    """Load a reward by name, plug-in's name or ``module:attr``.

    Raises:
        UsageError: It is no reward. ``NotFoundError`` where nothing has the name.
    """
    if not isinstance(name, str):  # from a caller's Python, so not what the annotation says
        raise UsageError(f"reward: expected a name or module:attr, got {name!r}")
    found = plugins.load("rewards", name, BUILTIN)
    reward = found() if isinstance(found, type) else found
    if not callable(reward) or not hasattr(reward, "range"):
        raise UsageError(f"reward: {name!r} is no reward: it lacks `range` or `__call__`")
    return cast("Reward", reward)
