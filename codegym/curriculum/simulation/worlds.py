"""Made-up tasks with a known truth, and learners that get better at them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codegym.curriculum.difficulty import Rows
from codegym.curriculum.features import Floats
from codegym.types import Task

#: Tasks to learn from, and as many others that only measure.
POOL: Final = 1000
HELD_OUT: Final = 500
#: Episodes of a task that make a group, and groups that make a step of learning.
GROUP: Final = 8
BATCH: Final = 32
POOLS: Final = ("easy", "balanced", "hard")

#: What a success rate is worth to a learner.
Gain = Callable[[Floats], Floats]


class Learner(ABC):
    """A learner and its tasks."""

    tasks: tuple[Task, ...]

    @abstractmethod
    def chances(self) -> Floats:
        """The true chance of success at each task now, shape ``(POOL,)``."""

    @abstractmethod
    def held_out(self) -> float:
        """The mean chance of success at the tasks that only measure."""

    @abstractmethod
    def practise(self, rows: Rows, rng: np.random.Generator) -> NDArray[np.int64]:
        """Play a group of each task and learn; how many of each were solved, 0 to ``GROUP``."""


_SKILLS: Final[Mapping[str, tuple[float, ...]]] = {
    "easy": (1, 1, 1, 1, 0, 0, 0, 0),
    "balanced": (1, 1, 1, 1, 1, 1, 1, 1),
    "hard": (1, 2, 3, 4, 5, 6, 7, 8),
}


class Grpo(Learner):
    """A softmax policy trained by group-relative policy gradient, from nothing.

    A task needs 1 to 8 of 48 skills, each a choice of 1 of 6 actions; it is solved if all are
    right. No law says how fast it learns: it is what the gradient gives.
    """

    KINDS: Final = 48
    ACTIONS: Final = 6
    MOST: Final = 8
    RATE: Final = 8.0

    def __init__(self, pool: str, correlation: float, rng: np.random.Generator) -> None:
        self._logits = np.zeros((self.KINDS + 1, self.ACTIONS))
        # What pads a task with few skills is always right, and never learned.
        self._logits[self.KINDS, 0] = 1e3
        self._needs = self._draw(pool, POOL, rng)
        self._measured = self._draw(pool, HELD_OUT, rng)
        count = (self._needs < self.KINDS).sum(axis=1).astype(float)
        self.tasks = _tasks(count, np.zeros(POOL, np.int64), correlation, rng)

    def _draw(self, pool: str, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        odds = np.array(_SKILLS[pool], float)
        sizes = rng.choice(np.arange(1, self.MOST + 1), count, p=odds / odds.sum())
        needs = np.argsort(rng.random((count, self.KINDS)), axis=1)[:, : self.MOST]
        needs[np.arange(self.MOST) >= sizes[:, None]] = self.KINDS
        return needs

    def _policy(self) -> Floats:
        shifted = np.exp(self._logits - self._logits.max(axis=1, keepdims=True))
        policy: Floats = shifted / shifted.sum(axis=1, keepdims=True)
        return policy

    def chances(self) -> Floats:
        """Each skill of a task has to be right."""
        chances: Floats = self._policy()[self._needs, 0].prod(axis=1)
        return chances

    def held_out(self) -> float:
        """As ``chances``, elsewhere."""
        return float(self._policy()[self._measured, 0].prod(axis=1).mean())

    def practise(self, rows: Rows, rng: np.random.Generator) -> NDArray[np.int64]:
        """One step of gradient over all groups."""
        policy, needs = self._policy(), self._needs[rows]
        edges = policy.cumsum(axis=1)[needs]  # (groups, skills, actions)
        drawn = rng.random((len(rows), GROUP, self.MOST))
        actions = (drawn[..., None] >= edges[:, None, :, :-1]).sum(axis=-1)
        reward = (actions == 0).all(axis=-1).astype(float)
        spread = reward.std(axis=1, keepdims=True)
        advantage = (reward - reward.mean(axis=1, keepdims=True)) / (spread + 1e-6)
        weight = np.broadcast_to(advantage[..., None], actions.shape)
        gradient = np.zeros_like(self._logits)
        which = np.broadcast_to(needs[:, None, :], actions.shape)
        np.add.at(gradient, (which, actions), weight)
        totals = np.zeros(self.KINDS + 1)
        np.add.at(totals, which, weight)
        gradient -= totals[:, None] * policy
        gradient[self.KINDS] = 0.0
        self._logits += self.RATE * gradient / (len(rows) * GROUP)
        solved: NDArray[np.int64] = reward.sum(axis=1).astype(np.int64)
        return solved


#: Mean and spread of the difficulties of a pool, in logits over the learner's first skill.
_DIFFICULTY: Final[Mapping[str, tuple[float, float]]] = {
    "easy": (0.0, 1.5),
    "balanced": (2.0, 2.5),
    "hard": (4.0, 2.0),
}


class Irt(Learner):
    """One skill for each of four categories; ``logit p = skill - difficulty``.

    Each group moves its category's skill, by a law: in proportion to the variance of its outcomes
    (as a policy gradient does), to its successes, or always alike (where no choice can help).
    """

    CATEGORIES: Final = 4
    RATE: Final = 0.01

    def __init__(self, pool: str, correlation: float, rng: np.random.Generator, gain: Gain) -> None:
        mean, spread = _DIFFICULTY[pool]
        self._gain = gain
        self._skill = np.zeros(self.CATEGORIES)
        self._category = rng.integers(self.CATEGORIES, size=POOL)
        self._difficulty = rng.normal(mean, spread, POOL)
        self._other_category = rng.integers(self.CATEGORIES, size=HELD_OUT)
        self._other = rng.normal(mean, spread, HELD_OUT)
        self.tasks = _tasks(self._difficulty, self._category, correlation, rng)

    def chances(self) -> Floats:
        """By Rasch's model."""
        return _sigmoid(self._skill[self._category] - self._difficulty)

    def held_out(self) -> float:
        """As ``chances``, elsewhere."""
        return float(_sigmoid(self._skill[self._other_category] - self._other).mean())

    def practise(self, rows: Rows, rng: np.random.Generator) -> NDArray[np.int64]:
        """Move each category's skill by its groups' gains."""
        solved: NDArray[np.int64] = rng.binomial(GROUP, self.chances()[rows])
        np.add.at(self._skill, self._category[rows], self.RATE * self._gain(solved / GROUP))
        return solved


