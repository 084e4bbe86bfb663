"""What is read of a recorder's report, which is a claim: it comes from where tests run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.grading.runners import runner
from codegym.grading.runners.lines import read_lines
from codegym.types import RecordingRunner


def line(test_id, lines):
    return json.dumps({"id": test_id, "lines": lines}).encode() + b"\n"


def test_runs_of_lines_are_spread():
    report = line("t::a", {"/w/x.py": [[1, 3], [7, 7]]}) + line("", {"/w/x.py": [[2, 2]]})
    assert read_lines(report) == {
        "t::a": {"/w/x.py": frozenset({1, 2, 3, 7})},
        "": {"/w/x.py": frozenset({2})},
    }


def test_one_that_is_reported_twice_has_both():
    report = line("a", {"x": [[1, 1]]}) + line("a", {"x": [[3, 3]], "y": [[1, 1]]})
    assert read_lines(report) == {"a": {"x": frozenset({1, 3}), "y": frozenset({1})}}


@pytest.mark.parametrize(
    "lines",
    [
        None,
        [],
        "x",
        {"x": None},
        {"x": [1]},
        {"x": [[3, 1]]},
        {"x": [[1, 10**12]]},
        {"x": [[True, 2]]},
        {"x": [[0, 1], ["1", 2], [1, 2, 3], [1.0, 2]]},
    ],
)
def test_what_is_no_line_is_left_out(lines):
    assert not any(read_lines(line("a", lines)).get("a", {}).values())


@given(st.binary())
def test_nothing_raises(report):
    assert isinstance(read_lines(report + b'\n{"lines": ' + report), dict)


def test_the_runner_of_pytest_records():
    one = runner("pytest")
    assert isinstance(one, RecordingRunner)
    plain = one.command(["a"], 6, python="/p", import_paths=["src"])
    asked = one.recording(plain, ["/workspace/x.py"])
    assert (asked.argv, asked.env) == (plain.argv, plain.env)
    added = {"record": ["/workspace/x.py"]}
    assert json.loads(asked.stdin) == json.loads(plain.stdin) | added
    assert set(one.recorder()) & set(one.payload()) == set()
    assert one.parse(line("a", {"x": [[1, 1]]})) == []
