"""Copies of tests that are controls: as they are, inverted, or failing at once."""

from __future__ import annotations

from rewritten import module, run

from codegym.grading.observe.modules import control_name

HEAD = "import pytest, unittest\nfrom code_under_test import *\n"
ASKING = """
def test_both():
    assert double(3) == 6 and double(0) == 0

def test_order():
    assert double(3) < 7

def test_raises():
    with pytest.raises(TypeError):
        double()

class TestUnit(unittest.TestCase):
    def test_all(self):
        self.assertEqual(double(2), 4)
        self.assertLess(double(2), 5)

def test_loop():
    for n in (1, 2):
        assert double(n) == 2 * n

def test_helper():
    double(1)
"""


def test_controls_pass_as_they_are_and_fail_inverted(tmp_path):
    made = module(HEAD + ASKING)
    names = {"test_both", "test_order", "test_raises", "TestUnit::test_all", "test_loop"}
    assert names <= made.controllable
    source = made.control(dict.fromkeys(names, ("opposite", "real", "failing", "opposite")))
    outcomes = run({"test_suite.py": source}, tmp_path)[0]["test_suite.py"]
    assert {outcomes[name] for name in names} == {"FAILED"}
    for place, outcome in enumerate(("PASSED", "FAILED", "FAILED"), 1):
        assert {outcomes[control_name(name, place)] for name in names} == {outcome}
    plain = run({"test_suite.py": made.control({})}, tmp_path)[0]["test_suite.py"]
    rest = plain.keys() - names
    assert {name: outcomes[name] for name in rest} == {name: plain[name] for name in rest}
    assert len(outcomes) == len(plain) + 3 * len(names)


SHAPES = """import pytest

def wraps(test):
    return test

if True:
    def test_in_if():
        assert double(3) < 7

class TestOuter:
    class TestInner:
        def test_inner(self):
            @wraps
            def helper():
                return double(3)
            assert helper() < 7

def test_line(): assert double(3) < 7

@pytest.mark.parametrize("n", [1, 2])
def test_told(n):
    "What it is about."
    assert double(n) < 7

test_line = wraps(test_line)
LAST = 1
"""


def test_copies_of_controls_stand_beside_what_they_are_copies_of(tmp_path):
    made = module(HEAD + SHAPES)
    names = {"test_in_if", "TestOuter::TestInner::test_inner", "test_line", "test_told"}
    source = made.control(dict.fromkeys(names, ("failing", "real", "opposite", "failing")))
    outcomes = run({"test_suite.py": source}, tmp_path)[0]["test_suite.py"]
    for place, outcome in enumerate(("FAILED", "PASSED", "FAILED", "FAILED")):
        for name in names:
            own = control_name(name, place) if place else name
            found = {of for one, of in outcomes.items() if one.partition("[")[0] == own}
            assert found == {outcome}, own
