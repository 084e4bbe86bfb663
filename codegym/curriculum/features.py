"""What is known of a task's difficulty before anyone has tried it.

Of 134 agents on SWE-bench Verified, mean success falls with the files that the answer touches (1:
.562, 2: .266, 3: .126), and the size of the code base says nothing (rank correlation .01); with
all that text can say, a new task's success is predicted with an AUC of .80 to .85, against .72 for
the agent's mean (Kryvosheieva et al. 2026, arXiv:2604.00594, and its published responses). So
features are a weak prior: the weights here are where learning starts, and outcomes move them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codegym.grading.features import features_of
from codegym.tasks.knobs import Knobs
from codegym.types import Task

#: Most detail of a statement; and so many actions that nobody misses more.
_MOST_DETAIL: Final = 3
_AMPLE_STEPS: Final = 96
#: Of a mutant in the middle, as a power of two.
_USUAL_SUSPECTS: Final = 5.0

Floats = NDArray[np.float64]


def _log2(value: float) -> float:
    return math.log2(max(value, 1.0))


def _hidden_from_view(found: Mapping[str, float]) -> float:
    """How few of the tests that could tell do tell: ``-ln(failing / covering)``."""
    failing = found["failing_tests"]
    covering = found["covering_tests"] or failing + found["passing_tests"]
    return math.log(max(covering, failing, 1.0) / max(failing, 1.0))


def _well_hidden(found: Mapping[str, float]) -> float:
    """How many lines are as suspicious as the fault's, against what is usual."""
    return (_log2(found["suspects"]) - _USUAL_SUSPECTS) / 8 if "suspects" in found else 0.0


#: Each feature: how it is read from a task's numbers (missing ones are 0), scaled to about 0 to 1
#: so that no outcome moves a weight far; and its first weight, in logits of failure. New ones come
#: last: a state that was kept has the weights of those that there were.
FEATURES: Final[Mapping[str, tuple[Callable[[Mapping[str, float]], float], float]]] = {
    "label": (lambda found: found["difficulty"], 1.0),
    "files": (lambda found: _log2(found["files"]) / 2, 2.2),
    "hunks": (lambda found: _log2(found["hunks"]) / 4, 1.2),
    "lines": (lambda found: _log2(found["lines_added"] + found["lines_removed"]) / 8, 1.6),
    "tier": (lambda found: max(found["tier"] - 1.0, 0.0) / 4, 1.2),
    "edits": (lambda found: max(found["edits"] - 1.0, 0.0) / 4, 2.0),
    "hidden": (lambda found: _hidden_from_view(found) / 4, 0.4),
    "function": (lambda found: _log2(found["function_lines"]) / 8, 0.8),
    "depth": (lambda found: found["depth"] / 8, 0.8),
    "untold": (lambda found: float(found["statement_chars"] == 0), 0.2),
    "vague": (lambda found: found["vague"] / 2, 0.3),
    "untraced": (lambda found: found["untraced"], 0.3),
    "unshown": (lambda found: found["unshown"], 0.4),
    "brief": (lambda found: found["brief"], 0.5),
    "suspects": (_well_hidden, 3.0),
}
WEIGHTS: Final = np.array([weight for _, weight in FEATURES.values()])


def operator_of(task: Task) -> str:
    """The operators that made a task, joined by ``+``; its generator, or ``"by hand"``, else."""
    operators = task.provenance.get("operators")
    if isinstance(operators, Mapping) and operators:
        return "+".join(sorted(str(name) for name in operators))
    return str(task.provenance.get("generator") or "by hand")


def order_of(task: Task) -> int:
    """How many faults a task has to undo, >= 1."""
    order = task.provenance.get("order")
    if type(order) is int and order >= 1:
        return order
    spans = task.provenance.get("spans")
    return max(len(spans), 1) if isinstance(spans, list | tuple) else 1


_CATEGORIES: Final[Mapping[str, Callable[[Task], str]]] = {
    "environment": lambda task: task.environment,
    "kind": lambda task: task.kind,
    "language": lambda task: task.language,
    "operator": operator_of,
    "order": lambda task: str(order_of(task)),
}
#: What tasks can be put into categories by.
CATEGORIES: Final = tuple(_CATEGORIES)


class _Numbers(dict[str, float]):
    """A task's numeric features; 0 for those that it has not."""

    def __missing__(self, key: str) -> float:
        return 0.0


def vector(task: Task) -> Floats:
    """A task's features, shape ``(len(FEATURES),)``; what is not known of it counts as 0.

    A ``difficulty`` that it is labelled with, in logits, stands for all others.
    """
    numbers = _numbers(task)
    if "difficulty" in numbers:
        return np.array([numbers["difficulty"] * (name == "label") for name in FEATURES])
    return np.array([read(numbers) for read, _ in FEATURES.values()])


def _of_knobs(task: Task) -> Mapping[str, float]:
    """How far each knob is turned towards harder; a budget of 96 steps or more is none."""
    knobs, failing = Knobs.of(task), frozenset(task.fail_to_pass)
    return {
        "vague": float(_MOST_DETAIL - knobs.detail) if knobs.detail else 0.0,
        "untraced": float(not knobs.tracebacks),
        "unshown": len(failing & task.hidden) / max(len(failing), 1),
        "brief": _log2(_AMPLE_STEPS / knobs.max_steps) / 4 if knobs.max_steps else 0.0,
    }


def category_of(task: Task, by: str) -> str:
    """A task's category; ``by`` is one of ``CATEGORIES``."""
    return _CATEGORIES[by](task)


def _numbers(task: Task) -> Mapping[str, float]:
    given: dict[str, Any] = dict(task.features)
    if "difficulty" not in given and "files" not in given and task.patch:
        given = {**features_of(task), **given}
    found = _Numbers(edits=float(order_of(task)), **_of_knobs(task))
    for name, value in given.items():
        if isinstance(value, int | float) and math.isfinite(value):
            found[name] = float(value)
    return found
