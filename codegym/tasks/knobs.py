"""Knobs: what makes a task easier or harder to solve without a change of its code.

They are part of a row. How much the statement says, and which failing tests are shown, is told by
what the row holds anyway (``problem_statement``, ``hidden``); ``features`` say the others, and say
how the former are set, so that difficulty can be predicted from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from codegym.types import Task

DETAIL, TRACEBACKS, MAX_STEPS = "detail", "tracebacks", "max_steps"


@dataclass(frozen=True, slots=True)
class Knobs:
    """How a task is presented.

    Attributes:
        detail: How much its statement says, 1 to 3; 0 where that is not known.
        tracebacks: Whether ``run_tests`` and the grade's text say how tests fail.
        max_steps: Most actions, >= 1; 0: as many as the env allows. The env's bound holds as well.
    """

    detail: int = 0
    tracebacks: bool = True
    max_steps: int = 0

    @classmethod
    def of(cls, task: Task) -> Knobs:
        """A task's knobs; those that are set to something else are as if they were not set."""
        given = task.features
        return cls(
            detail=given[DETAIL] if _is_whole(given.get(DETAIL), 0, 3) else 0,
            tracebacks=given.get(TRACEBACKS) not in (0, False),
            max_steps=given[MAX_STEPS] if _is_whole(given.get(MAX_STEPS), 0) else 0,
        )

    def steps_of(self, most: int) -> int:
        """How many actions there are where the env allows ``most``."""
        return min(self.max_steps, most) if self.max_steps else most


def knob_problem(task: Task) -> str:
    """What is wrong with a task's knobs, or ``""``."""
    given = task.features
    if MAX_STEPS in given and not _is_whole(given[MAX_STEPS], 1):
        return f"features.{MAX_STEPS}: must be a whole number, at least 1"
    if DETAIL in given and not _is_whole(given[DETAIL], 0, 3):
        return f"features.{DETAIL}: must be 0 to 3"
    if TRACEBACKS in given and given[TRACEBACKS] not in (0, 1):
        return f"features.{TRACEBACKS}: must be 0 or 1"
    return ""


def _is_whole(value: Any, least: int, most: int | None = None) -> bool:
    whole = type(value) is int and value >= least
    return whole and (most is None or value <= most)
