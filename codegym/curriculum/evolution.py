"""New tasks from those at the frontier: other faults in the same places.

A learner that sometimes solves a task is given its neighbours: edits of the functions that the task
is about, no milder than the task's own; of what it always solves, stronger ones; of what it never
solves, milder ones. The same task comes back with a knob turned, too: told in more detail, say, of
what is never solved ("hint up"), in less of what always is; that costs no run. The spec's
odds are by default those of Frontier Learning (arXiv:2609.35426), where a buffer without mutation
ended at half the score.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from unidiff.patch import PatchSet

from codegym.curriculum.outcomes import Outcome
from codegym.curriculum.spec import Rates
from codegym.mutation.candidates import Candidate
from codegym.mutation.knobs import Step, turned
from codegym.types import Task

_LATEST: Final = 8
_EASIER: Final[Step] = "easier"
_HARDER: Final[Step] = "harder"


@dataclass(frozen=True, slots=True)
class Parent:
    """A task that others are made from.

    Attributes:
        task_id: Its ``instance_id``.
        environment: Its environment.
        paths: The files that it is about.
        functions: The functions that it is about, or None where they are not known.
        least: The least tier of its children's operators.
        most: The most.
        weight: Chance that it is taken.
        step: How its knobs are to be turned, or None.
    """

    task_id: str
    environment: str
    paths: frozenset[str]
    functions: frozenset[str] | None
    least: int
    most: int
    weight: float
    step: Step | None = None

    def is_about(self, path: str, function: str) -> bool:
        """Whether an edit of a place would be one of what it is about."""
        return path in self.paths and (self.functions is None or function in self.functions)

    def admits(self, path: str, function: str, tier: int) -> bool:
        """Whether an edit of a place, by an operator of a tier, would be a child of it."""
        return self.is_about(path, function) and self.least <= tier <= self.most


def parents(tasks: Iterable[Task], outcomes: Sequence[Outcome], rates: Rates) -> list[Parent]:
    """What the tasks that were tried would be as parents, by their latest episodes."""
    latest: dict[str, list[Outcome]] = {}
    for outcome in reversed(outcomes):
        seen = latest.setdefault(outcome.task_id, [])
        if sum(one.episodes for one in seen) < _LATEST:
            seen.append(outcome)
    tried = (task for task in tasks if task.instance_id in latest)
    return [_parent(task, latest[task.instance_id], rates) for task in tried]


def choose(
    candidates: Sequence[Parent], rng: np.random.Generator, most: int
) -> dict[str, list[Parent]]:
    """Take parents by their chances, by environment; the likeliest one where chance takes none."""
    taken = [one for one in candidates if rng.random() < one.weight]
    taken = taken or sorted(candidates, key=lambda one: -one.weight)[:1]
    chosen: dict[str, list[Parent]] = {}
    for place in rng.permutation(len(taken))[:most]:
        chosen.setdefault(taken[place].environment, []).append(taken[place])
    return chosen


def near(chosen: Sequence[Parent]) -> Callable[[Candidate], bool]:
    """Whether any of a candidate's edits would make it a child of any of them."""
    return lambda one: _first(chosen, one.functions, one.tier) is not None


def around(chosen: Sequence[Parent]) -> Callable[[Candidate], bool]:
    """Whether an edit is of a place that any of them is about: composites are made of such."""
    return lambda one: any(parent.is_about(*place) for parent in chosen for place in one.functions)


def adopted(made: Iterable[Task], chosen: Sequence[Parent], known: Container[str]) -> list[Task]:
    """What was made, each with its parent in its provenance; without those that are known by id."""
    new = []
    for task in made:
        function = task.provenance["function"]
        places = [
            (span["path"], span.get("function", function)) for span in task.provenance["spans"]
        ]
        parent = _first(chosen, places, _tier(task))
        if parent is not None and task.instance_id not in known:
            new.append(replace(task, provenance={**task.provenance, "parent": parent.task_id}))
    return new


def knobs_turned(
    tasks: Iterable[Task], chosen: Sequence[Parent], known: Container[str]
) -> list[Task]:
    """Of parents that are always or never solved, the same task by one knob harder or easier."""
    steps = {one.task_id: one.step for one in chosen}
    made = [
        turned(task, step) for task in tasks if (step := steps.get(task.instance_id)) is not None
    ]
    return [one for one in made if one is not None and one.instance_id not in known]


def _first(chosen: Sequence[Parent], places: Iterable[tuple[str, str]], tier: int) -> Parent | None:
    """The first that admits any of some places."""
    listed = list(places)
    return next((one for one in chosen if any(one.admits(*at, tier) for at in listed)), None)


def _parent(task: Task, seen: Sequence[Outcome], rates: Rates) -> Parent:
    solved, total = sum(one.solved for one in seen), sum(one.episodes for one in seen)
    tier = _tier(task)
    least, most, weight, step = tier, 99, rates.informative, None
    if solved == total:
        least, weight, step = tier + 1, rates.easy, _HARDER
    elif solved == 0:
        least, most, weight, step = 0, tier, rates.hard, _EASIER
    return Parent(
        task_id=task.instance_id,
        environment=task.environment,
        paths=frozenset(file.path for file in PatchSet(task.patch)),
        functions=_functions(task),
        least=least,
        most=most,
        weight=weight,
        step=step,
    )


def _functions(task: Task) -> frozenset[str] | None:
    first = task.provenance.get("function")
    if not isinstance(first, str):
        return None
    named = (span.get("function") for span in task.provenance.get("spans", ()))
    return frozenset({first, *(name for name in named if isinstance(name, str))})


def _tier(task: Task) -> int:
    value = task.features.get("tier")
    return value if isinstance(value, int) else 1
