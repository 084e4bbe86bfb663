"""A task sampler: gives a task up for good after so many failures in a row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from codegym.types import EpisodeResult, Task


@dataclass
class GivesUp:
    """Its fields are what a spec's ``[sampler.options]`` may say; ``seed`` is the spec's."""

    after: int = 20
    seed: int = 0
    draws: int = field(default=0, init=False)
    failures: dict[str, int] = field(default_factory=dict, init=False)

    def sample(
        self, pool: Sequence[Task], n: int, *, rng: np.random.Generator | None = None
    ) -> list[Task]:
        """Draw from what was not given up; from all, where everything was."""
        if rng is None:  # chance of its own, which is in its state
            self.draws += 1
            rng = np.random.default_rng([self.seed, self.draws])
        kept = [task for task in pool if self.failures.get(task.instance_id, 0) < self.after]
        left: list[Task] = []
        while len(left) < n:
            left += [(kept or pool)[place] for place in rng.permutation(len(kept or pool))]
        return left[:n]

    def observe(self, group: Sequence[EpisodeResult]) -> None:
        """Count failures; what faulted has no grade, and is none."""
        for result in group:
            if result.grade is not None:
                name = result.task.instance_id
                self.failures[name] = 0 if result.grade.solved else self.failures.get(name, 0) + 1

    def state_dict(self) -> dict[str, Any]:
        """All state, as JSON values."""
        return {"draws": self.draws, "failures": dict(self.failures)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put back what ``state_dict`` gave."""
        self.draws, self.failures = state["draws"], dict(state["failures"])

    def metrics(self) -> dict[str, float]:
        """Numbers worth plotting."""
        return {"given_up": float(sum(n >= self.after for n in self.failures.values()))}
