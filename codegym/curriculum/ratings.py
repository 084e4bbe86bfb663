"""Difficulties estimated from episodes, in a file beside the tasks: ``ratings.jsonl``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from pydantic import Field, ValidationError

from codegym.curriculum.features import WEIGHTS, Floats, vector
from codegym.errors import DataError
from codegym.resources import data_root
from codegym.store import replacing
from codegym.tasks import TaskFile
from codegym.tasks.edge import Strict, first_problem
from codegym.tasks.jsonl import dump_object, parse_object, read_lines
from codegym.types import Task

#: Spread of difficulties around what features say, and of policies' skills, in logits.
_SPREAD: Final = 2.0
_SKILLS: Final = 3.0
_ROUNDS: Final = 200
_LEAST: Final = 1e-9

Count = Annotated[int, Field(ge=0)]
#: Of one task: policy to how many episodes were solved, and how many there were.
Tries = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Rating:
    """One task's difficulty.

    Attributes:
        task_id: Its ``instance_id``.
        difficulty: In logits; of equal skill, a policy solves every second episode.
        low: Lower end of the 95 % interval.
        high: Upper end.
        predicted: What features alone say.
        tries: By policy.
    """

    task_id: str
    difficulty: float
    low: float
    high: float
    predicted: float
    tries: Tries


class _Row(Strict):
    task_id: Annotated[str, Field(min_length=1)]
    difficulty: float
    low: float
    high: float
    predicted: float
    tries: dict[str, Annotated[list[Count], Field(min_length=2, max_length=2)]]


def ratings_file(source: TaskFile) -> Path:
    """Where the ratings of a file of tasks are: beside it; of bundled ones, below ``.codegym``."""
    if source.path.is_relative_to(data_root("environments")):
        return Path.cwd() / ".codegym" / "ratings" / f"{source.name}.jsonl"
    name = "ratings.jsonl" if source.path.name == "tasks.jsonl" else None
    return source.path.with_name(name or f"{source.path.stem}.ratings.jsonl")


def read_ratings(path: Path) -> dict[str, Rating]:
    """Ratings by task; none where there is no file. Raises ``DataError`` where it is wrong."""
    if not path.exists():
        return {}
    found: dict[str, Rating] = {}
    for line in read_lines(path):
        try:
            row = _Row.model_validate(parse_object(line.raw, path, line.number))
        except ValidationError as error:
            field, problem = first_problem(error, {(): _Row})
            raise DataError(path, problem, line=line.number, field=field) from None
        tries = {policy: (solved, count) for policy, (solved, count) in row.tries.items()}
        found[row.task_id] = Rating(
            row.task_id, row.difficulty, row.low, row.high, row.predicted, tries
        )
    return found


def write_ratings(path: Path, ratings: Iterable[Rating]) -> None:
    """Replace a file of ratings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        for rating in ratings:
            row = {name: getattr(rating, name) for name in _Row.model_fields}
            tries = {policy: list(counts) for policy, counts in sorted(rating.tries.items())}
            file.write(dump_object({**row, "tries": tries}))


def rate(tasks: Sequence[Task], tries: Mapping[str, Tries]) -> list[Rating]:
    """Estimate difficulties from all policies' tries at once, by Rasch's model.

    The posterior's mode, with a normal prior around what features say, so that a task which all or
    none have solved gets a finite difficulty and a wide interval.

    Args:
        tasks: All that were tried.
        tries: By task.
    """
    policies = sorted({policy for each in tries.values() for policy in each})
    counts = np.zeros((2, len(tasks), max(len(policies), 1)))
    for row, task in enumerate(tasks):
        for policy, (solved, total) in tries.get(task.instance_id, {}).items():
            counts[:, row, policies.index(policy)] = solved, total
    labels = np.array([float(vector(task) @ WEIGHTS) for task in tasks])
    labels -= labels.mean()
    mode, spread = _fit(counts[0], counts[1], labels)
    return [
        Rating(
            task_id=task.instance_id,
            difficulty=round(at, 4),
            low=round(at - 1.96 * by, 4),
            high=round(at + 1.96 * by, 4),
            predicted=round(label, 4),
            tries=tries.get(task.instance_id, {}),
        )
        for task, (at, by, label) in zip(
            tasks, np.stack([mode, spread, labels], axis=1).tolist(), strict=True
        )
    ]


def _fit(solved: Floats, total: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Mode and spread of each task's difficulty, by Newton's method on tasks and policies at once.

    Args:
        solved: Episodes solved, shape ``(tasks, policies)``.
        total: Episodes, likewise.
        labels: Prior means, shape ``(tasks,)``.
    """

    def worth(skill: Floats, difficulty: Floats) -> float:
        """The logarithm of the posterior, but for a constant."""
        odds = skill[None, :] - difficulty[:, None]
        likely = solved * odds - total * np.logaddexp(0.0, odds)
        prior = (skill / _SKILLS) ** 2, ((difficulty - labels) / _SPREAD) ** 2
        return float(likely.sum() - (prior[0].sum() + prior[1].sum()) / 2)

    skill, difficulty = np.zeros(solved.shape[1]), labels.copy()
    curvature = np.full(len(labels), _SPREAD**-2)
    for _ in range(_ROUNDS):
        chance = 0.5 * (1.0 + np.tanh(0.5 * (skill[None, :] - difficulty[:, None])))
        weight = total * chance * (1.0 - chance)
        curvature = weight.sum(axis=1) + _SPREAD**-2
        uphill = (solved - total * chance).sum(axis=0) - skill / _SKILLS**2
        harder = (total * chance - solved).sum(axis=1) - (difficulty - labels) / _SPREAD**2
        # There are few policies: tasks are eliminated from the system, each by its own curvature.
        shared = weight / curvature[:, None]
        system = np.diag(weight.sum(axis=0) + _SKILLS**-2) - weight.T @ shared
        up = np.linalg.solve(system, uphill + shared.T @ harder)
        down = (harder + weight @ up) / curvature
        before, length = worth(skill, difficulty), 1.0
        while length > _LEAST and worth(skill + length * up, difficulty + length * down) < before:
            length /= 2.0
        if length <= _LEAST or max(np.abs(up).max(), np.abs(down).max()) < _LEAST:
            break
        skill, difficulty = skill + length * up, difficulty + length * down
    return difficulty, curvature**-0.5


def agreement(ratings: Iterable[Rating]) -> dict[tuple[str, str], float]:
    """Rank correlation of solve rates between policies, over the tasks that both have tried."""
    rates: dict[str, dict[str, float]] = {}
    for rating in ratings:
        for policy, (solved, total) in rating.tries.items():
            if total:
                rates.setdefault(policy, {})[rating.task_id] = solved / total
    found = {}
    names = sorted(rates)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            both = sorted(rates[one].keys() & rates[other].keys())
            left, right = (_ranks([rates[name][task] for task in both]) for name in (one, other))
            if len(both) > 1 and left.std() > 0 and right.std() > 0:
                found[one, other] = float(np.corrcoef(left, right)[0, 1])
    return found


def _ranks(values: Sequence[float]) -> Floats:
    """Ranks; equal values share theirs."""
    levels, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Floats = (ends - (counts - 1) / 2)[place] if len(levels) else np.zeros(0)
    return ranks
