"""Turns a task's knobs by one step: the same problem, told, shown or bounded otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from codegym.mutation.statements import DETAILS, retold
from codegym.mutation.statements.telling import TEXTS
from codegym.tasks.knobs import MAX_STEPS, TRACEBACKS, Knobs
from codegym.types import Task

Step = Literal["easier", "harder"]

#: A budget is made so much longer or shorter; the first bound, and where bounds end.
_FACTOR: Final = 2
_FIRST_STEPS: Final = 24
_BOUNDS: Final = range(6, 97)
_CODES: Final = re.compile(r"[adhst]\d*(\.[adhst]\d*)*")


def turned(task: Task, step: Step) -> Task | None:
    """The task one step easier or harder by one knob, as a child of it; None at the end.

    The first that can still be turned is: how much the statement says, whether failures are
    shown, which failing tests are, how many actions there are. A child is known by its name: the
    same knobs give the same one.
    """
    ways = _EASIER if step == "easier" else _HARDER
    for way in ways:
        if (child := way(task)) is not None:
            return child
    return None


def _told(task: Task, by: int) -> Task | None:
    """The statement in the next level of detail."""
    at = Knobs.of(task).detail - 1
    texts = task.provenance.get(TEXTS, {})
    wanted = at + by
    if at < 0 or not 0 <= wanted < len(DETAILS) or DETAILS[wanted] not in texts:
        return None
    if texts[DETAILS[wanted]] == task.problem_statement:
        return None
    return _child(retold(task, DETAILS[wanted]), task, "detail", f"d{wanted + 1}")


def _traced(task: Task, shown: bool) -> Task | None:
    if Knobs.of(task).tracebacks == shown:
        return None
    return _set(task, TRACEBACKS, int(shown), f"t{int(shown)}")


def _shown(task: Task) -> Task | None:
    """All failing tests shown."""
    hidden = task.hidden - set(task.fail_to_pass)
    if hidden == task.hidden or task.test_patch:
        return None
    return _child(replace(task, hidden=hidden), task, "shown_tests", "a")


def _hidden(task: Task) -> Task | None:
    """Half of the functions that fail are hidden; at least one is shown."""
    functions = sorted({test.partition("[")[0] for test in task.fail_to_pass})
    if len(functions) < 2 or task.hidden or task.language != "python":
        return None
    gone = set(functions[1::2])
    hidden = frozenset(test for test in task.test_ids if test.partition("[")[0] in gone)
    return _child(replace(task, hidden=hidden), task, "shown_tests", "h")


def _longer(task: Task) -> Task | None:
    steps = Knobs.of(task).max_steps
    if not steps:
        return None
    if steps * _FACTOR in _BOUNDS:
        return _set(task, MAX_STEPS, steps * _FACTOR, f"s{steps * _FACTOR}")
    features = {name: value for name, value in task.features.items() if name != MAX_STEPS}
    return _child(replace(task, features=features), task, MAX_STEPS, "s0")


def _shorter(task: Task) -> Task | None:
    steps = Knobs.of(task).max_steps
    wanted = steps // _FACTOR if steps else _FIRST_STEPS
    return _set(task, MAX_STEPS, wanted, f"s{wanted}") if wanted in _BOUNDS else None


_Way = Callable[[Task], Task | None]
_EASIER: Final[Sequence[_Way]] = (
    lambda task: _told(task, 1), lambda task: _traced(task, shown=True), _shown, _longer,
)  # fmt: skip
_HARDER: Final[Sequence[_Way]] = (
    lambda task: _told(task, -1), lambda task: _traced(task, shown=False), _hidden, _shorter,
)  # fmt: skip


def _set(task: Task, name: str, value: int, code: str) -> Task:
    features: dict[str, Any] = {**task.features, name: value}
    return _child(replace(task, features=features), task, name, code)


def _child(turned: Task, parent: Task, knob: str, code: str) -> Task:
    """The turned task, named by what it came from at first and by its knobs."""
    base, _, last = parent.instance_id.rpartition("+")
    codes = last.split(".") if base and _CODES.fullmatch(last) else []
    base = base if codes else parent.instance_id
    kept = [one for one in codes if one[0] != code[0]]
    provenance = {**turned.provenance, "parent": parent.instance_id, "knob": knob}
    name = f"{base}+{'.'.join(sorted([*kept, code]))}"
    return replace(turned, instance_id=name, provenance=provenance)
