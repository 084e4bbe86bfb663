"""What only served expected sides goes: local values, columns, names of cases, constants."""

from __future__ import annotations

import ast
import textwrap

import pytest
from rewritten import module, run, shipped, sides

HEAD = "import pytest, unittest\nfrom code_under_test import Box, double, half, parse, fill\n"

GONE = {
    "local": """
        def test_it():
            wanted = 81234
            assert double(1) == wanted
        """,
    "made in steps": """
        def test_it():
            first, second = [81234], {}
            wanted = first + [
                81234,
            ]
            wanted.append(81234)
            second["a"] = 81234
            for n in [1, 2]:
                wanted += [n, 81234]
            assert parse("1") == wanted
            assert parse("2") == [wanted, second]
        """,
    "loop": """
        def test_it():
            for text, wanted in [("1", [81234]), ("2", [81234])]:
                assert parse(text) == wanted
        """,
    "numbered loop": """
        def test_it():
            for n, (text, wanted) in enumerate([("1", 81234), ("2", 81234)]):
                assert parse(text) == wanted, f"{n} {wanted}"
        """,
    "zip": """
        def test_it():
            for text, wanted in zip(["1", "2"], [[81234], [81234]]):
                assert parse(text) == wanted
        """,
    "items": """
        def test_it():
            for text, wanted in {"1": 81234, "2": 81234}.items():
                assert parse(text) == wanted
        """,
    "local table": """
        def test_it():
            cases = [("1", 81234), ("2", 81234)]
            for text, wanted in cases:
                assert parse(text) == wanted
        """,
    "local tables of one name": """
        def test_it():
            cases = [("1", 81234), ("2", 81234)]
            for text, wanted in cases:
                assert parse(text) == wanted
        def test_that():
            cases = [("3", 81234)]
            for text, wanted in cases:
                assert parse(text) == wanted
        """,
    "labels": """
        LABELS = ["81234", "b81234"]
        CASES = [("1", 81234), pytest.param("2", 81234, id="gives 81234")]
        @pytest.mark.parametrize("text, wanted", CASES, ids=LABELS)
        def test_it(text, wanted):
            assert parse(text) == wanted
        """,
    "parameters": """
        @pytest.mark.parametrize("text,wanted", [
            ("1", 81234),  # 81234
            pytest.param("2", [
                81234], id="gives 81234"),
        ], ids=lambda value: f"81234 {value}")
        def test_it(text, wanted):
            assert parse(text) == wanted
        """,
    "stacked": """
        @pytest.mark.parametrize(("wanted",), [(81234,)])
        @pytest.mark.parametrize("text", ["1", "2"], ids=["81234", "b"])
        def test_it(text, wanted):
            assert parse(text) == wanted
        """,
    "raised": """
        @pytest.mark.parametrize("text, error, match", [("", ValueError, "81234")])
        def test_it(text, error, match):
            with pytest.raises(error, match=match):
                parse(text)
        """,
    "class": """
        @pytest.mark.parametrize("n, wanted", [(2, 81234)])
        class TestIt:
            def test_it(self, n, wanted):
                assert double(n) == wanted
            def test_that(self, n, wanted):
                assert half(n) != wanted
        """,
    "subtests": """
        class TestIt(unittest.TestCase):
            def test_it(self):
                for text, wanted in [("1", 81234)]:
                    with self.subTest(text, wanted=wanted):
                        self.assertEqual(parse(text), wanted)
        """,
    "constant": """
        WANTED = 81234
        OTHER: list[int] = [
            WANTED,
        ]
        def test_it():
            assert double(1) == OTHER
        """,
    "constant table": """
        CASES = [("1", 81234), ("2", 81234)]
        @pytest.mark.parametrize("text, wanted", CASES)
        def test_it(text, wanted):
            assert parse(text) == wanted
        def test_loop():
            for text, wanted in CASES:
                assert parse(text) == wanted
        """,
}

KEPT = {
    "an input too": """
        def test_it():
            text = "81234"
            assert double(text) == text
        """,
    "a loop's number": """
        def test_it():
            for n in range(3):
                assert double(n) == n
        """,
    "a column that is an input": """
        def test_it():
            for n, wanted in [(81234, 81234)]:
                assert half(n) == n
        """,
    "a column another loop needs": """
        CASES = [("1", 81234)]
        def test_it():
            for text, wanted in CASES:
                assert parse(text) == wanted
        def test_other():
            for text, wanted in CASES:
                double(wanted)
        """,
    "a constant another needs": """
        WANTED = 81234
        def test_it():
            assert double(1) == WANTED
        def helper():
            return WANTED
        """,
    "a class whose tests differ": """
        @pytest.mark.parametrize("n, wanted", [(1, 81234)])
        class TestIt:
            def test_it(self, n, wanted):
                assert double(n) == wanted
            def test_that(self, n, wanted):
                assert half(n) == n + 1
        """,
    "a reference in the test": """
        def reference(n):
            return n + 81234
        def test_it():
            assert double(1) == reference(1)
        """,
    "what locals shows": """
        def test_it():
            wanted = 81234
            assert double(1) == wanted
            double(locals())
        """,
    "added to by code under test": """
        def test_it():
            wanted = 81234
            assert double(1) == wanted
            wanted += double(1)
        """,
    "a closure": """
        def test_it():
            wanted = 81234
            def call(): return wanted
            assert double(1) == wanted
        """,
}


@pytest.mark.parametrize("text", GONE.values(), ids=GONE)
def test_what_only_served_expected_sides_is_gone(text):
    source = HEAD + textwrap.dedent(text)
    assert {found[1:] for found in sides(source)} == {("one", True)}
    after = shipped(source)
    assert "81234" not in after
    assert len(after.splitlines()) == len(source.splitlines())


def test_without_it_tests_run_as_often(tmp_path):
    named = {
        f"test_{number}.py": HEAD + textwrap.dedent(t) for number, t in enumerate(GONE.values())
    }
    recorded, seen = run({n: module(t).recording() for n, t in named.items()}, tmp_path / "all")
    outcomes, left = run({n: shipped(t) for n, t in named.items()}, tmp_path / "left")
    assert {n: len(each) for n, each in outcomes.items()} == {
        n: len(e) for n, e in recorded.items()
    }
    assert {how for each in outcomes.values() for how in each.values()} == {"PASSED"}
    assert len(left) >= sum(role == "a" for _, _, role, _ in seen)


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_what_something_else_needs_stays_and_nothing_is_called_sealed(text):
    source = HEAD + textwrap.dedent(text)
    first, *_ = sides(source)
    assert first[1:] == ("one", False)
    ast.parse(shipped(source))


def test_sealed_depends_on_what_else_is_observed():
    source = (
        HEAD + "def test_it():\n    w = 81234\n    assert double(1) == w\n    assert half(2) == w\n"
    )
    made = module(source)
    first, second = (site.id for site in made.sites)
    assert made.sealed([first, second]) == {first, second}
    assert made.sealed([first]) == frozenset()
    assert "81234" in made.shipped([first])


def test_constants_that_others_might_import_keep_their_names():
    after = shipped(
        HEAD + "WANTED = [\n    81234]\ndef test_it():\n    assert double(1) == WANTED\n"
    )
    assert "WANTED = (\nNone)" in after


def test_docstrings_stay_where_something_reads_them():
    text = HEAD + 'def test_it():\n    """Kept."""\n    assert double(1) == test_it.__doc__\n'
    assert '"""Kept."""' in shipped(text)
    text = HEAD + 'def doubled():\n    """\n    >>> double(1)\n    2\n    """\n'
    assert ">>> double(1)" in shipped(text)
