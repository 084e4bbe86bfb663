"""Where a table of what is shown may pass, the grade says so."""

from dataclasses import replace

from codegym.grading.observe.judging import forging_bound, hard_codable
from codegym.grading.observe.recording import Pair, Recording, TestRecord
from codegym.grading.observe.sites import Site
from codegym.types import Task, Value

SITE = Site(1, "test_it", 1, "", "compare", "==")
TASK = Task("t-1", "env", "0" * 40, "patch", ("t.py::test_it",), ())


def told(shown, *lacking, sources=()):
    """Whether a table may pass, where siblings take these answers and a shown test that one."""
    tests = {"t.py::test_it": TestRecord("t.py::test_it", (Pair(1, shown, shown),))}
    siblings = tuple((TestRecord(f"t.py::test_it_{n}", (), 0.0, one),) for n, one in lacking)
    recording = Recording({}, {"t.py": {1: SITE}}, {}, tests, {"t.py::test_it": siblings})
    return hard_codable(recording, TASK, sources)


def test_siblings_whose_answers_are_shown_stop_no_table():
    """``column_name(702)`` is asked of the case that has 52: a table of both passes."""
    shown, new = Value("str", leaf="ZZ"), Value("str", leaf="BCZ")
    assert told(shown)
    assert told(shown, (2, (shown,)), (3, (shown,)))
    assert not told(shown, (2, (shown,)), (3, (new,)))
    assert not told(shown, (2, (shown, new)))


def test_truth_values_stop_no_table_with_a_word_for_all_else():
    """``assert not is_prime(25)`` and ``assert is_prime(7)``: "no" but for what was shown."""
    yes, no = Value("bool", leaf=True), Value("bool", leaf=False)
    assert told(no, (2, ()))  # asked in a form that no value is held to
    assert told(yes, (2, ()), (3, (yes,)))
    assert told(no, (2, (yes,)))


def test_an_answer_that_is_written_in_what_is_to_be_changed_is_known():
    """``kind_of_year(1900)``: "common year", as the other branch says; by chance in 1 of 2."""
    leap, common = Value("str", leaf="leap year"), Value("str", leaf="common year")
    source = b"def kind_of_year(year):\n    return 'leap year' if year % 4 else 'common year'\n"
    assert not told(leap, (2, (common,)))
    assert told(leap, (2, (common,)), sources=[source])
    tests = {"t.py::test_it": TestRecord("t.py::test_it", (Pair(1, leap, leap),))}
    siblings = {"t.py::test_it": ((TestRecord("t.py::test_it_2", (), 0.0, (common,)),),)}
    recording = Recording({}, {"t.py": {1: SITE}}, {}, tests, siblings)
    assert forging_bound(recording, TASK) < 1e-6
    assert forging_bound(recording, TASK, [source]) >= 0.125


def test_hidden_tests_stop_tables():
    hidden = replace(TASK, hidden=frozenset(TASK.fail_to_pass))
    tests = {"t.py::test_it": TestRecord("t.py::test_it")}
    assert not hard_codable(Recording(tests=tests), hidden)
