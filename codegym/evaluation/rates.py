"""How often tasks are solved, with intervals. Pure.

Outcomes are held by task, since samples of one task are no independent evidence: the more alike
they are, the fewer tasks stand behind a rate (Miller, "Adding Error Bars to Evals",
arXiv:2411.00640).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import TypeAlias

import numpy as np

from codegym.runs.summary import wilson

#: Task id to whether each graded episode of it solved it; no task without one.
Outcomes: TypeAlias = Mapping[str, Sequence[bool]]

RESAMPLES = 10_000


def solve_rate(outcomes: Outcomes) -> float | None:
    """The mean over tasks of the share of episodes that solved, 0 to 1; None without any."""
    return float(np.mean(task_rates(outcomes))) if outcomes else None


def interval(outcomes: Outcomes, seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of ``solve_rate``.

    Wilson's where each task has one episode; else the percentile bootstrap over tasks (10,000
    resamples, drawn from ``seed``). Where all tasks have the same rate a bootstrap sees no
    variation; Wilson's over the number of tasks stands in.

    Returns:
        Lower and upper bound, 0 to 1; (0, 1) without any outcome.
    """
    rates = task_rates(outcomes)
    single = all(len(each) == 1 for each in outcomes.values())
    if single or np.ptp(rates) == 0:
        return wilson(float(rates.sum()), len(rates))
    return bootstrap(rates, seed)


def task_rates(outcomes: Outcomes) -> np.ndarray:
    """The share of episodes that solved, shape (tasks,), in the order of the mapping."""
    return np.array([sum(each) / len(each) for each in outcomes.values()], dtype=float)


def bootstrap(values: np.ndarray, seed: int) -> tuple[float, float]:
    """The 95 % percentile interval of the mean of one value a task, tasks drawn anew."""
    rng = np.random.default_rng(seed)
    count = len(values)
    means = [values[rng.integers(count, size=count)].mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def pass_at_k(outcomes: Outcomes) -> dict[int, float]:
    """The chance that one of ``k`` samples solves, for ``k`` of 1, 2, 4… up to the least samples.

    The unbiased estimator of Chen et al., "Evaluating Large Language Models Trained on Code",
    arXiv:2107.03374: the mean over tasks of ``1 - C(n - c, k) / C(n, k)``.
    """
    if not outcomes:
        return {}
    least = min(len(each) for each in outcomes.values())
    powers = [1 << exponent for exponent in range(least.bit_length())]
    return {k: _pass_at(outcomes, k) for k in sorted({*powers, least}) if k <= least}


def _pass_at(outcomes: Outcomes, k: int) -> float:
    missed = [comb(len(each) - sum(each), k) / comb(len(each), k) for each in outcomes.values()]
    return 1.0 - sum(missed) / len(missed)
