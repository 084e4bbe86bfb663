"""Siblings of other shapes: steps, functions, either of two sides; cases that cannot be made."""

from __future__ import annotations

import ast
import re
import textwrap
from random import Random

from rewritten import candidates, module, run

from codegym.grading.observe.aiming import aim
from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.recording import Pair, TestRecord
from codegym.grading.observe.siblings import joined, siblings
from codegym.grading.observe.sites import Sibling
from codegym.types import Evidence, Value

HEAD = "import pytest, unittest\nfrom code_under_test import Box, Odd, double, half, parse, fill\n"
UNMADE = (
    HEAD
    + """
PARTS = [(6, 2), (9, 3)]

@pytest.mark.parametrize("n, wanted", [(6 / 3, 4), (8 / 4, 4)])
def test_shares(n, wanted):
    assert double(n) == wanted

@pytest.mark.parametrize("whole, part", PARTS, ids=["two", "three"])
def test_named(whole, part):
    assert double(whole / part) != whole

class TestRows:
    some = [1, 2]

    @pytest.mark.parametrize("n, wanted", [(n, 3) for n in some])
    def test_own(self, n, wanted):
        assert double(n) != wanted
"""
)


def test_cases_that_cannot_be_made_fail_no_other_test(tmp_path):
    made = module(UNMADE)
    names = ("test_shares", "test_named", "TestRows::test_own")
    added = [one for name in names for one in siblings(made, name, Random(1), 4)]
    (shares,) = [one for one in made.analysis.functions if one.name == "test_shares"]
    (four,) = [n for n in ast.walk(shares.tables[0].rows) if getattr(n, "value", 0) == 3]
    edit = (*made.analysis.source.span(four), "0")
    bad = Sibling("test_shares", "test_shares_bad", (edit,))
    text = made.shipped([site.id for site in made.sites], siblings=[bad, *added])
    outcomes, _ = run({"test_it.py": text}, tmp_path)
    ran = {}
    for name, outcome in outcomes["test_it.py"].items():
        ran.setdefault(re.sub(r"\[.*\]", "", name), set()).add(outcome)
    assert all("PASSED" in ran[name] for name in names)
    assert all(
        any("PASSED" in ran.get(one.id, ()) for one in added if one.test == name) for name in names
    )
    assert "PASSED" not in ran.get(bad.id, set())


STEPS = (
    HEAD
    + """
def up(n):
    return n + 1

def down(n):
    return n - 1

def both(n, m):
    return n + m

def fixture_like(n=1):
    return n

def test_steps():
    box = Box()
    box.push(
        "a"
    )
    box.items[0] = "b"
    box.count = 1
    box.count += 1
    for item in "cd": box.push(item)
    with box.quiet(): box.push("e")
    del box.items[0]
    assert len(box) == 81234

def test_functions():
    def twice(n):
        return up(up(n))

    assert double(fill, up, twice) == 81234
    assert parse(both, fixture_like) == 81234
    min = fill
    assert double(min, "a") == 81234
    assert double(max, [4]) == 81234

class TestUnit(unittest.TestCase):
    def test_it(self):
        mock = double(fill)
        mock.assert_called()
        self.assertRaises(Odd, half, Box)
        self.assertEqual(mock, 81234)
"""
)


def test_steps_are_left_out_or_taken_again():
    turns = re.compile(r"^    for _cg_turn in range\((\d)\): (\S+)", re.M)
    found = [turns.findall(text) for text in candidates(STEPS, "test_steps", 80)]
    assert {turn for each in found for turn, _ in each} == {"0", "2", "3"}
    steps = {"box.push(", "box.items[0]", "box.count", "del"}
    assert {step for each in found for _, step in each} == steps
    for text in candidates(STEPS, "test_steps", 80):
        ast.parse(textwrap.dedent(text))
        assert text.count("__cg__.saw(") == 1
    assert not any(
        "_cg_turn" in text for text in candidates(STEPS, "TestUnit::test_it", 40)
    )  # what asserts is no step


def test_steps_are_joined_once_each():
    made = module(STEPS)
    drawn = [
        one
        for one in siblings(made, "test_steps", Random(1), 80)
        if len(one.edits) == 1 and "_cg_turn" in one.edits[0][2]
    ]
    found = joined(made, drawn, Random(0), 12)
    assert found
    for one in found:
        places = [edit[:2] for edit in one.edits]
        assert len(set(places)) == len(places)
        ast.parse(made.shipped([site.id for site in made.sites], siblings=[one]))


def test_functions_stand_for_others_that_take_as_much():
    found = "\n".join(candidates(STEPS, "test_functions", 80))
    called = set(re.findall(r"double\(fill, (\w+), (\w+)\)", found))
    assert {one for one, _ in called} == {"up", "down", "twice"}
    assert {other for _, other in called} == {"up", "down", "twice"}
    assert set(re.findall(r"double\((\w+), \[", found)) == {"max", "min", "sum", "len"}
    assert "double(min, " in found
    assert "double(max, '" not in found
    assert "both, fixture_like" in found
    assert not re.search(r"parse\((?!both, fixture_like)", found)


MUTUAL = (
    HEAD
    + """
def test_both():
    first, second = [3, 4], [5, 6]
    expected = 81234
    assert double(first) == Box(*second)
    assert double(7) == expected
    assert double(8) != Box(second)

class TestUnit(unittest.TestCase):
    def test_it(self):
        self.assertAlmostEqual(half(10), double(2.5), places=3)
"""
)


def test_where_both_sides_come_from_code_under_test_siblings_ask_for_either_never_both():
    for name, sides in (
        ("test_both", ("double(first)", "Box(*second)")),
        ("TestUnit::test_it", ("half(", "double(")),
    ):
        found = candidates(MUTUAL, name, 30)
        asked = [tuple(side in text for side in sides) for text in found]
        assert set(asked) == {(True, False), (False, True)}
        assert not any("81234" in text or "assert" in text for text in found)
        made = module(MUTUAL)
        for one in siblings(made, name, Random(1), 30):
            ast.parse(made.shipped([site.id for site in made.sites], siblings=[one]))
    drawn = siblings(module(MUTUAL), "test_both", Random(1), 30)
    for seed in range(4):
        both = joined(module(MUTUAL), drawn, Random(seed), 8)
        assert len({one.mirrored for one in both}) == 1
        assert not {one.name for one in both} & {one.name for one in drawn}


def test_steps_before_a_failing_line_are_tried_there():
    made = module(STEPS)
    (site,) = [site for site in made.sites if site.test == "test_steps"]
    pairs = (Pair(site.id, Value("int", leaf=4)),)
    start = Sight((), Evidence(observations={"t.py::test_steps": ()}))
    aimed = aim([TestRecord("t.py::test_steps", pairs)], {site.id: site}, start)
    drawn = siblings(made, "test_steps", Random(0), 40, "_again", aimed.weight)
    assert sum("_cg_turn" in str(one.edits) for one in drawn) > len(drawn) / 2
