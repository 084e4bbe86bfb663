"""How far what was expected came true."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from codegym.curriculum.features import Floats
from codegym.curriculum.outcomes import Outcome

BINS: Final = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Episodes of which about the same was expected: the means of both, and how many."""

    expected: float
    solved: float
    episodes: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the predictions of episodes were worth.

    Attributes:
        episodes: How many had one.
        brier: Mean squared error, 0 to 1; None where there is no episode.
        base: The same of always expecting the mean.
        auc: Chance that of a solved and an unsolved episode, the solved one was expected more; None
            where there are not both.
        bins: By expectation, the empty ones left out.
    """

    episodes: int
    brier: float | None
    base: float | None
    auc: float | None
    bins: tuple[Bin, ...]


def calibrate(outcomes: Iterable[Outcome]) -> Calibration:
    """Compare each outcome with what was expected before it."""
    told = [outcome for outcome in outcomes if outcome.predicted >= 0.0]
    if not told:
        return Calibration(0, None, None, None, ())
    expected = np.array([outcome.predicted for outcome in told])
    solved = np.array([outcome.solved for outcome in told], float)
    total = np.array([outcome.episodes for outcome in told], float)
    rate = solved.sum() / total.sum()
    error = solved * (1.0 - expected) ** 2 + (total - solved) * expected**2
    which = np.minimum((expected * BINS).astype(int), BINS - 1)
    bins = []
    for place in np.unique(which):
        inside = which == place
        count = total[inside].sum()
        mean = float((expected * total)[inside].sum() / count)
        bins.append(Bin(mean, float(solved[inside].sum() / count), int(count)))
    return Calibration(
        episodes=int(total.sum()),
        brier=float(error.sum() / total.sum()),
        base=float(rate * (1.0 - rate)),
        auc=_auc(expected, solved, total - solved),
        bins=tuple(bins),
    )


def _auc(score: Floats, good: Floats, bad: Floats) -> float | None:
    """Of weighted pairs; equal scores count half."""
    if not good.sum() or not bad.sum():
        return None
    levels, place = np.unique(score, return_inverse=True)
    goods = np.bincount(place, good, len(levels))
    bads = np.bincount(place, bad, len(levels))
    below = np.concatenate([[0.0], np.cumsum(bads)[:-1]])
    return float((goods * (below + 0.5 * bads)).sum() / (good.sum() * bad.sum()))
