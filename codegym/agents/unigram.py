"""``unigram``: tries the edits that most often were the answer elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from codegym.agents.edits.policy import EditPolicy
from codegym.agents.edits.prior import Prior
from codegym.agents.edits.survey import Survey
from codegym.errors import UsageError
from codegym.tasks.sources import resolve


@dataclass(frozen=True)
class Unigram(EditPolicy):
    """Knows operators and replacements, and nothing of the place.

    Attributes:
        learn_from: Names the tasks whose answers it counts; others than those it is measured on.
    """

    learn_from: str = ""
    _prior: Prior = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.learn_from:
            raise UsageError("unigram: learn_from names the tasks whose answers it counts")
        source = resolve(self.learn_from)
        self._name(f"1-{source.digest[:16]}")
        object.__setattr__(self, "_prior", Prior.of(source))

    def choose(self, survey: Survey, tried: tuple[int, ...], rng: np.random.Generator) -> int:  # noqa: ARG002
        """The likeliest that was not tried."""
        return self._prior.best(survey.edits, tried)
