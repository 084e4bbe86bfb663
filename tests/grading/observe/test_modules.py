"""Assertions become observations: what is found, what is shipped, and that it means the same."""

from __future__ import annotations

import ast
import re

import pytest
from rewritten import module, run, shipped, sides

from codegym.grading.observe.modules import parse_module

HEAD = "import pytest, unittest\nfrom code_under_test import *\n".replace(
    "*", "Box, Odd, double, half, parse, fill, LIMIT"
)

FORMS = [
    ("assert double(4) == 81234", "=="),
    ("assert double(4) != 81234", "!="),
    ("assert double(4) < 81234", "<"),
    ("assert double(4) <= 81234", "<="),
    ("assert double(4) > 81234", ">"),
    ("assert double(4) >= 81234", ">="),
    ("assert double(4) in (81234, 8)", "in"),
    ("assert double(4) not in [81234]", "not in"),
    ("assert double(4) is None", "is"),
    ("assert double(4) is not True", "is not"),
    ("assert 81234 == double(4)", "=="),
    ("assert 81234 < double(4)", ">"),
    ("assert 81234 in parse('1,2')", "contains"),
    ("assert 81234 not in parse('1,2')", "not contains"),
    ("assert isinstance(double(4), int)", "isinstance"),
    ("assert not isinstance(double(4), str)", "not isinstance"),
    ("assert double(4) == pytest.approx(81234.5)", "=="),
    ("assert len(parse('1,2')) == 81234", "=="),
    ("assert double(4)", "true"),
    ("assert not double(4)", "false"),
    ("assert any(n > 1 for n in parse('1,2'))", "true"),
]

METHODS = [
    ("assertEqual(double(4), 81234)", "=="),
    ("assertEqual(81234, double(4), 'why 81234')", "=="),
    ("assertListEqual(parse('1,2'), [81234])", "=="),
    ("assertNotEqual(double(4), 81234, msg='81234')", "!="),
    ("assertTrue(double(4) == 81234)", "=="),
    ("assertTrue(double(4))", "true"),
    ("assertFalse(double(4))", "false"),
    ("assertIs(double(4), None)", "is"),
    ("assertIsNot(double(4), None)", "is not"),
    ("assertIsNone(double(4))", "is"),
    ("assertIsNotNone(double(4), 'text 81234')", "is not"),
    ("assertIn(81234, parse('1'))", "contains"),
    ("assertIn(double(4), [81234])", "in"),
    ("assertNotIn(81234, parse('1'))", "not contains"),
    ("assertIsInstance(double(4), int)", "isinstance"),
    ("assertNotIsInstance(double(4), int)", "not isinstance"),
    ("assertAlmostEqual(double(4), 81234.5)", "almost"),
    ("assertAlmostEqual(double(4), 81234.5, places=3)", "almost"),
    ("assertNotAlmostEqual(81234.5, double(4), delta=0.5)", "not almost"),
    ("assertGreater(double(4), 81234)", ">"),
    ("assertGreaterEqual(81234, double(4))", "<="),
    ("assertLess(double(4), 81234)", "<"),
    ("assertLessEqual(double(4), 81234)", "<="),
    ("assertRegex(double('a'), '81234')", "regex"),
    ("assertNotRegex(double('a'), '81234')", "not regex"),
    ("assertCountEqual(parse('1,2'), [81234])", "count_equal"),
]

RAISING = [
    "with pytest.raises(ValueError):\n        parse('')",
    "with pytest.raises((ValueError, KeyError), match='noth' + 'ing') as info:\n        parse('')",
    "pytest.raises(ValueError, parse, '')",
    "pytest.raises(\n        ValueError,\n        lambda: parse(''),  # a note\n    )",
]


