"""How likely a policy solves each task: a prior from features, and a posterior from outcomes.

The prior is a one-parameter item response model (Rasch 1960), ``logit p = skill[category] - w·x``,
whose skills and weights follow the learner by the gradient of the log likelihood, which is Elo's
rule (Elo 1978; Pelánek 2016, doi:10.1016/j.compedu.2016.03.017). Each task has a Beta posterior
around it whose evidence is discounted, so that it forgets what a weaker policy did (MoPPS, Qu et
al. 2025, arXiv:2507.04632); its mean stands for the task (InSight 2026, arXiv:2603.01907).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codegym.curriculum.features import FEATURES, WEIGHTS, Floats, category_of, vector
from codegym.curriculum.outcomes import Outcome
from codegym.types import Task

Rows = NDArray[np.int64]

#: Pseudo-episodes that the prior counts for.
PRIOR_EPISODES: Final = 2.0
#: Episodes that are usually observed together; single ones move everything by as much less.
GROUP: Final = 8
#: Step of skills and weights for a group.
RATE: Final = 0.05
#: Part of a child's prior that is its parent's evidence.
INHERITED: Final = 0.25
#: Square of the longest vector of features that is learned from in full.
_LONGEST: Final = 25.0
_MAX_POOLS: Final = 64
_COLUMNS: Final = 5
#: Where posteriors are summed up, in logits.
_GRID: Final = np.linspace(-12.0, 12.0, 481)


class Difficulty:
    """The model. What it knows follows from the outcomes alone, in their order.

    Args:
        category: What a skill is kept for: one of ``features.CATEGORIES``.
        half_life: Episodes of the whole curriculum after which evidence counts half.
        decay: What ``GROUP`` episodes of a task leave of its earlier evidence, 0 to 1.

    Attributes:
        clock: Episodes observed.
    """

    def __init__(
        self,
        *,
        category: str = "environment",
        half_life: float = 4000.0,
        decay: float = 0.5,
    ) -> None:
        self.category, self.half_life, self.decay = category, half_life, decay
        self.clock = 0
        self.skill: dict[str, float] = {}
        self.weights = WEIGHTS.copy()
        self._index: dict[str, int] = {}
        self._pools: dict[int, tuple[tuple[Task, ...], Rows]] = {}
        self._pending: dict[str, list[float]] = {}
        self._categories: list[str] = []
        self._codes = np.zeros(0, np.int64)
        self._features = np.zeros((0, len(FEATURES)))
        self._parents = np.zeros(0, np.int64)
        #: Rows whose parent is not known, by its name.
        self._children: defaultdict[str, list[int]] = defaultdict(list)
        #: Per task: solved and not solved (discounted), clock then, episodes and solved in all.
        self._evidence = np.zeros((0, _COLUMNS))

    def rows(self, pool: Sequence[Task]) -> Rows:
        """The rows of a pool's tasks; those never seen are added. Fast for a tuple seen before."""
        known = self._pools.get(id(pool))
        if known is not None and known[0] is pool:
            return known[1]
        self.know(pool)
        rows = np.array([self._index[task.instance_id] for task in pool], np.int64)
        if isinstance(pool, tuple):  # another sequence may hold other tasks by the next time
            if len(self._pools) >= _MAX_POOLS:
                self._pools.clear()
            self._pools[id(pool)] = pool, rows
        return rows

    def know(self, tasks: Iterable[Task]) -> None:
        """Add tasks that were never seen; of others, nothing is learned."""
        self._add([task for task in tasks if task.instance_id not in self._index])

    def all_rows(self) -> Rows:
        """The rows of all tasks."""
        return np.arange(len(self._index))

    def prior(self, rows: Rows) -> Floats:
        """The chance of success that features and skills predict, shape ``rows.shape``."""
        return _sigmoid(self._skills()[self._codes[rows]] - self._features[rows] @ self.weights)

    def label(self, rows: Rows) -> Floats:
        """The difficulty that features alone say, before anything was learned, in logits."""
        label: Floats = self._features[rows] @ WEIGHTS
        return label

    def age(self, rows: Rows) -> Floats:
        """Episodes observed since each task's last one."""
        age: Floats = self.clock - self._evidence[rows, 2]
        return age

    def evidence(self, rows: Rows) -> tuple[Floats, Floats]:
        """Episodes solved and not solved, discounted to now; a parent's count for its child."""
        own = self._aged(rows)
        parents = self._parents[rows]
        inherited = np.where((parents >= 0)[:, None], self._aged(parents), 0.0) * INHERITED
        both = own + inherited
        return both[:, 0], both[:, 1]

    def beta(self, rows: Rows) -> tuple[Floats, Floats]:
        """Both parameters of each task's posterior."""
        prior = self.prior(rows)
        solved, failed = self.evidence(rows)
        return solved + PRIOR_EPISODES * prior, failed + PRIOR_EPISODES * (1.0 - prior)

    def mean(self, rows: Rows) -> Floats:
        """The posterior mean of each task's chance of success."""
        a, b = self.beta(rows)
        return a / (a + b)

    def interval(self, rows: Rows) -> tuple[Floats, Floats]:
        """The 95 % interval of each task's chance of success."""
        a, b = self.beta(rows)
        # In logits a Beta's density is smooth, however small its parameters.
        log = a[:, None] * _log_sigmoid(_GRID) + b[:, None] * _log_sigmoid(-_GRID)
        mass = np.exp(log - log.max(axis=1, keepdims=True)).cumsum(axis=1)
        mass /= mass[:, -1:]
        low, high = ((mass < level).sum(axis=1) for level in (0.025, 0.975))
        return _sigmoid(_GRID[low]), _sigmoid(_GRID[high])

    def chance(self, task_id: str) -> float:
        """The posterior mean of one task's chance of success; -1 for one that is in no pool."""
        row = self._index.get(task_id)
        return -1.0 if row is None else float(self.mean(np.array([row]))[0])

    def episodes(self, rows: Rows) -> Floats:
        """How many episodes of each task were observed, ever."""
        episodes: Floats = self._evidence[rows, 3]
        return episodes

    def solved(self, rows: Rows) -> Floats:
        """How many of them were solved."""
        solved: Floats = self._evidence[rows, 4]
        return solved

    def observe(self, outcome: Outcome) -> None:
        """Learn from an outcome; from one of a task that is not known, nothing."""
        row = self._index.get(outcome.task_id)
        if row is None:
            return
        self.clock += outcome.episodes
        rows, groups = np.array([row]), outcome.episodes / GROUP
        step = RATE * groups * (outcome.rate - float(self.prior(rows)[0]))
        name = self._categories[int(self._codes[row])]
        self.skill[name] = self.skill.get(name, 0.0) + step
        features = self._features[row]
        self.weights -= step * features / max(1.0, features @ features / _LONGEST)
        solved, failed = self._aged(rows)[0] * self.decay**groups
        self._evidence[row] = (
            solved + outcome.solved,
            failed + outcome.episodes - outcome.solved,
            self.clock,
            self._evidence[row, 3] + outcome.episodes,
            self._evidence[row, 4] + outcome.solved,
        )

    def state_dict(self) -> dict[str, Any]:
        """All that was learned, as JSON values."""
        seen = {name: row for name, row in self._index.items() if self._evidence[row, 3] > 0}
        return {
            "clock": self.clock,
            "skill": dict(self.skill),
            "weights": self.weights.tolist(),
            "tasks": {
                **{name: list(values) for name, values in self._pending.items()},
                **{name: self._evidence[row].tolist() for name, row in seen.items()},
            },
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put back what ``state_dict`` gave; tasks that are not there yet get theirs later."""
        self.clock, self.skill = int(state["clock"]), dict(state["skill"])
        kept = np.array(state["weights"], np.float64)
        self.weights = np.concatenate((kept, WEIGHTS[len(kept) :]))
        self._evidence[:] = 0.0
        self._pending = {name: list(values) for name, values in state["tasks"].items()}
        self._settle()

    def _skills(self) -> Floats:
        return np.array([self.skill.get(name, 0.0) for name in self._categories])

    def _aged(self, rows: Rows) -> Floats:
        found = self._evidence[rows]
        age = self.clock - found[:, 2]
        kept: Floats = found[:, :2] * np.exp2(-age / self.half_life)[:, None]
        return kept

    def _add(self, tasks: Sequence[Task]) -> None:
        if not tasks:
            return
        start = len(self._index)
        for offset, task in enumerate(tasks):
            self._index[task.instance_id] = start + offset
        codes = [self._code(category_of(task, self.category)) for task in tasks]
        self._codes = np.concatenate([self._codes, np.array(codes, np.int64)])
        self._features = np.concatenate([self._features, np.stack([vector(t) for t in tasks])])
        self._evidence = np.concatenate([self._evidence, np.zeros((len(tasks), _COLUMNS))])
        self._parents = np.concatenate([self._parents, np.full(len(tasks), -1)])
        for row, task in enumerate(tasks, start):
            if (parent := task.provenance.get("parent")) is not None:
                self._children[str(parent)].append(row)
        for name in [name for name in self._children if name in self._index]:
            self._parents[self._children.pop(name)] = self._index[name]
        self._settle()

    def _code(self, name: str) -> int:
        if name not in self._categories:
            self._categories.append(name)
        return self._categories.index(name)

    def _settle(self) -> None:
        """Give tasks the evidence that was loaded before they were there."""
        for name in [name for name in self._pending if name in self._index]:
            self._evidence[self._index[name]] = self._pending.pop(name)


def _log_sigmoid(logits: Floats) -> Floats:
    result: Floats = -np.logaddexp(0.0, -logits)
    return result


def _sigmoid(logits: Floats) -> Floats:
    result: Floats = 0.5 * (1.0 + np.tanh(0.5 * logits))
    return result
