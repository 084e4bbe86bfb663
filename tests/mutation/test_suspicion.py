"""How suspicious lines are, and how many a fault hides among."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from codegym.mutation.candidates import Candidate, Spot
from codegym.mutation.coverage import Coverage
from codegym.mutation.suspicion import heat_of, suspects
from codegym.syntax import Edit, parse

LINES = 6
#: Line ``n`` sets ``xn``.
PARSED = parse(b"".join(b"x%d = 0\n" % line for line in range(1, LINES + 1)), "python")

lines = st.frozensets(st.integers(1, LINES))
tests = st.dictionaries(st.sampled_from("abcde"), lines, min_size=1)


def fault(*places):
    """A fault in these lines of ``a.py``."""
    spots = [
        Spot("a.py", PARSED, Edit(at, at + 6, b"y = 1"), "python.x", "1", "")
        for at in (7 * (line - 1) for line in places)
    ]
    return Candidate.of(spots, operator="x", version="1", tier=1, order=len(spots))


@given(fails=st.integers(0, 5), passes=st.integers(0, 50), more=st.integers(0, 5))
def test_suspicion_grows_with_failing_tests_and_shrinks_with_passing_ones(fails, passes, more):
    failing = max(fails + more, 1)
    heat = heat_of({"a.py": {1: (fails, passes), 2: (fails, passes + 1)}}, failing).get("a.py", {})
    if not fails:
        assert heat == {}
        return
    assert 0 < heat[2] < heat[1] <= 1
    if more:
        assert heat_of({"a.py": {1: (fails + 1, passes)}}, failing)["a.py"][1] > heat[1]


@given(tests, st.data(), st.integers(1, LINES))
def test_suspects_are_the_lines_no_less_suspicious_than_the_fault(ran, data, place):
    failing = data.draw(st.sets(st.sampled_from(sorted(ran)), min_size=1))
    of = {}
    for line in range(1, LINES + 1):
        runs = {test for test, reached in ran.items() if line in reached}
        if runs & failing:
            of[line] = Fraction(len(runs & failing) ** 2, len(failing) * len(runs))
    expected = sum(hot >= of.get(place, 0) for hot in of.values())
    coverage = Coverage({test: {"a.py": reached} for test, reached in ran.items()})
    assert suspects(fault(place), coverage, failing) == max(expected, 1)


def test_a_fault_of_several_edits_hides_as_well_as_its_best_hidden_one():
    reached = {"a": {1, 2, 3}, "b": {2, 3}, "c": {3}, "": {4, 5, 6}}
    coverage = Coverage({test: {"a.py": frozenset(each)} for test, each in reached.items()})
    alone = [suspects(fault(line), coverage, {"a"}) for line in (1, 2, 3)]
    assert alone == [1, 2, 3]
    assert suspects(fault(1, 2), coverage, {"a"}) == 2
    assert suspects(fault(1, 3), coverage, {"a"}) == 3
    assert suspects(fault(1, 6), coverage, {"a"}) == 3  # no failing test runs it: all are suspects


def test_lines_as_suspicious_as_the_fault_are_suspects_whatever_digits_say():
    """Of three failing tests one of one, and three of nine: both are the square root of 1/3."""
    ran = {"a": {1, 2}, "b": {2}, "c": {2}, **{name: {2} for name in "defghi"}}
    coverage = Coverage({test: {"a.py": frozenset(lines)} for test, lines in ran.items()})
    assert [suspects(fault(line), coverage, {"a", "b", "c"}) for line in (1, 2)] == [2, 2]