@pytest.mark.parametrize(("text", "op"), FORMS)
def test_a_bare_assertion_is_observed_without_its_expected_side(text, op):
    source = HEAD + f"def test_it():\n    {text}, 'message 81234'\n"
    assert sides(source) == [(op, "one", True)]
    after = shipped(source)
    assert "81234" not in after
    assert "assert" not in after
    assert after.count("__cg__.saw(") == 1
    ast.parse(after)


@pytest.mark.parametrize(("text", "op"), METHODS)
def test_a_method_of_unittest_is_observed_without_its_expected_side(text, op):
    source = (
        HEAD + f"class TestIt(unittest.TestCase):\n    def test_it(self):\n        self.{text}\n"
    )
    assert sides(source) == [(op, "one", True)]
    after = shipped(source)
    assert "81234" not in after
    assert "self.assert" not in after
    assert after.count("__cg__.saw(") == 1


@pytest.mark.parametrize("text", RAISING)
def test_what_a_block_raises_is_observed(text):
    source = HEAD + f"def test_it():\n    {text}\n"
    assert sides(source) == [("raises", "one", True)]
    after = shipped(source)
    assert "ValueError" not in after
    assert "noth" not in after
    assert after.count("__cg__.raised(") == 1


def test_raises_is_known_by_what_it_is_not_by_its_name():
    body = "def test_it():\n    with raises(ValueError):\n        assert parse('')\n"
    assert sides(f"from pytest import raises\n{HEAD}{body}") == [("raises", "one", True)]
    assert sides(f"{HEAD}from code_under_test import raises\n{body}") == [("true", "one", True)]


def test_tests_in_branches_of_a_module_are_found():
    text = (
        HEAD
        + "import sys\nif sys.maxsize > 5:\n    def test_it():\n        assert double(1) == 81234\n"
    )
    assert sides(text) == [("==", "one", True)]
    assert "81234" not in shipped(text)


def test_options_of_almost_are_kept():
    source = HEAD + (
        "class TestIt(unittest.TestCase):\n"
        "    def test_it(self):\n"
        "        self.assertAlmostEqual(double(1.0), 2.0)\n"
        "        self.assertAlmostEqual(double(1.0), 2.0, 3)\n"
        "        self.assertAlmostEqual(double(1.0), 2.0, delta=0.5)\n"
    )
    assert [site.options for site in module(source).sites] == [
        (("places", 7),),
        (("places", 3),),
        (("delta", 0.5),),
    ]


def test_what_is_joined_with_and_is_split():
    source = HEAD + "def test_it():\n    assert double(4) == 81234 and not half(6), 'm'\n"
    assert [(site.op, site.text) for site in module(source).sites] == [
        ("==", "double(4) == 81234"),
        ("false", "not half(6)"),
    ]
    assert re.search(
        r"saw\(\d+, double\(4\)\); __cg__\.saw\(\d+, half\(6\)\)$", shipped(source), re.M
    )


def test_parts_that_are_not_observed_still_assert():
    made = module(HEAD + "def test_it():\n    assert double(4) == 8 and half(6) == 3\n")
    first, second = made.sites
    assert f"__cg__.saw({first.id}, double(4)); assert (half(6) == 3)" in made.shipped([first.id])
    assert f"assert (double(4) == 8); __cg__.saw({second.id}, half(6))" in made.shipped([second.id])
    assert "assert double(4) == 8 and half(6) == 3" in made.shipped([])


LEFT = [
    "async def test_it():\n    assert double(4) == 8",
    "def test_it():\n    assert double(4) == 8\n    yield",
    "@given(x=1)\ndef test_it(x):\n    assert double(4) == 8",
    "@pytest.fixture\ndef test_it():\n    assert double(4) == 8",
    "@unittest.expectedFailure\ndef test_it():\n    assert double(4) == 8",
    "@pytest.mark.xfail\ndef test_it():\n    assert double(4) == 9",
    "def test_it():\n    assert (n := double(4)) == 8",
    "def test_it():\n    assert 1 < double(4) < 9",
    "def test_it():\n    assert 1 + 1 == 2",
    "def test_it():\n    import inspect\n    assert 'x' in inspect.getsource(double)",
    "def test_it():\n    def inner():\n        assert double(4) == 8\n    inner()",
    "def test_it():\n    with pytest.raises(AssertionError):\n        assert double(4) == 9",
    "def test_it():\n    try:\n        assert double(4) == 9\n    except AssertionError: pass",
]


