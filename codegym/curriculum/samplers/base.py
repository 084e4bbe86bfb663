"""What the samplers here share. A plug-in need not use it: ``codegym.types.TaskSampler`` counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from codegym.curriculum.difficulty import Difficulty, Rows
from codegym.curriculum.features import Floats
from codegym.curriculum.outcomes import Outcome, outcomes
from codegym.errors import UsageError
from codegym.types import EpisodeResult, Task


@dataclass(kw_only=True)
class Sampler(ABC):
    """A task sampler over a model of difficulty.

    What it draws follows from its options, the outcomes it observed, in their order, and the
    random numbers it is given. A draw changes nothing but ``draws``.

    Attributes:
        seed: Of its own random numbers, >= 0; used where none are given.
    """

    seed: int = 0
    draws: int = field(default=0, init=False)
    model: Difficulty = field(default_factory=Difficulty, init=False, repr=False, compare=False)

    def sample(
        self, pool: Sequence[Task], n: int, *, rng: np.random.Generator | None = None
    ) -> list[Task]:
        """Draw ``n`` tasks; none twice before each was drawn once.

        Raises:
            UsageError: The pool is empty.
        """
        if not pool:
            raise UsageError("there is no task to draw: the pool is empty")
        if rng is None:
            rng = np.random.default_rng([self.seed, self.draws])
            self.draws += 1
        rows = self.model.rows(pool)
        picked: list[int] = []
        while len(picked) < n:
            wanted = min(n - len(picked), len(rows))
            picked.extend(int(place) for place in self.pick(rows, wanted, rng))
        return [pool[place] for place in picked]

    def observe(self, group: Sequence[EpisodeResult]) -> None:
        """Learn from a group of finished episodes; what faulted is no evidence."""
        self.model.know({result.task.instance_id: result.task for result in group}.values())
        for outcome in outcomes(group):
            self.learn(outcome)

    def learn(self, outcome: Outcome) -> None:
        """Learn from one outcome."""
        self.model.observe(outcome)

    @abstractmethod
    def pick(self, rows: Rows, n: int, rng: np.random.Generator) -> Rows:
        """Choose ``n`` of the rows, ``n <= len(rows)``.

        Returns:
            Their places in ``rows``, shape ``(n,)``, no two the same.
        """

    def state_dict(self) -> dict[str, Any]:
        """All state, as JSON values."""
        return {"draws": self.draws, "model": self.model.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put back what ``state_dict`` gave."""
        self.draws = int(state["draws"])
        self.model.load_state_dict(state["model"])

    def metrics(self) -> dict[str, float]:
        """Numbers worth plotting."""
        return {"episodes": float(self.model.clock)}


def shuffled(count: int, n: int, rng: np.random.Generator) -> Rows:
    """``n`` of the numbers below ``count``, each as likely as any, in random order."""
    chosen: Rows = rng.permutation(count)[:n]
    return chosen


def largest(scores: Floats, n: int) -> Rows:
    """The places of the ``n`` largest; of equal ones, the first."""
    chosen: Rows = np.argsort(-scores, kind="stable")[:n]
    return chosen
