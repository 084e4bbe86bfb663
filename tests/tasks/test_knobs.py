"""Knobs as rows have them."""

from dataclasses import replace

import pytest
from support import make_tiny_environment, tiny_task

from codegym.tasks.knobs import Knobs, knob_problem


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return tiny_task(make_tiny_environment(tmp_path_factory.mktemp("tiny")))


def with_(task, **features):
    return replace(task, features=features)


def test_a_row_without_knobs(task):
    assert Knobs.of(task) == Knobs(0, True, 0)
    assert knob_problem(task) == ""
    assert Knobs.of(task).steps_of(50) == 50


def test_a_row_with_all(task):
    one = with_(task, detail=1, tracebacks=0, max_steps=12)
    assert Knobs.of(one) == Knobs(1, False, 12)
    assert knob_problem(one) == ""
    assert Knobs.of(one).steps_of(50) == 12
    assert Knobs.of(one).steps_of(5) == 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_steps": 0}, {"max_steps": -3}, {"max_steps": "9"}, {"max_steps": True},
        {"max_steps": 2.0}, {"detail": 4}, {"detail": "low"}, {"tracebacks": 2},
        {"tracebacks": "no"},
    ],
)  # fmt: skip
def test_knobs_that_are_none(task, wrong):
    (name,) = wrong
    assert knob_problem(with_(task, **wrong)).startswith(f"features.{name}: must be ")