@pytest.mark.parametrize("text", LEFT)
def test_what_cannot_be_observed_asserts_as_before(text):
    made = module(HEAD + text + "\n")
    assert [site.form for site in made.sites] in ([], ["raises"])
    kept = [line.strip() for line in text.splitlines() if "assert" in line]
    after = made.shipped([site.id for site in made.sites])
    assert all(line in after for line in kept)


def test_lines_keep_their_numbers():
    source = HEAD + (
        "def test_it():\n"
        "    assert (\n        double(4)\n        == # why\n        8\n    ), 'm'\n"
        "    expected = [\n        1,\n        2,\n    ]\n"
        "    assert parse(\n        '1,2'\n    ) == expected\n"
        "    with pytest.raises(\n        ValueError\n    ):\n        parse('')\n"
        "    marker()\n"
    )
    made = module(source)
    for text in (made.recording(), made.shipped([site.id for site in made.sites])):
        assert text.splitlines().index("    marker()") == source.splitlines().index("    marker()")


PLACES = {
    "docstring": '"""Doc 81234."""\nfrom __future__ import annotations\nimport os\n',
    "future": "from __future__ import annotations\n",
    "cookie": "# -*- coding: utf-8 -*-\n",
    "only comments": "# 81234\n\n",
    "nothing": "",
    "checking": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import os\n",
    "star": "from os.path import *\n",
}


