"""Which tasks are held out."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import NotFoundError, UsageError
from codegym.tasks.holding_out import made_by, split
from codegym.types import Task

TASK = Task("t", "tiny", "0" * 40, "", ("a",), ())


def made(functions):
    return [
        replace(
            TASK, instance_id=f"t{n}", provenance={"function": f"f{f}", "spans": [{"path": "a"}]}
        )
        for n, f in enumerate(functions)
    ]


@given(
    functions=st.lists(st.integers(0, 40)).map(lambda more: [*range(41), *more]),
    seed=st.integers(0, 9),
)
def test_a_function_is_on_one_side_and_stays_there(functions, seed):
    tasks = made(functions)
    found = split(tasks, 0.4, seed)
    ids = [{task.instance_id for task in side} for side in (found.train, found.held_out)]
    assert ids[0] | ids[1] == {task.instance_id for task in tasks}
    sides = [{t.provenance["function"] for t in side} for side in (found.train, found.held_out)]
    assert not sides[0] & sides[1]
    fewer = [task for task in tasks if int(task.instance_id[1:]) % 2]
    again = split(fewer, 0.4, seed)
    assert {task.instance_id for task in again.held_out} <= ids[1]


def test_nothing_on_a_side_is_refused():
    with pytest.raises(UsageError, match="to measure with"):
        split(made([1, 1, 1]), 0.5, 0)


def test_the_seed_draws():
    tasks = made(range(50))
    assert split(tasks, 0.5, 0) != split(tasks, 0.5, 1)
    assert split(tasks, 0.5, 0) == split(tasks, 0.5, 0)


def test_tasks_are_chosen_by_their_operators():
    operators = [("comparison",), ("boolean",), ("comparison", "boolean"), ()]
    tasks = [
        replace(one, provenance={"operators": {f"python.{name}": "1" for name in names}})
        for one, names in zip(made(range(4)), operators, strict=True)
    ]
    assert made_by(tasks, ["comparison"]) == tasks[:1]
    assert made_by(tasks, ["python.comparison", "boolean"]) == tasks[:3]
    with pytest.raises(NotFoundError, match="'comparisom'; did you mean 'comparison'"):
        made_by(tasks, ["comparisom"])
