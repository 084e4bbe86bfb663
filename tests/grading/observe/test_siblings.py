"""Siblings: the same test, asked of other inputs."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewritten import candidates, module, run

from codegym.grading.observe.aiming import aim
from codegym.grading.observe.changes import changed
from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.recording import Pair, TestRecord
from codegym.grading.observe.siblings import joined, siblings
from codegym.grading.observe.sites import Sibling
from codegym.grading.observe.text import read
from codegym.types import Evidence, Sighting, TestOutcome, Value

HEAD = "import pytest, unittest\nfrom code_under_test import Box, Odd, double, half, parse, fill\n"
SUITE = (
    HEAD
    + '''
CASES = [(10, 81234), (20, 81234), (30, 81234)]
SAID = "hello"

def test_plain():
    """Doubles 81234."""
    items = [4, 5, 6]
    assert double(items) == [81234]
    assert double("abc") != "81234"

@pytest.mark.parametrize("n, wanted", CASES)
def test_cases(n, wanted):
    assert double(n) != wanted

@pytest.mark.parametrize("text, wanted", [("1,2", [81234]), pytest.param("3,4", 81234, id="x")])
def test_rows(text, wanted):
    assert parse(text) != wanted

def test_loop():
    for n, wanted in CASES:
        assert double(n) != wanted
    assert double(SAID) != SAID

def test_two():
    box = Box(1, 2)
    assert box != Box(3, 81234)
    assert len(box) == 2
    assert double(box.push(5)) == double(6) - 2

def test_raises():
    with pytest.raises(Odd, match="81234"):
        half(31)

def test_no_inputs():
    box = Box()
    assert len(box) == 0

class TestUnit(unittest.TestCase):
    def test_it(self):
        self.assertEqual(double(4), 81234, "or 81234")
        self.assertEqual(double("x"), "81234")
    def test_it_2(self):
        self.assertEqual(double(4), 81234)
'''
)
WITH_INPUTS = [
    "test_plain",
    "test_cases",
    "test_rows",
    "test_loop",
    "test_two",
    "test_raises",
    "TestUnit::test_it",
    "TestUnit::test_it_2",
]


@pytest.mark.parametrize("name", WITH_INPUTS)
def test_siblings_are_several_and_differ_and_hold_no_expected_side(name):
    found = candidates(SUITE, name)
    assert len(found) >= 3
    trees = {ast.dump(ast.parse(textwrap.dedent(text))) for text in found}
    assert len(trees) == len(found)
    made = module(SUITE)
    function = next(part for part in made.tests() if part.name == name)
    own = made.copy_of(function, function.node.name, ())
    strip = re.compile(r"def \w+")
    for text in found:
        assert "81234" not in text
        assert "assert" not in text
        assert strip.sub("def", text) != strip.sub("def", own)
        assert text.count("__cg__.saw(") == own.count("__cg__.saw(")


def test_a_seed_gives_the_same_siblings_and_another_gives_others():
    one, same, other = (candidates(SUITE, "test_plain", seed=seed) for seed in (3, 3, 4))
    assert one == same
    assert one != other


def test_a_test_without_inputs_or_without_sites_has_none():
    assert candidates(SUITE, "test_no_inputs") == []
    assert candidates("import os\ndef test_it():\n    assert len('abc') == 3\n", "test_it") == []
    assert siblings(module(SUITE), "test_unknown", Random(0), 3) == []


def test_what_is_not_observed_says_nothing_in_a_sibling():
    made = module(
        HEAD + "def test_it():\n    assert double(3) == 6\n    assert double('a') == 'aa'\n"
    )
    first, second = made.sites
    (sibling,) = siblings(made, "test_it", Random(0), 1)
    text = made.shipped([first.id], siblings=[sibling])
    copy = text[text.index("def test_it_2") :]
    assert str(first.id) in copy
    assert str(second.id) not in copy
    assert re.search(r"^    \(double\('\w+'\)\)$", copy, re.M)


def test_siblings_lie_beside_their_tests_and_run(tmp_path):
    made = module(SUITE)
    added = [one for name in WITH_INPUTS for one in siblings(made, name, Random(name), 4)]
    assert len({one.id for one in added}) == len(added)
    outcomes, seen = run(
        {"test_it.py": made.shipped([site.id for site in made.sites], siblings=added)}, tmp_path
    )
    ran = {re.sub(r"\[.*\]", "", name) for name in outcomes["test_it.py"]}
    assert {one.id for one in added} <= ran
    assert {part.name for part in made.tests()} <= ran
    sites = {site.id for site in made.sites}
    assert {site for _, site, _, _ in seen} <= sites


TABLED = (
    HEAD
    + """
MORE = [("9", 2), ("8", 3)]
TWICE = [(1, 2), (3, 4)]

@pytest.mark.parametrize("n, wanted", [(1, 2), pytest.param(3, 4), ([5, 6], 7), (8, 9)])
@pytest.mark.parametrize("text, size", MORE)
def test_rows(n, wanted, text, size):
    assert double(n) != wanted
    assert parse(text) != size

@pytest.mark.parametrize("n, wanted", TWICE)
def test_twice(n, wanted):
    assert double(n) != wanted and double(TWICE) != wanted

@pytest.mark.parametrize("n", [1, *range(3), 5])
def test_starred(n):
    assert double(n) != "x"