def _tasks(
    truth: Floats, category: NDArray[np.int64], correlation: float, rng: np.random.Generator
) -> tuple[Task, ...]:
    """Tasks with a label of their difficulty that is as good as ``correlation`` says."""
    spread = float(truth.std()) or 1.0
    noise = math.sqrt(1.0 - correlation**2) * rng.normal(size=len(truth))
    label = correlation * (truth - truth.mean()) / spread + noise
    return tuple(
        Task(
            instance_id=f"task-{number}",
            environment=f"category-{code}",
            base_commit="",
            patch="",
            fail_to_pass=("test",),
            pass_to_pass=(),
            features={"difficulty": float(difficulty)},
        )
        for number, (code, difficulty) in enumerate(zip(category, label, strict=True))
    )


def _sigmoid(logits: Floats) -> Floats:
    result: Floats = 0.5 * (1.0 + np.tanh(0.5 * logits))
    return result


_GAINS: Final[Mapping[str, Gain]] = {
    "irt": lambda rate: 4.0 * rate * (1.0 - rate),
    "irt-success": lambda rate: rate,
    "irt-constant": lambda rate: np.full_like(rate, 0.5),
}
#: What learns: by the law of its name, or ``grpo`` by gradient.
LEARNERS: Final = (*_GAINS, "grpo")


def make_learner(name: str, pool: str, correlation: float, rng: np.random.Generator) -> Learner:
    """A learner that has learned nothing, and its tasks.

    Args:
        name: One of ``LEARNERS``.
        pool: One of ``POOLS``.
        correlation: Of the labels of difficulty with the truth, 0 to 1.
        rng: Decides what the tasks are.
    """
    if name == "grpo":
        return Grpo(pool, correlation, rng)
    return Irt(pool, correlation, rng, _GAINS[name])
