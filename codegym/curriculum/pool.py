"""The tasks of a curriculum: those that its spec names, and of each what choosing needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from codegym.curriculum.features import operator_of, order_of
from codegym.curriculum.ratings import Rating
from codegym.curriculum.spec import Spec
from codegym.errors import DataError, NotFoundError
from codegym.grading.features import features_of
from codegym.tasks import Joined, TaskFile
from codegym.tasks.sources import resolve
from codegym.types import Task


def open_pool(spec: Spec) -> Joined:
    """The sources that a spec names, with the tasks that it lets in.

    Raises:
        UsageError: No task is left.
        DataError: A file is wrong, or the spec names a source that is not there.
    """
    named = spec.tasks or (None,)
    parts: list[TaskFile] = []
    for name in named:
        try:
            source = resolve(name)
        except NotFoundError as error:
            raise DataError(spec.path, str(error), field="pool.tasks") from error
        parts.extend(source.parts if isinstance(source, Joined) else [source])
    everything = Joined(spec.name, parts)
    everything.require_any()
    chosen = everything.only(_filter(spec))
    if not len(chosen):
        raise DataError(spec.path, _why_empty(spec, everything), field="pool")
    return chosen


def slim(task: Task, rating: Rating | None = None) -> Task:
    """A task without its long texts, its difficulty as rated: what samplers are given."""
    features = dict(task.features)
    if rating is not None:
        features["difficulty"] = rating.difficulty
    if "files" not in features and "difficulty" not in features:
        features = {**features_of(task), **features}
    return replace(
        task,
        patch="",
        test_patch="",
        start_patch="",
        problem_statement="",
        hints_text="",
        fail_to_pass=task.fail_to_pass[:1],
        pass_to_pass=(),
        hidden=frozenset(),
        features=features,
    )


def _operators(task: Task) -> set[str]:
    return set(operator_of(task).split("+"))


def _filter(spec: Spec) -> Callable[[Task], bool]:
    def keep(task: Task) -> bool:
        return (
            (not spec.kinds or task.kind in spec.kinds)
            and (not spec.environments or task.environment in spec.environments)
            and (not spec.operators or _operators(task) <= spec.operators)
            and (not spec.orders or order_of(task) in spec.orders)
        )

    return keep


def _why_empty(spec: Spec, everything: Joined) -> str:
    """Which name of the filters no task has; that is told first."""
    tasks = list(everything)
    present: dict[str, tuple[frozenset[str], set[str]]] = {
        "environment": (spec.environments, {task.environment for task in tasks}),
        "operator": (spec.operators, {name for task in tasks for name in _operators(task)}),
        "kind": (spec.kinds, {str(task.kind) for task in tasks}),
        "order": (frozenset(map(str, spec.orders)), {str(order_of(task)) for task in tasks}),
    }
    for what, (wanted, there) in present.items():
        for name in sorted(wanted - there):
            hint = f"the tasks have: {', '.join(sorted(there))}"
            return str(NotFoundError(what, name, there, hint))
    return f"none of the {len(tasks)} tasks passes all of the filters; loosen one"
