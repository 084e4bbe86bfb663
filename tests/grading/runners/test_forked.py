"""What is read of a session that forks: anything may be in its report."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from codegym.grading.runners.forked import read_bytecode, read_session, request_of
from codegym.types import Look, Mutant, Piece, Work

TESTS = ("t.py::a", "t.py::b")
FIELDS = ("mutant", "ended", "why", "failed", "passed", "seconds", "session", "missing")
PART = st.sampled_from(
    [None, True, 0, 1, 7, -1, 0.5, float("nan"), "", "ran", "cold", "failed", [], {}, "x" * 200]
)
ROWS = st.lists(PART | st.lists(PART, max_size=3), max_size=3)
JSON = st.dictionaries(st.sampled_from(FIELDS), PART | ROWS)


def report(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_a_report():
    ran = {"mutant": 0, "ended": "ran", "failed": [[1, "error", "KeyError"]], "passed": [0]}
    found = read_session(
        report(
            {"session": "", "missing": [1]},
            ran | {"seconds": [[0, 0.5, 0.25], [1, 0.5]]},
            {"mutant": 1, "ended": "cold", "why": "import"},
            {"mutant": 0, "ended": "crashed"},
            {"session": "threads"},
        ),
        TESTS,
    )
    assert (found.refused, found.missing) == ("", {"t.py::b"})
    assert found.looks == {
        0: Look(
            "ran",
            "",
            {"t.py::b": ("error", "KeyError")},
            frozenset({"t.py::a"}),
            {"t.py::a": 0.5},
            {"t.py::a": 0.25},
        ),
        1: Look("cold", "import"),
    }


@given(st.lists(JSON | ROWS, max_size=5), st.binary(max_size=20))
@example([{"mutant": 0, "ended": []}], b"")
def test_whatever_is_in_it_what_is_read_is_sound(rows, noise):
    found = read_session(report(*rows) + noise, TESTS)
    assert found.refused is None or isinstance(found.refused, str)
    assert found.missing <= set(TESTS)
    for number, look in found.looks.items():
        assert type(number) is int
        assert look.ended in ("ran", "cold", "timed_out", "crashed")
        assert look.failed.keys() | look.passed | look.seconds.keys() <= set(TESTS)
        assert not look.failed.keys() & look.passed
        assert all(how in ("failed", "error") for how, _ in look.failed.values())
        assert look.seconds.keys() == look.waited.keys()
        for times in (look.seconds, look.waited):
            assert all(0 <= one < float("inf") for one in times.values())


def test_a_test_that_failed_did_not_pass():
    both = {"mutant": 0, "ended": "ran", "failed": [[0, "failed", "X"]], "passed": [0, 1]}
    assert read_session(report(both), TESTS).looks[0].passed == {"t.py::b"}


def test_no_session_was_said_to_be_there():
    assert read_session(b"", TESTS).refused is None


def test_what_is_asked_can_be_written():
    piece = Piece("/workspace/ä.py", 3, ("class Ä:",), "    def f(self): pass", ("annotations",))
    work = Work(TESTS, (piece,), (Mutant({0: ((0, 1, "€"),)}, (1,), 0.5, 8.0, 1.0),), 64)
    asked = json.loads(json.dumps(request_of(work)))
    assert asked["tests"] == list(TESTS)
    assert asked["pieces"][0]["headers"] == ["class Ä:"]
    assert asked["mutants"][0]["edits"] == [[0, [[0, 1, "€"]]]]


def test_bytecode_is_kept_or_nothing_is():
    assert json.loads(read_bytecode(report({"bytecode": {"a.pyc": "AA=="}}))) == {"a.pyc": "AA=="}
    assert read_bytecode(report({"bytecode": {"a.pyc": 1}}, {"bytecode": []}, 3)) == b""
