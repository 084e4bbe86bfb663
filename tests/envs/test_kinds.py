"""What is told, and which rows can be told as what."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.envs import kinds
from codegym.errors import NotFoundError, UsageError
from codegym.types import Task

TOOLS = ("bash", "edit", "submit")


def task(fail=("t.py::a", "t.py::b"), passing=("t.py::c",), hidden=(), **fields):
    return Task(
        instance_id=fields.pop("instance_id", "x-1"),
        environment="x",
        base_commit="0" * 40,
        patch="GOLD",
        fail_to_pass=tuple(fail),
        pass_to_pass=tuple(passing),
        hidden=frozenset(hidden),
        **fields,
    )


def test_an_instruction_says_what_is_wanted_and_how():
    text = kinds.instruction(task(problem_statement="It breaks."), TOOLS, ("tests/**",))
    assert "- t.py::a\n- t.py::b" in text
    assert "It breaks." in text
    assert "Tools: bash, edit, submit." in text
    assert '{"name": "bash", "arguments": {"command": "ls"}}' in text
    assert "(tests/**)" in text
    assert "submit when you are done" in text


def test_only_tools_that_are_there_are_spoken_of():
    text = kinds.instruction(task(), ("view",), ())
    assert "submit" not in text
    assert "bash" not in text


@given(st.sets(st.integers(0, 99), max_size=99))
def test_no_trace_of_the_answer_or_of_a_hidden_test(numbers):
    fail = [f"t.py::test_{n:02}_" for n in range(100)]
    row = task(fail=fail, hidden=[fail[n] for n in numbers])
    text = kinds.instruction(row, TOOLS, ())
    assert "GOLD" not in text
    shown = set(re.findall(r"t\.py::test_\d\d_", text))
    assert shown <= set(kinds.shown_tests(row))
    assert not shown & row.hidden
    assert f"({100 - len(numbers)})" in text


def test_an_instruction_is_bounded():
    row = task(fail=[f"t.py::{'x' * 500}{n}" for n in range(5000)], problem_statement="y" * 10**6)
    assert len(kinds.instruction(row, TOOLS, ["z" * 50] * 1000)) <= kinds.MAX_INSTRUCTION_CHARS


def test_a_row_whose_failing_tests_are_all_hidden_is_refused_with_the_count():
    rows = [task(), task(hidden=("t.py::a", "t.py::b"), instance_id="x-2")]
    with pytest.raises(UsageError, match=r"1 of 2 rows cannot be presented as FixTests.*x-2: all"):
        kinds.check_rows(rows, "FixTests")
    kinds.check_rows(rows[:1], "FixTests")
    with pytest.raises(UsageError, match="hidden"):
        kinds.present(rows[1], "FixTests")


def test_a_kind_of_a_later_version_is_refused_where_rows_choose_it():
    rows = [task(kind="WriteTests"), task(kind="WriteTests"), task()]
    with pytest.raises(UsageError, match=r"2 of 3 rows .* Tasks .*no kind 'WriteTests'"):
        kinds.check_rows(rows, "Tasks")
    kinds.check_rows(rows, "FixTests")
    assert kinds.present(rows[0], "FixTests").kind == "FixTests"


def test_no_rows_are_refused():
    with pytest.raises(UsageError, match="empty"):
        kinds.check_rows([], "Tasks")


def test_an_unknown_kind_is_named_with_the_nearest():
    with pytest.raises(NotFoundError, match="did you mean 'FixTests'"):
        kinds.check_kind("FixTest")


def test_presenting_as_its_own_kind_changes_nothing():
    row = task()
    assert kinds.present(row, "FixTests") is row
    assert kinds.present(row, "Tasks") is row
