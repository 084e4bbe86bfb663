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
from codegym.grading.observe.siblings import siblings
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
