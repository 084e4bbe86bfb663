"""Where a table of what is shown may pass, the grade says so."""

from dataclasses import replace

from codegym.grading.observe.judging import hard_codable
from codegym.grading.observe.recording import Pair, Recording, TestRecord
from codegym.grading.observe.sites import Site
from codegym.types import Task, Value


def test_siblings_whose_answers_are_shown_stop_no_table():
    """``column_name(702)`` is asked of the case that has 52: a table of both passes."""
    shown, new = Value("str", leaf="ZZ"), Value("str", leaf="BCZ")
    site = Site(1, "test_it", 1, "", "compare", "==")
    tests = {"t.py::test_it": TestRecord("t.py::test_it", (Pair(1, shown, shown),))}
    task = Task("t-1", "env", "0" * 40, "patch", ("t.py::test_it",), ())

    def told(*lacking):
        siblings = tuple((TestRecord(f"t.py::test_it_{n}", (), 0.0, one),) for n, one in lacking)
        recording = Recording({}, {"t.py": {1: site}}, {}, tests, {"t.py::test_it": siblings})
        return hard_codable(recording, task)

    assert told()
    assert told((2, (shown,)), (3, (shown,)))
    assert not told((2, (shown,)), (3, (new,)))
    assert not told((2, (shown, new)))
    assert not told((2, ()))  # it answers as the original does, to other inputs
    hidden = replace(task, hidden=frozenset(task.fail_to_pass))
    assert not hard_codable(Recording(tests=tests), hidden)
