"""Turning knobs: by one step, there and back, to an end."""

from dataclasses import replace
from itertools import pairwise

import pytest
from statement_parts import TASK, texts

from codegym.mutation.knobs import turned
from codegym.mutation.statements import told
from codegym.tasks import from_row, to_row
from codegym.tasks.knobs import Knobs, knob_problem


@pytest.fixture
def task(tmp_path):
    failing = tuple(f"t.py::test_{name}" for name in ("a", "b[1]", "b[2]", "c", "d"))
    more = replace(TASK, fail_to_pass=failing, pass_to_pass=("t.py::test_b[3]", "t.py::test_x"))
    return told(more, texts(), "medium")


def way(task, step):
    found = [task]
    while (child := turned(found[-1], step)) is not None:
        found.append(child)
        assert len(found) < 20
    return found


def test_the_way_down_and_up_again(task):
    down = way(task, "harder")
    knobs = [Knobs.of(one) for one in down]
    assert [one.detail for one in knobs[:2]] == [2, 1]
    assert {one.detail for one in knobs[1:]} == {1}
    assert [one.tracebacks for one in knobs] == [True, True, *[False] * (len(down) - 2)]
    assert [one.max_steps for one in knobs][-3:] == [24, 12, 6]
    assert down[3].hidden == {
        "t.py::test_b[1]",
        "t.py::test_b[2]",
        "t.py::test_b[3]",
        "t.py::test_d",
    }
    up = way(down[-1], "easier")
    last = up[-1]
    assert (Knobs.of(last).detail, Knobs.of(last).tracebacks) == (3, True)
    assert (last.hidden & set(task.fail_to_pass), Knobs.of(last).max_steps) == (set(), 0)


def test_children_know_where_they_come_from_and_keep_their_code(task):
    for step in ("harder", "easier"):
        line = way(task, step)
        assert len({one.instance_id for one in line}) == len(line)
        for parent, child in pairwise(line):
            assert child.provenance["parent"] == parent.instance_id
            assert child.instance_id.startswith("tiny-1+")
            assert (child.patch, child.start_patch) == (task.patch, task.start_patch)
            assert child.test_ids == task.test_ids
            assert knob_problem(child) == ""
            assert from_row(to_row(child), "x").instance_id == child.instance_id


def test_a_step_and_its_opposite_have_names_of_what_they_are(task):
    harder = turned(task, "harder")
    assert harder.instance_id == "tiny-1+d1"
    assert turned(harder, "easier").instance_id == "tiny-1+d2"
    assert turned(replace(harder, instance_id="a+b"), "easier").instance_id == "a+b+d2"


def test_some_test_is_always_shown(task):
    one = replace(task, fail_to_pass=("t.py::test_a[1]", "t.py::test_a[2]"))
    for child in way(one, "harder"):
        assert set(child.fail_to_pass) - child.hidden


def test_rows_of_others_are_turned_as_far_as_can_be(task):
    plain = replace(task, features={}, provenance={}, fail_to_pass=("t.py::test_a",))
    assert [set(one.features) for one in way(plain, "harder")][1] == {"tracebacks"}
    assert turned(plain, "easier") is None
