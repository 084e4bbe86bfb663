"""Which tasks are trained on, and which are held out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from codegym.errors import NotFoundError, UsageError
from codegym.types import Task


@dataclass(frozen=True, slots=True)
class Split:
    """Tasks to train on, and tasks to measure with."""

    train: tuple[Task, ...]
    held_out: tuple[Task, ...]


def split(tasks: Iterable[Task], share: float, seed: int) -> Split:
    """Hold tasks out; those whose faults are in one function are on one side.

    Args:
        tasks: All; ``provenance["function"]`` says which function, where it is known.
        share: Of the functions that are held out, above 0 and below 1.
        seed: Draws them. A function stays on its side, whatever else there is.

    Raises:
        UsageError: There is nothing on one side.
    """
    sides: tuple[list[Task], list[Task]] = [], []
    for task in tasks:
        sides[_drawn(task, seed) < share].append(task)
    train, held_out = (tuple(side) for side in sides)
    if not train or not held_out:
        raise UsageError(
            f"{len(train)} tasks are left to train on and {len(held_out)} to measure with; give "
            "more tasks, another --held-out or another --seed"
        )
    return Split(train, held_out)


def _drawn(task: Task, seed: int) -> float:
    spans: Sequence[object] = task.provenance.get("spans") or ()
    first = spans[0] if spans else None
    path = first.get("path", "") if isinstance(first, dict) else ""
    function = task.provenance.get("function") or task.instance_id
    name = f"{seed} {task.environment} {path} {function}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64


def made_by(tasks: Iterable[Task], operators: Sequence[str]) -> list[Task]:
    """The tasks of which each edit is of one of some operators.

    Args:
        tasks: All.
        operators: Their names, with the language before a dot or without.

    Raises:
        NotFoundError: No task has an edit of one of them.
    """
    every = list(tasks)
    known = {name for task in every for name in _operators(task)}
    for wanted in operators:
        if wanted not in {*known, *map(_short, known)}:
            raise NotFoundError("operator of these tasks", wanted, sorted(map(_short, known)))
    chosen = {name for name in known if {name, _short(name)} & {*operators}}
    return [task for task in every if (names := _operators(task)) and names <= chosen]


def _operators(task: Task) -> set[str]:
    return {str(name) for name in task.provenance.get("operators") or ()}


def _short(operator: str) -> str:
    return operator.rpartition(".")[2]
