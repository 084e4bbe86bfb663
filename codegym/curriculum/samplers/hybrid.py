"""``frontier_hybrid``: where the learner is expected to learn most, and a look at everything."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from codegym.curriculum.difficulty import Rows
from codegym.curriculum.features import Floats
from codegym.curriculum.samplers.base import Sampler, largest, shuffled

_LEAST_AIM, _MOST_AIM = 1 / 3, 2 / 3


@dataclass(kw_only=True)
class FrontierHybrid(Sampler):
    """The tasks whose outcome is most worth having, and a share drawn from all alike.

    A task's worth is the expected variance of its outcome, ``p(1 - p)``, over the posterior of its
    ``p`` (the measure of SFL, arXiv:2408.15099; its expectation as in InSight, arXiv:2603.01907),
    tilted so that it peaks in the middle of ``band``. Why below one half:
    ``docs/design/0012-curriculum.md``.

    Attributes:
        band: Success rates at which most is learned; the middle, from 1/3 to 2/3, is aimed at.
        explore: Share of a batch that is drawn uniformly, 0 to 1.
        half_life: Episodes of the whole curriculum after which evidence counts half, > 0.
        decay: What 8 episodes of a task leave of its earlier evidence, 0 to 1.
    """

    band: tuple[float, float] = (0.2, 0.6)
    explore: float = 0.15
    half_life: float = 4000.0
    decay: float = 0.5

    def __post_init__(self) -> None:
        low, high = self.band
        if not (0.0 <= low < high <= 1.0 and _LEAST_AIM <= (low + high) / 2 <= _MOST_AIM):
            needed = "0 <= low < high <= 1, and a middle from 1/3 to 2/3"
            raise ValueError(f"band: needs {needed}, got {low:g} to {high:g}")
        for name, value in (("explore", self.explore), ("decay", self.decay)):
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name}: must be from 0 to 1, got {value}")
        if not self.half_life > 0.0:
            raise ValueError(f"half_life: must be greater than 0, got {self.half_life}")
        self.model.half_life, self.model.decay = self.half_life, self.decay

    def pick(self, rows: Rows, n: int, rng: np.random.Generator) -> Rows:
        """The worthiest, ties broken by chance; the rest of the batch any others."""
        order = shuffled(len(rows), len(rows), rng)
        blind = min(math.floor(self.explore * n + rng.random()), n)
        best = largest(self._worth(rows[order]), n - blind)
        others = np.delete(order, best)[:blind]
        return np.concatenate([order[best], others])

    def _worth(self, rows: Rows) -> Floats:
        """``E[p(1 - p)(1 + c(1 - 2p))]``, whose peak for a known ``p`` is at the aim."""
        aim = sum(self.band) / 2
        tilt = (1 - 2 * aim) / (2 * aim * (1 - aim) - (1 - 2 * aim) ** 2)
        a, b = self.model.beta(rows)
        total = a + b
        variance = a * b / (total * (total + 1.0))
        worth: Floats = variance * (1.0 + tilt * (b - a) / (total + 2.0))
        return worth

    def metrics(self) -> dict[str, float]:
        """The share of known tasks within the band, too."""
        mean = self.model.mean(self.model.all_rows())
        low, high = self.band
        inside = float(np.mean((mean >= low) & (mean <= high))) if len(mean) else 0.0
        return {**super().metrics(), "in_band": inside}
