"""What simulated samplers are measured against: the control, and what is not for use.

``oracle`` knows each task's true chance. ``sec`` chooses categories, here tenths of the labels, as
a bandit by the mean absolute advantage (arXiv:2505.14970).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from codegym.curriculum.difficulty import Rows
from codegym.curriculum.features import Floats
from codegym.curriculum.outcomes import Outcome
from codegym.curriculum.samplers.base import Sampler, largest, shuffled
from codegym.curriculum.samplers.simple import Uniform
from codegym.curriculum.simulation.worlds import GROUP, Learner


@dataclass(kw_only=True)
class Reference(Sampler):
    """Is shown the learner."""

    chances: Floats = field(default_factory=lambda: np.zeros(0), init=False)

    def see(self, world: Learner) -> None:
        """Note the true chances."""
        self.chances = world.chances()


@dataclass(kw_only=True)
class Oracle(Reference):
    """The tasks whose groups are most likely to be informative."""

    def pick(self, rows: Rows, n: int, rng: np.random.Generator) -> Rows:
        """By the truth; ties are broken by chance."""
        order = shuffled(len(rows), len(rows), rng)
        p = self.chances[rows[order]]
        chosen: Rows = order[largest(1.0 - p**GROUP - (1.0 - p) ** GROUP, n)]
        return chosen


@dataclass(kw_only=True)
class Sec(Sampler):
    """A Boltzmann bandit over tenths of the labels.

    Attributes:
        rate: Step of the arms' values.
        temperature: Of the choice.
    """

    rate: float = 0.5
    temperature: float = 0.4
    arms: int = 10
    value: Floats = field(default_factory=lambda: np.zeros(10), init=False)
    arm_of: dict[str, int] = field(default_factory=dict, init=False)

    def pick(self, rows: Rows, n: int, rng: np.random.Generator) -> Rows:
        """An arm for each task, and any task of it."""
        ranks = np.argsort(np.argsort(self.model.label(rows), kind="stable"))
        arms = ranks * self.arms // len(rows)
        if not self.arm_of:
            self.arm_of = {f"task-{row}": int(arm) for row, arm in zip(rows, arms, strict=True)}
        weights = np.exp((self.value - self.value.max()) / self.temperature)
        wanted = rng.multinomial(n, weights / weights.sum())
        order = shuffled(len(rows), len(rows), rng)
        chosen = [order[arms[order] == arm][:count] for arm, count in enumerate(wanted)]
        found = np.concatenate(chosen)
        return np.concatenate([found, np.setdiff1d(order, found)[: n - len(found)]])

    def learn(self, outcome: Outcome) -> None:
        """Move the arm's value."""
        arm = self.arm_of[outcome.task_id]
        advantage = 2.0 * (outcome.rate * (1.0 - outcome.rate)) ** 0.5
        self.value[arm] += self.rate * (advantage - self.value[arm]) / GROUP


REFERENCES: Final[Mapping[str, Callable[[int], Sampler]]] = {
    "uniform": lambda seed: Uniform(seed=seed),
    "sec": lambda seed: Sec(seed=seed),
    "oracle": lambda seed: Oracle(seed=seed),
}