"""
)


def test_a_sibling_says_which_rows_of_tables_differ():
    made = module(TABLED)
    found = siblings(made, "test_rows", Random(1), 60)
    ranges = {"n": 4, "text": 2}
    for one in found:
        assert one.rows
        assert all(0 <= place < ranges[name] for name, place in one.rows)
    alone = {next(iter(one.rows)): one for one in found if len(one.rows) == 1}
    assert set(alone) == {(name, place) for name, count in ranges.items() for place in range(count)}
    sibling = alone["n", 1]
    keys = [
        f"t.py::test_rows{{n={n},size={m},text={m},wanted={n}}}" for n in (1, 11) for m in (0, 1)
    ]
    assert [sibling.differs(key) for key in keys] == [True, True, False, False]


@pytest.mark.parametrize("name", ["test_twice", "test_starred"])
def test_where_rows_are_not_known_any_may_differ(name):
    found = siblings(module(TABLED), name, Random(1), 20)
    assert found
    assert {one.rows for one in found} == {None}
    assert found[0].differs("t.py::test_twice{n=0,wanted=0}")


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


def test_texts_that_hold_a_text_change_with_it():
    text = HEAD + "def test_it():\n    assert double('xyz') + double('axyz') != 1\n"
    found = [re.findall(r"double\('(\w+)'\)", one) for one in candidates(text, "test_it", 30)]
    assert any(one != "xyz" and other == f"a{one}" for one, other in found)


def test_inputs_are_changed_where_unsolved_code_fails():
    lines = "".join(f"    assert double({n}) == {2 * n}\n" for n in range(30, 40))
    made = module(f"{HEAD}def test_it():\n{lines}")
    right = [Value("int", leaf=2 * n) for n in range(30, 40)]
    pairs = tuple(Pair(site.id, value) for site, value in zip(made.sites, right, strict=True))
    wrong = made.sites[7]
    seen = [Sighting(p.site, "a", right[0] if p.site == wrong.id else p.actual) for p in pairs]
    start = Sight((), Evidence(observations={"t.py::test_it": tuple(seen[:8])}))
    sites = {site.id: site for site in made.sites}
    aimed = aim([TestRecord("t.py::test_it", pairs)], sites, start)
    near = siblings(made, "test_it", Random(0), 40, "_again", aimed.weight)
    plain = siblings(made, "test_it", Random(0), 40)
    data = made.analysis.source.data
    late = [
        sum(
            data.count(b"\n", 0, start) + 1 >= wrong.line
            for one in drawn
            for start, _, _ in one.edits
        )
        / sum(len(one.edits) for one in drawn)
        for drawn in (plain, near)
    ]
    assert late[0] < 0.5 < late[1]
    assert all(one.name.startswith("test_it_again_") for one in near)


def test_rows_are_changed_that_unsolved_code_fails():
    made = module(TABLED)
    failing = "t.py::test_rows{n=2,size=1,text=1,wanted=2}"
    (site, *_) = [site for site in made.sites if site.test == "test_rows"]
    keys = [
        f"t.py::test_rows{{n={n},size={m},text={m},wanted={n}}}" for n in range(4) for m in (0, 1)
    ]
    pairs = (Pair(site.id, Value("int", leaf=6)),)
    seen = {key: (Sighting(site.id, "a", Value("int", leaf=6)),) for key in keys if key != failing}
    passed = tuple(TestOutcome(key, "passed") for key in seen)
    start = Sight(passed, Evidence(observations=seen))
    aimed = aim([TestRecord(key, pairs) for key in keys], {site.id: site}, start)
    assert aimed.rows == {"n=2", "size=1", "text=1", "wanted=2"}
    near = siblings(made, "test_rows", Random(0), 40, "_again", aimed.weight)
    assert Counter(row for one in near for row in one.rows).most_common(2)[0][0] in {
        ("n", 2),
        ("text", 1),
    }


def test_a_call_has_one_argument_more_or_less():
    source = read(b"accepts(f, 1, 2, key=3)\naccepts(f, 1, (2))\naccepts(f, *rest)\naccepts(f)\n")
    calls = [statement.value for statement in source.tree.body]
    found = {changed(calls[0], source, Random(seed)) for seed in range(20)}
    assert found == {"accepts(f, 1, 2, 2, key=3)", "accepts(f, 1, key=3)", "accepts(f, 1, 2)"}
    assert [changed(call, source, Random(0)) for call in calls[1:]] == [None, None, None]
    (said,) = read(b"accepts(f, key=(3), other=4, **more)").tree.body
    named = read(b"accepts(f, key=(3), other=4, **more)")
    found = {changed(said.value, named, Random(seed)) for seed in range(20)}
    assert found == {
        "accepts(f, other=4, **more)", "accepts(f, key=(3), **more)", "accepts(f, key=(3), other=4)"
    }  # fmt: skip


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


LITERALS = st.one_of(
    st.integers(), st.floats(), st.text(), st.binary(), st.booleans(), st.none(),
    st.lists(st.integers(), max_size=4), st.sets(st.integers(), max_size=4),
    st.tuples(st.text(), st.integers()),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(LITERALS, st.integers(0, 10))
def test_changes_keep_the_type_and_are_never_the_same(value, seed):
    source = read(repr(value).encode("utf-8", "replace"))
    if source is None:
        return
    node = source.tree.body[0].value
    if isinstance(node, ast.Constant | ast.List | ast.Set | ast.Tuple):
        new = changed(node, source, Random(seed))
        if new is not None:
            other = ast.literal_eval(new)
            assert type(other) is type(ast.literal_eval(node))
            assert new != source.text(node)
