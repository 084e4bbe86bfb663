"""How well success on tasks that nobody has tried is predicted, from those that were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from codegym.curriculum.calibration import calibrate
from codegym.curriculum.features import WEIGHTS, Floats, vector
from codegym.curriculum.outcomes import Outcome
from codegym.curriculum.ratings import Tries
from codegym.types import Task

#: Spread, in logits, of policies' skills, and of features' weights around where learning starts.
_SKILLS: Final = 3.0
_WEIGHTS: Final = 0.5
_ROUNDS: Final = 100
_NEAR: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Unseen:
    """What predictions were worth, over pairs of a policy and a task of a fold that was left out.

    Attributes:
        pairs: How many.
        auc: Over all pairs, None where all or none were solved.
        base: The same where all that is known is the policy's own mean on the other folds.
        within: Over one policy's pairs, by policy; None likewise.
    """

    pairs: int
    auc: float | None
    base: float | None
    within: Mapping[str, float | None]


def unseen(
    tasks: Sequence[Task], tries: Mapping[str, Tries], *, folds: int = 5, seed: int = 0
) -> Unseen:
    """Predict each fold of tasks from the others; faults of one function are in one fold.

    All policies' tries are fitted at once, as what makes a task hard is the same for all.

    Args:
        tasks: All that were tried.
        tries: By task: policy to how many episodes were solved, and how many there were.
        folds: Into so many parts are tasks divided, >= 2.
        seed: Draws the folds.
    """
    rng = np.random.default_rng(seed)
    functions = sorted({_function(task) for task in tasks})
    fold = dict(zip(functions, rng.permutation(len(functions)) % folds, strict=True))
    policies = sorted({policy for each in tries.values() for policy in each})
    told: list[Outcome] = []
    plain: list[Outcome] = []
    for out in range(folds):
        seen = [t for t in tasks if fold[_function(t)] != out]
        new = [t for t in tasks if fold[_function(t)] == out]
        chances = _predicted(seen, new, tries, policies)
        for policy, chance in zip(policies, chances.T, strict=True):
            known = [one for task in seen for one in _outcomes(task, tries, policy)]
            rate = sum(o.solved for o in known) / max(sum(o.episodes for o in known), 1)
            for task, expected in zip(new, chance, strict=True):
                told += _outcomes(task, tries, policy, float(expected))
                plain += _outcomes(task, tries, policy, rate)
    within = {p: calibrate(o for o in told if o.policy == p).auc for p in policies}
    return Unseen(len(told), calibrate(told).auc, calibrate(plain).auc, within)


def _predicted(
    seen: Sequence[Task], new: Sequence[Task], tries: Mapping[str, Tries], policies: Sequence[str]
) -> Floats:
    """Each policy's chance on tasks that are new to all, shape ``(new, policies)``."""
    pairs = [
        (row, place, *tries.get(task.instance_id, {}).get(policy, (0, 0)))
        for row, task in enumerate(seen)
        for place, policy in enumerate(policies)
    ]
    rows, places, solved, episodes = np.array(pairs, np.int64).reshape(-1, 4).T
    design = np.hstack([np.eye(len(policies))[places], -_features(seen)[rows]])
    start = np.concatenate([np.zeros(len(policies)), WEIGHTS])
    spread = np.concatenate([np.full(len(policies), _SKILLS), np.full(len(WEIGHTS), _WEIGHTS)])
    found = _fit(design, solved.astype(float), episodes.astype(float), start, spread)
    skills, weights = found[: len(policies)], found[len(policies) :]
    return _sigmoid(skills[None, :] - (_features(new) @ weights)[:, None])


def _fit(design: Floats, solved: Floats, episodes: Floats, start: Floats, spread: Floats) -> Floats:
    """The posterior's mode of a logistic regression around ``start``, by damped Newton steps."""
    at, pull = start.copy(), spread**-2.0

    def loss(where: Floats) -> float:
        logits = design @ where
        told = episodes @ np.logaddexp(0.0, logits) - solved @ logits
        return float(told + 0.5 * pull @ (where - start) ** 2)

    for _ in range(_ROUNDS):
        chance = _sigmoid(design @ at)
        slope = design.T @ (solved - episodes * chance) - pull * (at - start)
        curvature = (design.T * (episodes * chance * (1.0 - chance))) @ design + np.diag(pull)
        step = np.linalg.solve(curvature, slope)
        while loss(at + step) > loss(at) and np.abs(step).max() > _NEAR:
            step = step / 2.0
        at = at + step
        if np.abs(step).max() <= _NEAR:
            break
    return at


def _features(tasks: Sequence[Task]) -> Floats:
    return np.array([vector(task) for task in tasks]).reshape(-1, len(WEIGHTS))


def _sigmoid(logits: Floats) -> Floats:
    chance: Floats = 0.5 * (1.0 + np.tanh(0.5 * logits))
    return chance


def _outcomes(
    task: Task, tries: Mapping[str, Tries], policy: str, predicted: float = -1.0
) -> Iterator[Outcome]:
    solved, episodes = tries.get(task.instance_id, {}).get(policy, (0, 0))
    if episodes:
        yield Outcome(task.instance_id, solved, episodes, policy, predicted)


def _function(task: Task) -> str:
    return f"{task.environment} {task.provenance.get('function') or task.instance_id}"
