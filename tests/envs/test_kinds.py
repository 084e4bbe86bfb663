"""What is told, and which rows can be told as what."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.envs import kinds
from codegym.errors import NotFoundError, UsageError
from codegym.tasks.sources import resolve
from codegym.types import File, Task

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


def test_a_brief_opening_has_the_failing_tests_and_the_files_to_change_and_no_answer():
    patch = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    row = replace(task(fail=("t.py::a", "t.py::b"), hidden=("t.py::b",)), patch=patch)
    tree = {"src/a.py": File(b"x = 1\n"), "src/b.py": File(b"y = 1\n")}
    assert kinds.brief(row, tree) == "t.py::a\n\nsrc/a.py\n1\tx = 1\n"
    issue = replace(row, kind="FixIssue", problem_statement="It breaks.")
    assert kinds.brief(issue, tree) == "It breaks.\n\nsrc/a.py\n1\tx = 1\n"
    assert len(kinds.brief(row, {"src/a.py": File(b"x\n" * 99_999)})) <= 32_768


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


# What FixIssue and ImplementFeature hide


def test_fix_issue_needs_a_statement_and_hides_every_failing_test():
    rows = [task(problem_statement="It breaks."), task(problem_statement=" \n")]
    with pytest.raises(UsageError, match=r"1 of 2 rows .* FixIssue .*no problem statement"):
        kinds.check_rows(rows, "FixIssue")
    shown = kinds.present(rows[0], "FixIssue")
    assert (shown.kind, shown.hidden) == ("FixIssue", {"t.py::a", "t.py::b"})
    assert kinds.shown_tests(shown) == ("t.py::c",)
    text = kinds.instruction(shown, TOOLS, ())
    assert "It breaks." in text
    assert "t.py::" not in text


def test_a_hidden_test_takes_those_of_the_same_function_with_it():
    ids = ("t.py::a[1]", "t.py::a[2]", "t.py::aa[1]")
    row = task(fail=ids[:1], passing=ids[1:], problem_statement="x", kind="FixIssue")
    assert kinds.present(row, "Tasks").hidden == {"t.py::a[1]", "t.py::a[2]"}
    partly = task(fail=ids[:2], hidden=ids[:1])
    with pytest.raises(UsageError, match="hidden"):
        kinds.present(partly, "FixTests")


def test_implement_feature_says_what_is_missing():
    with pytest.raises(UsageError, match=r"1 of 1 rows .*it is a FixTests row"):
        kinds.check_rows([task()], "ImplementFeature")
    row = task(kind="ImplementFeature", problem_statement="Write it.", hidden=["t.py::b"])
    text = kinds.instruction(row, TOOLS, (), ["src/m.py::Box.area"])
    assert "What is to be implemented:\n- src/m.py::Box.area\n" in text
    assert "Write it." in text
    assert "Failing tests (1):\n- t.py::a\n" in text
    bare = task(kind="ImplementFeature", hidden=["t.py::a", "t.py::b"])
    patched = replace(bare, patch="--- a/src/m.py\n+++ b/src/m.py\n@@ -1 +1 @@\n-x\n+SECRET\n")
    text = kinds.instruction(patched, TOOLS, ())
    assert "It belongs into: src/m.py" in text
    assert "SECRET" not in text


def test_implement_feature_chooses_the_features_of_a_pack():
    for name in ("routekit", None):
        every = resolve(name)
        chosen = kinds.choose_rows(every, "ImplementFeature")
        ids = {task.instance_id for task in every if task.kind == "ImplementFeature"}
        assert 8 <= len(ids) < len(every)
        assert {task.instance_id for task in chosen} == set(chosen.ids) == ids
        rng = np.random.default_rng(0)
        assert {chosen.sample(rng).instance_id for _ in range(20)} <= ids
        assert chosen.digest == every.digest
        assert kinds.choose_rows(every, "FixTests") is every
    with pytest.raises(UsageError, match=r"19 of 19 rows .*codegym generate kvlog --kind feature"):
        kinds.choose_rows(resolve("kvlog"), "ImplementFeature")


NAMES = st.from_regex(r"test_[a-z]{2,6}", fullmatch=True)


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.text(), st.data())
def test_no_statement_names_a_hidden_test(names, around, data):
    ids = [f"tests/test_x.py::T::{name}" for name in names]
    ids = [data.draw(st.sampled_from([test, f"{test}[a-1]"])) for test in ids]
    told = [
        data.draw(st.sampled_from([test, test.partition("[")[0], name]))
        for test, name in zip(ids, names, strict=True)
    ]
    statement = f"{around} see {' and '.join(told)}. {around}"
    row = kinds.present(task(fail=ids, passing=(), problem_statement=statement), "FixIssue")
    words = set(re.findall(r"\w+", kinds.instruction(row, TOOLS, ())))
    assert not words & set(names) - set(re.findall(r"\w+", around))


def test_a_statement_keeps_names_that_only_look_alike():
    row = task(fail=["t.py::test_get"], problem_statement="test_getter and get and test_get.")
    text = kinds.instruction(kinds.present(row, "FixIssue"), TOOLS, ())
    assert "test_getter and get and [a test]." in text
