"""Draws tasks within a spec's quotas and caps, whatever the sampler."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from codegym.curriculum.features import category_of, operator_of
from codegym.curriculum.spec import Spec
from codegym.errors import DataError, NotFoundError
from codegym.types import Task, TaskSampler

#: A single task is one of so many, so that quotas and caps hold on average; but never of more than
#: a quarter of the pool, or nothing would be chosen.
BLOCK: Final = 32
_CLOSE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Part:
    """The tasks of one quota, or of all that have none, and their share of what is drawn."""

    name: str
    tasks: tuple[Task, ...]
    share: float


class Drawing:
    """A pool in parts.

    Args:
        spec: Its quotas, caps and category.
        pool: The tasks; not empty.

    Raises:
        DataError: A quota or a cap cannot be met by this pool.
    """

    def __init__(self, spec: Spec, pool: Sequence[Task]) -> None:
        self._cap, self._kind, what = _cap_of(spec)
        self.parts = _parts(spec, pool)
        for part in self.parts:
            kinds = len(set(map(self._kind, part.tasks)))
            if kinds * self._cap < 1.0 - _CLOSE:
                has = f"{kinds} {what}" if kinds == 1 else f"{kinds} {what}s"
                problem = (
                    f"{self._cap:g} cannot be met: the tasks of {part.name} have {has}, so "
                    f"{1 / kinds:.3g} is the least"
                )
                raise DataError(spec.path, problem, field=f"caps.{what}")

    def draw(self, sampler: TaskSampler, n: int, rng: np.random.Generator) -> list[Task]:
        """Draw ``n`` tasks; of each part its share, rounded up or down by chance."""
        drawn: list[Task] = []
        for part, count in zip(self.parts, _counts(self.parts, n, rng), strict=True):
            drawn += self._of_part(part, sampler, count, rng)
        return [drawn[place] for place in rng.permutation(len(drawn))]

    def one(self, sampler: TaskSampler, rng: np.random.Generator) -> Task:
        """Draw one task."""
        whole = sum(len(part.tasks) for part in self.parts)
        return self.draw(sampler, max(1, min(BLOCK, whole // 4)), rng)[0]

    def _of_part(
        self, part: Part, sampler: TaskSampler, n: int, rng: np.random.Generator
    ) -> list[Task]:
        if n == 0 or self._cap >= 1.0:
            return sampler.sample(part.tasks, n, rng=rng) if n else []
        limit = max(1, math.ceil(self._cap * n - _CLOSE))
        taken: list[Task] = []
        counts: Counter[str] = Counter()
        pool: Sequence[Task] = part.tasks
        while len(taken) < n:
            for task in sampler.sample(pool, n - len(taken), rng=rng):
                if counts[self._kind(task)] < limit:
                    taken.append(task)
                    counts[self._kind(task)] += 1
            pool = self._left(part.tasks, taken, {k for k in counts if counts[k] >= limit})
        return taken

    def _left(
        self, tasks: Sequence[Task], taken: Sequence[Task], full: Collection[str]
    ) -> tuple[Task, ...]:
        """What may still be taken: tasks that were not; where there is none, those again."""
        gone = {task.instance_id for task in taken}
        fitting = [task for task in tasks if self._kind(task) not in full]
        return tuple([task for task in fitting if task.instance_id not in gone] or fitting)


def _cap_of(spec: Spec) -> tuple[float, Callable[[Task], str], str]:
    """The one that there is, what it is of by task, and in a word."""
    if spec.environment_cap < 1.0:
        return spec.environment_cap, lambda task: task.environment, "environment"
    return spec.operator_cap, operator_of, "operator"


def _counts(parts: Sequence[Part], n: int, rng: np.random.Generator) -> list[int]:
    """Shares of ``n`` as whole numbers that add up to it; each is off by less than one."""
    edges = np.concatenate([[0.0], np.cumsum([part.share for part in parts])]) * n
    edges[-1] = n
    marks = np.floor(edges + rng.random())
    return [int(count) for count in np.diff(marks)]


def _parts(spec: Spec, pool: Sequence[Task]) -> list[Part]:
    if not spec.quotas:
        return [Part("the pool", tuple(pool), 1.0)]
    by_name: dict[str, list[Task]] = {}
    for task in pool:
        by_name.setdefault(category_of(task, spec.category), []).append(task)
    for name in spec.quotas:
        if name not in by_name:
            hint = f"the pool has: {', '.join(sorted(by_name))}"
            problem = str(NotFoundError(spec.category, name, by_name, hint))
            raise DataError(spec.path, problem, field="quotas")
    parts = [Part(name, tuple(by_name.pop(name)), share) for name, share in spec.quotas.items()]
    return [*parts, *_rest(spec, by_name)]


def _rest(spec: Spec, others: Mapping[str, Sequence[Task]]) -> list[Part]:
    """The categories without a quota, as one part."""
    share = 1.0 - sum(spec.quotas.values())
    if share < _CLOSE:
        return []
    tasks = tuple(task for each in others.values() for task in each)
    if not tasks:
        problem = (
            f"add up to {1 - share:g}, and no other {spec.category} is there for the rest; let "
            "them add up to 1"
        )
        raise DataError(spec.path, problem, field="quotas")
    return [Part("the rest", tasks, share)]