@pytest.mark.parametrize("head", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("body", ["import code_under_test as c\n", ""])
def test_the_import_comes_where_it_may(head, body):
    rest = body + "def test_it(c=None):\n    assert c.double(4) == 81234  # 81234\n"
    made = parse_module("t.py", (head + rest).encode(), ["code_under_test"])
    for text in (made.recording(), made.shipped([site.id for site in made.sites])):
        compile(text, "t.py", "exec")
        assert text.count("import _cg_observer as __cg__") == 1
    assert "81234" not in text


def test_line_ends_and_marks_of_other_systems_are_read():
    source = (HEAD + "def test_it():\n    assert double('é') == '''é\né'''\n").encode()
    plain = parse_module("t.py", source, ["code_under_test"])
    windows = parse_module(
        "t.py", b"\xef\xbb\xbf" + source.replace(b"\n", b"\r\n"), ["code_under_test"]
    )
    assert windows.recording() == plain.recording()
    assert windows.sites == plain.sites


@pytest.mark.parametrize(
    "source",
    [
        b"def test(:\n",
        b"x = '\xff'\n",
        b"# coding: latin-1\nx = '\xe9'\n",
        b"a\0b",
        b"def test_it():\n    assert x == " + b"-" * 3000 + b"1\n",
        b"def test_it():\n    assert x == 1" + b" + 1" * 3000 + b"\n",
    ],
    ids=["syntax", "bytes", "encoding", "nothing", "signs", "sum"],
)
def test_what_cannot_be_read_is_none(source):
    assert parse_module("t.py", source, []) is None


def test_ids_are_the_same_each_time_and_others_in_other_files():
    source = HEAD + "def test_it():\n    assert double(4) == 8\n    assert half(4) == 2\n"
    here, there = module(source), module(source, "sub/test_it.py")
    assert here.sites == module(source).sites
    assert not {site.id for site in here.sites} & {site.id for site in there.sites}


def test_a_helper_of_tests_asserts_and_emits_both_sides():
    source = HEAD + "def check(x):\n    assert x == 8\ndef test_it():\n    check(double(4))\n"
    (site,) = module(source).sites
    assert (site.test, site.sides) == ("", "both")
    assert f"assert __cg__.saw({site.id}, x) == __cg__.meant({site.id}, 8)" in shipped(source)


SUITE = (
    HEAD
    + '''
class helper:
    @staticmethod
    def check(x): assert x == 8

CASES = [(1, 2), (2, 4), (3, 7)]

@pytest.mark.parametrize("n, wanted", CASES, ids=["one", "two", "three"])
def test_cases(n, wanted):
    """Doubles {wanted}."""
    assert double(n) == wanted

@pytest.mark.parametrize("x", [1, pytest.param(2, id="two"), 3])
@pytest.mark.parametrize("kind", [int, str])
def test_stacked(x, kind):
    assert isinstance(double(x), kind)

def test_message():
    assert double(2) == 5, f"not {LIMIT}"

def test_both():
    assert half(double(3)) == half(6) and double(1) == 2
    assert parse("1,2") == parse("1, 2")

def test_loop():
    for text, numbers in {"1": [1], "1,2": [1, 2]}.items():
        assert parse(text) == numbers

def test_helper():
    helper.check(double(4))

def test_order():
    box = Box()
    assert box.push(1) == len(box)
    assert len(box) == box.push(1)
    assert box.push(3) == 3 and len(box) == 3

def test_raises():
    with pytest.raises(Odd, match="is odd") as info:
        half(3)
    assert str(info.value) == "3 is odd"
    with pytest.raises(ValueError) as info:
        parse("")
    assert "nothing" in str(info.value)

def test_raises_nothing():
    with pytest.raises(ValueError):
        parse("1")

def test_raises_other():
    pytest.raises(KeyError, parse, "")

def test_raises_elsewhere():
    pytest.raises(ValueError, parse, half(3))

def test_error():
    half(3)

def test_skipped():
    pytest.skip("no")
    assert double(1) == 2

class TestUnit(unittest.TestCase):
    """Of {unit} tests."""
    def setUp(self):
        self.box = Box(1, 2)

    def test_all(self):
        self.assertEqual(len(self.box), 2, "why")
        self.assertIsNone(self.box.items.append(3))
        self.assertIsNotNone(self.box)
        self.assertTrue(self.box and double(2) == 4)
        self.assertRaises(ValueError, parse, "")
        self.assertRaisesRegex(ValueError, "noth.ng", parse, "")
        with self.assertRaisesRegex(Odd, "odd") as caught:
            half(5)
        self.assertEqual(caught.exception.args, ("5 is odd",))

    def test_wrong(self):
        for n, e in [(1, 2), (2, 5)]:
            with self.subTest(n=n, e=e):
                self.assertEqual(double(n), e)

    def test_raises_nothing(self):
        self.assertRaises(ValueError, parse, "1")
'''
)


def test_recordings_end_as_the_original_does_and_what_is_shipped_passes_what_passed(tmp_path):
    made = module(SUITE)
    sources = {
        "test_plain.py": SUITE,
        "test_recording.py": made.recording(),
        "test_none.py": made.shipped([]),
        "test_shipped.py": made.shipped([site.id for site in made.sites]),
    }
    outcomes, seen = run(sources, tmp_path)
    plain = outcomes["test_plain.py"]
    assert set(plain.values()) == {"PASSED", "FAILED"}
    assert len(plain) > 20
    assert outcomes["test_recording.py"] == plain
    unnamed = {re.sub(r"\[.*\]", "", name) for name, how in plain.items() if how == "PASSED"}
    after = {
        re.sub(r"\[.*\]", "", name)
        for name, how in outcomes["test_shipped.py"].items()
        if how == "PASSED"
    }
    assert unnamed <= after
    assert outcomes["test_none.py"] == plain
    unreached = {"test_skipped", "test_raises_elsewhere"}  # the latter's argument raises
    reached = {site.id for site in made.sites if site.test not in unreached}
    assert {site for _, site, _, _ in seen} == reached
