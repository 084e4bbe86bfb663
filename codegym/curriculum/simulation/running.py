"""Plays samplers against learners, and compares them with drawing uniformly.

The analysis was fixed before it was run: ``docs/design/0012-curriculum.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from codegym.curriculum.difficulty import Rows
from codegym.curriculum.outcomes import Outcome, as_group
from codegym.curriculum.samplers.base import Sampler
from codegym.curriculum.simulation.reference import REFERENCES, Reference
from codegym.curriculum.simulation.worlds import BATCH, GROUP, POOLS, Learner, make_learner
from codegym.types import TaskSampler

#: Rollouts after which a run is given up; it then counts as if it had reached its threshold.
BUDGET: Final = 120_000
#: Held-out success to be reached, by family of learner and pool.
THRESHOLDS: Final[Mapping[str, Mapping[str, float]]] = {
    "grpo": {"easy": 0.5, "balanced": 0.3, "hard": 0.15},
    "irt": {"easy": 0.8, "balanced": 0.6, "hard": 0.4},
}
_RESAMPLES: Final = 10_000

MakeSampler = Callable[[int], TaskSampler]


@dataclass(frozen=True, slots=True)
class Setup:
    """What is compared.

    Attributes:
        learner: One of ``worlds.LEARNERS``.
        correlation: Of the labels of difficulty with the truth, 0 to 1.
        seeds: Each a world and a run; the same for all samplers.
    """

    learner: str
    correlation: float
    seeds: Sequence[int]


@dataclass(frozen=True, slots=True)
class Run:
    """One run: rollouts to the threshold, share of groups that were informative, and the end."""

    rollouts: int
    effective: float
    reached: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """One sampler on one pool.

    Attributes:
        pool: One of ``worlds.POOLS``.
        sampler: Its name.
        ratio: Rollouts that uniform drawing needs, by those that it needs; geometric mean over
            seeds. Above 1 it is faster.
        ci95: 95 % interval of the ratio, by bootstrap over seeds.
        worst: The least ratio of a seed.
        effective: Share of its groups with an advantage that is not zero, until the threshold.
        rollouts: Mean number of rollouts.
        reached: Share of seeds that reached the threshold within ``BUDGET``.
    """

    pool: str
    sampler: str
    ratio: float
    ci95: tuple[float, float]
    worst: float
    effective: float
    rollouts: float
    reached: float


def compare(
    samplers: Mapping[str, MakeSampler], setup: Setup, pools: Sequence[str] = POOLS
) -> Iterator[Compared]:
    """Compare samplers on pools; ``uniform`` is always one of them.

    Args:
        samplers: Each made anew for each run, from a seed.
        setup: Learner, labels and seeds.
        pools: Of ``worlds.POOLS``.

    Yields:
        A result for each pool and sampler, uniform's first.
    """
    for pool in pools:
        base = [play(REFERENCES["uniform"], setup, pool, seed) for seed in setup.seeds]
        yield _compared(pool, "uniform", base, base)
        for name, make in {**samplers, **REFERENCES}.items():
            if name != "uniform":
                runs = [play(make, setup, pool, seed) for seed in setup.seeds]
                yield _compared(pool, name, runs, base)


def play(make: MakeSampler, setup: Setup, pool: str, seed: int) -> Run:
    """One run, until the threshold is reached."""
    world = make_learner(setup.learner, pool, setup.correlation, np.random.default_rng([seed, 0]))
    sampler, drawing, playing = make(seed), *map(np.random.default_rng, ([seed, 1], [seed, 2]))
    goal = THRESHOLDS[setup.learner.partition("-")[0]][pool]
    places = {task.instance_id: place for place, task in enumerate(world.tasks)}
    informative = groups = 0
    while world.held_out() < goal and groups * GROUP < BUDGET:
        if isinstance(sampler, Reference):
            sampler.see(world)
        drawn = sampler.sample(world.tasks, BATCH, rng=drawing)
        rows = np.array([places[task.instance_id] for task in drawn])
        solved = _practise(world, rows, playing, sampler)
        informative += int(((solved > 0) & (solved < GROUP)).sum())
        groups += len(rows)
    reached = world.held_out() >= goal
    return Run(groups * GROUP, informative / max(groups, 1), reached)


def _practise(world: Learner, rows: Rows, rng: np.random.Generator, sampler: TaskSampler) -> Rows:
    solved = world.practise(rows, rng)
    for row, count in zip(rows, solved, strict=True):
        task = world.tasks[row]
        outcome = Outcome(task.instance_id, int(count), GROUP)
        if isinstance(sampler, Sampler):
            sampler.learn(outcome)
        else:
            sampler.observe(as_group(outcome, task))
    return solved


def _compared(pool: str, name: str, runs: Sequence[Run], base: Sequence[Run]) -> Compared:
    logs = np.array(
        [math.log(one.rollouts / run.rollouts) for run, one in zip(runs, base, strict=True)]
    )
    rng = np.random.default_rng(0)
    means = logs[rng.integers(len(logs), size=(_RESAMPLES, len(logs)))].mean(axis=1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return Compared(
        pool=pool,
        sampler=name,
        ratio=float(np.exp(logs.mean())),
        ci95=(float(low), float(high)),
        worst=float(np.exp(logs.min())),
        effective=float(np.mean([run.effective for run in runs])),
        rollouts=float(np.mean([run.rollouts for run in runs])),
        reached=float(np.mean([run.reached for run in runs])),
    )
