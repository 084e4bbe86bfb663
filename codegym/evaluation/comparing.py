"""Whether one policy solves more than another, on the same tasks and seeds. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from codegym.evaluation.rates import bootstrap
from codegym.runs.summary import wilson

#: Sign flips that are drawn where there are too many to go through all.
FLIPS = 100_000
#: Differing tasks up to which all sign flips are gone through: 2**16 of them.
_EXACT = 16
_CHUNK = 2_000

#: Task id to pairs: whether this policy's and the other's episode of one seed solved the task.
Pairs = Mapping[str, Sequence[tuple[bool, bool]]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One policy against another.

    Attributes:
        pairs: Pairs of episodes with the same task and seed.
        tasks: Tasks that they are of.
        only_first: Pairs in which this policy alone solved.
        only_second: Pairs in which the other alone did.
        difference: Mean over tasks of this policy's rate minus the other's, -1 to 1.
        ci95: 95 % bootstrap interval of it, over tasks; where all tasks differ alike, Wilson's over
            the number of tasks.
        p: Two-sided p-value of there being no difference.
        test: ``"mcnemar"`` where each task has one pair; else ``"sign_flip"``.
    """

    pairs: int
    tasks: int
    only_first: int
    only_second: int
    difference: float
    ci95: tuple[float, float]
    p: float
    test: str

    def reversed(self) -> Comparison:
        """The same, from the other policy's side."""
        low, high = self.ci95
        return replace(
            self,
            only_first=self.only_second,
            only_second=self.only_first,
            difference=-self.difference,
            ci95=(-high, -low),
        )


def compare(pairs: Pairs, seed: int = 0) -> Comparison:
    """Compare two policies on the tasks that both have pairs of.

    With one pair a task this is McNemar's exact test. With more, pairs of one task are no
    independent evidence, and the signs of whole tasks' differences are flipped instead: all flips
    where few tasks differ, else 100,000 drawn from ``seed``. With one pair a task, both are one.

    Raises:
        ValueError: There is no pair.
    """
    if not pairs:
        raise ValueError("there is no pair to compare")
    each = [pair for of_task in pairs.values() for pair in of_task]
    first = sum(1 for mine, theirs in each if mine and not theirs)
    second = sum(1 for mine, theirs in each if theirs and not mine)
    differences = np.array([_difference(of_task) for of_task in pairs.values()])
    single = all(len(of_task) == 1 for of_task in pairs.values())
    return Comparison(
        pairs=len(each),
        tasks=len(pairs),
        only_first=first,
        only_second=second,
        difference=float(differences.mean()),
        ci95=_interval(differences, seed),
        p=mcnemar(first, second) if single else sign_flip(differences, seed),
        test="mcnemar" if single else "sign_flip",
    )


def mcnemar(first: int, second: int) -> float:
    """McNemar's exact two-sided p-value (Psychometrika 12, 1947) of two discordant counts."""
    total = first + second
    tail = sum(comb(total, count) for count in range(min(first, second) + 1))
    return min(1.0, float(2 * tail / 2**total))


def sign_flip(differences: np.ndarray, seed: int = 0) -> float:
    """The two-sided p-value of a mean this far from 0, were each sign as likely as the other.

    Args:
        differences: One a task, shape (tasks,).
        seed: Draws flips where there are too many to go through all.
    """
    moved = differences[differences != 0]
    observed = abs(moved.sum()) - 1e-9
    if len(moved) <= _EXACT:
        codes = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))
        return float(np.mean(np.abs((1 - 2 * (codes & 1)) @ moved) >= observed))
    rng, hits = np.random.default_rng(seed), 0
    for _ in range(FLIPS // _CHUNK):
        signs = 1 - 2 * rng.integers(2, size=(_CHUNK, len(moved)), dtype=np.int8)
        hits += int(np.sum(np.abs(signs @ moved) >= observed))
    return (1 + hits) / (1 + FLIPS)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values (Scandinavian Journal of Statistics 6, 1979), in the order given."""
    adjusted, highest, count = [0.0] * len(p_values), 0.0, len(p_values)
    order = sorted(range(count), key=lambda index: p_values[index])
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (count - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def _interval(differences: np.ndarray, seed: int) -> tuple[float, float]:
    if np.ptp(differences):
        return bootstrap(differences, seed)
    shift, count = float(differences[0]), len(differences)
    low, high = wilson(abs(shift) * count, count)
    if shift == 0:
        return -high, high
    return (low, high) if shift > 0 else (-high, -low)


def _difference(pairs: Sequence[tuple[bool, bool]]) -> float:
    return sum(mine - theirs for mine, theirs in pairs) / len(pairs)
