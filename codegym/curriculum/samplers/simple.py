"""The samplers to compare with: each a rule from the literature, in a few lines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from codegym.curriculum.difficulty import Rows
from codegym.curriculum.features import Floats
from codegym.curriculum.outcomes import Outcome
from codegym.curriculum.samplers.base import Sampler, largest, shuffled

#: What a group leaves of earlier evidence where the latest is meant; single episodes leave more.
_LATEST: Final = 0.1


@dataclass(kw_only=True)
class Uniform(Sampler):
    """Each task as likely as any: the control."""

    def pick(self, rows: Rows, n: int, rng: np.random.Generator) -> Rows:
        """Draw without looking."""
        return shuffled(len(rows), n, rng)


@dataclass(kw_only=True)
class EasyToHard(Sampler):
    """Starts with the easiest by prior, and lets in harder ones as a budget is used up.

    Attributes:
        budget: Episodes after which all are let in.
        start: Share let in at the beginning.
    """

    budget: int = 12_000
    start: float = 0.1

    def pick(self, rows: Rows, n: int, rng: np.random.Generator) -> Rows:
        """Draw from those let in."""
        share = self.start + (1.0 - self.start) * min(self.model.clock / self.budget, 1.0)
        let_in = largest(-self.model.label(rows), max(n, math.ceil(share * len(rows))))
        chosen: Rows = let_in[shuffled(len(let_in), n, rng)]
        return chosen


@dataclass(kw_only=True)
class AdaRft(Sampler):
    """Keeps a target difficulty, moved by the mean reward (AdaRFT, arXiv:2504.05520).

    Attributes:
        step: Largest move of the target, in percent of the tasks.
        sensitivity: How soon the move is large.
        aim: Success rate aimed at.
        batch: Episodes between two moves.
    """

    step: float = 50.0
    sensitivity: float = 2.0
    aim: float = 0.5
    batch: int = 256
    target: float = field(default=0.0, init=False)
    solved: int = field(default=0, init=False)
    episodes: int = field(default=0, init=False)

    def pick(self, rows: Rows, n: int, rng: np.random.Generator) -> Rows:
        """Those whose difficulty is nearest to the target; ties are broken by chance."""
        order = shuffled(len(rows), len(rows), rng)
        label = self.model.label(rows)[order]
        percent = 100.0 * np.argsort(np.argsort(label, kind="stable")) / max(len(rows) - 1, 1)
        nearest: Rows = order[largest(-np.abs(percent - self.target), n)]
        return nearest

    def learn(self, outcome: Outcome) -> None:
        """Move the target after each batch."""
        super().learn(outcome)
        self.solved += outcome.solved
        self.episodes += outcome.episodes
        if self.episodes >= self.batch:
            mean = self.solved / self.episodes
            move = self.step * math.tanh(self.sensitivity * (mean - self.aim))
            self.target = min(max(self.target + move, 0.0), 100.0)
            self.solved = self.episodes = 0

    def state_dict(self) -> dict[str, Any]:
        """All state, as JSON values."""
        own = {"target": self.target, "solved": self.solved, "episodes": self.episodes}
        return {**super().state_dict(), **own}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put back what ``state_dict`` gave."""
        super().load_state_dict(state)
        self.target = float(state["target"])
        self.solved, self.episodes = int(state["solved"]), int(state["episodes"])

    def metrics(self) -> dict[str, float]:
        """The target, too."""
        return {**super().metrics(), "target": self.target}


@dataclass(kw_only=True)
class Mopps(Sampler):
    """Thompson sampling of success rates, nearest to the aim (MoPPS, arXiv:2507.04632).

    Attributes:
        aim: Success rate aimed at.
        candidates: Tasks looked at for each one drawn.
        keep: What a group of 8 leaves of earlier evidence (lambda), 0 to 1.
    """

    aim: float = 0.5
    candidates: int = 16
    keep: float = 1.0

    def __post_init__(self) -> None:
        self.model.decay, self.model.half_life = self.keep, math.inf

    def pick(self, rows: Rows, n: int, rng: np.random.Generator) -> Rows:
        """Of some candidates, those whose drawn rate is nearest to the aim."""
        some = shuffled(len(rows), min(self.candidates * n, len(rows)), rng)
        solved, failed = self.model.evidence(rows[some])
        drawn = rng.beta(1.0 + solved, 1.0 + failed)
        chosen: Rows = some[largest(-np.abs(drawn - self.aim), n)]
        return chosen


@dataclass(kw_only=True)
class Sfl(Sampler):
    """Half the batch the most learnable of those measured, half uniform (arXiv:2408.15099).

    The uniform half measures; there is no measuring besides that is not counted.

    Attributes:
        share: Of the batch that is drawn from the most learnable.
        best: How many count as most learnable, as a share of all.
    """

    share: float = 0.5
    best: float = 0.1

    def __post_init__(self) -> None:
        self.model.decay, self.model.half_life = _LATEST, math.inf

    def pick(self, rows: Rows, n: int, rng: np.random.Generator) -> Rows:
        """Draw from the buffer of the best, then from all the others."""
        solved, failed = self.model.evidence(rows)
        score = solved * failed / np.maximum(solved + failed, 1.0) ** 2
        order = shuffled(len(rows), len(rows), rng)
        size = max(math.ceil(self.best * len(rows)), n)
        best = order[largest(score[order], size)]
        best = best[score[best] > 0.0]
        wanted = min(int(self.share * n + rng.random()), len(best))
        first = best[shuffled(len(best), wanted, rng)]
        rest = order[~np.isin(order, first)][: n - wanted]
        return np.concatenate([first, rest])


@dataclass(kw_only=True)
class Plr(Sampler):
    """Prioritised level replay (arXiv:2010.03934): by rank of the last advantage, and staleness.

    Attributes:
        temperature: Of the ranks (beta).
        staleness: Share of the weight that goes to those not seen for long.
        replay: Chance that a task seen before is drawn while others were never seen.
    """

    temperature: float = 0.1
    staleness: float = 0.1
    replay: float = 0.5

    def __post_init__(self) -> None:
        self.model.decay, self.model.half_life = _LATEST, math.inf

    def pick(self, rows: Rows, n: int, rng: np.random.Generator) -> Rows:
        """New ones by chance, old ones by weight."""
        order = shuffled(len(rows), len(rows), rng)
        seen = self.model.episodes(rows[order]) > 0
        new, old = order[~seen], order[seen]
        again = int(rng.binomial(n, self.replay))
        again = min(max(again, n - len(new)), len(old))
        chosen = old[:0]
        if again:
            weights = self._weights(rows[old])
            chosen = rng.choice(old, again, replace=False, p=weights)
        return np.concatenate([chosen, new[: n - again]])

    def _weights(self, rows: Rows) -> Floats:
        solved, failed = self.model.evidence(rows)
        # The mean of a binary reward's absolute advantage.
        score = 2.0 * solved * failed / np.maximum(solved + failed, 1.0) ** 2
        rank = np.empty(len(rows))
        rank[np.argsort(-score, kind="stable")] = np.arange(1, len(rows) + 1)
        logits = -np.log(rank) / self.temperature
        by_score = np.exp(logits - logits.max()) + 1e-12  # so that enough can be drawn
        age = 1.0 + self.model.age(rows)
        by_score /= by_score.sum()
        weights: Floats = (1.0 - self.staleness) * by_score + self.staleness * age / age.sum()
        return weights
