"""How well success on tasks that nobody has tried is predicted, from those that were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from codegym.curriculum.calibration import calibrate
from codegym.curriculum.difficulty import Difficulty
from codegym.curriculum.outcomes import Outcome
from codegym.curriculum.ratings import Tries
from codegym.types import Task


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

    Args:
        tasks: All that were tried.
        tries: By task: policy to how many episodes were solved, and how many there were.
        folds: Into so many parts are tasks divided, >= 2.
        seed: Draws the folds, and the order of what is observed.
    """
    rng = np.random.default_rng(seed)
    functions = sorted({_function(task) for task in tasks})
    fold = dict(zip(functions, rng.permutation(len(functions)) % folds, strict=True))
    policies = sorted({policy for each in tries.values() for policy in each})
    told: list[Outcome] = []
    plain: list[Outcome] = []
    for policy in policies:
        for out in range(folds):
            seen = [t for t in tasks if fold[_function(t)] != out]
            new = [t for t in tasks if fold[_function(t)] == out]
            known = [one for task in seen for one in _outcomes(task, tries, policy)]
            model = Difficulty()
            model.know(tasks)
            for place in rng.permutation(len(known)):
                model.observe(known[place])
            rate = sum(o.solved for o in known) / max(sum(o.episodes for o in known), 1)
            prior = model.prior(model.rows(new)) if new else ()
            for task, chance in zip(new, prior, strict=True):
                told += _outcomes(task, tries, policy, float(chance))
                plain += _outcomes(task, tries, policy, rate)
    within = {p: calibrate(o for o in told if o.policy == p).auc for p in policies}
    return Unseen(len(told), calibrate(told).auc, calibrate(plain).auc, within)


def _outcomes(
    task: Task, tries: Mapping[str, Tries], policy: str, predicted: float = -1.0
) -> Iterator[Outcome]:
    solved, episodes = tries.get(task.instance_id, {}).get(policy, (0, 0))
    if episodes:
        yield Outcome(task.instance_id, solved, episodes, policy, predicted)


def _function(task: Task) -> str:
    return f"{task.environment} {task.provenance.get('function') or task.instance_id}"
