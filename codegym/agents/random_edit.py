"""``random_edit``: tries edits drawn at random, of those that mutation's operators find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from codegym.agents.edits.policy import EditPolicy
from codegym.agents.edits.survey import Survey


@dataclass(frozen=True)
class RandomEdit(EditPolicy):
    """Draws an edit; which, the episode's seed decides."""

    def choose(self, survey: Survey, tried: tuple[int, ...], rng: np.random.Generator) -> int:
        """Any that was not tried, all alike."""
        return int(rng.choice(sorted(set(range(len(survey.edits))) - set(tried))))
