"""What statements say of tests as people write them is true, and is about what they test."""

import re
import textwrap

import pytest

from codegym.mutation.statements import Secrets, statements, symptoms
from codegym.mutation.trial import Trial
from codegym.types import File, Task

SOURCE = b"""
class Money:
    @classmethod
    def parse(cls, text): ...
    def __str__(self): ...
class Book:
    def find(self, word): ...
    def total(self): ...
def split(amount, parts): ...
def area(width, height): ...
"""
PATH = "tests/test_purse.py"


def seen(test, said, *, line=None, head="", frames=""):
    """The one test's statement, in the medium level: its opening and its example."""
    imports = "import pytest, toolz\nfrom purse import Book, Money, area, split\n"
    module = imports + head + textwrap.dedent(test)
    name = module.rpartition("def test_")[2].partition("(")[0]
    row = module.count("\n") if line is None else line + imports.count("\n")
    first, _, rest = said.partition("\n\n")
    marked = "\n".join(f"E   {one}" for one in first.splitlines())
    message = f"{PATH}:{row}: in test_{name}\n    ...\n{frames}{marked}\n\n{rest}\n"
    tree = {"purse.py": File(SOURCE), PATH: File(module.encode())}
    trial = Trial(example=f"{PATH}::test_{name}[a-1]", message=message)
    task = Task("purse-1", "purse", "0" * 40, patch="", fail_to_pass=(), pass_to_pass=())
    found = symptoms(tree, "python", trial)
    text = statements(task, found, Secrets.of(task, tree), 0)["medium"]
    opening, _, example = text.partition("\n\n")
    return found[0], opening, example


@pytest.mark.parametrize(
    ("test", "said", "subject", "example"),
    [
        (
            "def test_add(): assert Money(3) + Money(4) == Money(7)\n",
            "AssertionError: assert Money(cents=-1) == Money(cents=7)",
            "",
            "For example, `Money(3) + Money(4)` gives `Money(cents=-1)`, not `Money(cents=7)`.",
        ),
        (
            "def test_parse(t, c): assert Money.parse(t).cents == c\n",
            "assert 0 == 50",
            "parse",
            "For example, `Money.parse(t).cents` gives `0`, not `50`.",
        ),
        (
            "def test_parse(t, c): assert Money.parse(t) == 5\n",
            "ValueError: empty separator",
            "parse",
            "For example, `Money.parse(t)` ends in `ValueError: empty separator`.",
        ),
    ],
)
@pytest.mark.parametrize("head", ["", '@pytest.mark.parametrize("t,c", [("0.50", 50)])\n'])
def test_one_line(test, said, subject, example, head):
    found, opening, told = seen(test, said, head=head)
    assert (found.subject, told) == (subject, example)
    assert "parametrize" not in opening + found.code
    assert found.code.startswith("assert ")


def test_one_line_with_several_statements():
    test = "def test_a(): x = Book(); assert area(2, 3) == 6; area(1, 1)\n"
    assert seen(test, "assert 5 == 6")[2] == "For example, `area(2, 3)` gives `5`, not `6`."
    assert seen(test, "KeyError: 1")[2] == "The error is `KeyError: 1`."
    test = 'def test_a():\n    with pytest.raises(ValueError): Money.parse("1.234")\n'
    assert seen(test, "Failed: DID NOT RAISE <class 'ValueError'>")[0].subject == "parse"
    assert seen(test, "KeyError: 1")[0].subject == ""


def test_the_subject_is_not_of_the_language_nor_of_the_tests():
    def subject(line, said="assert 0 == 1", head=""):
        test = f"def test_a(book, check):\n    {line}\n"
        return seen(test, said, head=head)[0].subject

    assert subject('assert len(book.find("coffee")) == 1') == "find"
    assert subject("assert sorted(set(split(Money(4), 2))) == [1]") == "split"
    assert subject('assert [one.what for one in book.find("x")] == ["x"]') == "find"
    assert subject("result = list(split(1, 2))", "KeyError: 1") == "split"
    assert subject("assert toolz.raises(E, lambda: area(1, 2))", "assert False") == "area"
    assert subject('assert "".join(split("a", 2)) == "a"') == "split"
    assert subject("assert str(Money(3)) == '0.03'") == ""
    assert subject("assert -Money(3) == Money(-3)") == ""
    assert subject("assert repr(book) == '1'") == ""
    assert subject("assert repr(split(1, 2)) == '1'") == "split"
    assert subject("assert str(Money.parse(t)) == '1'") == ""  # it may be shown wrongly
    assert subject("assert check(1) == 1") == ""
    assert subject("assert area(1) == 1", head="def area(x): return x\n") == "area"  # imported too
    assert subject("assert helper(1) == 1", head="def helper(x): return x\n") == ""
    assert subject("assert area(1, 2) == split(1, 2)") == ""
    assert subject('raise AssertionError(f"{area(1, 2)}")', "AssertionError: 3") == ""


def test_an_example_is_what_the_test_says_and_not_what_is_plain():
    where = "assert 0 == 1\n +  where 0 = len([])\n +    where [] = find('coffee')"
    _, opening, example = seen(
        'def test_a(book):\n    assert len(book.find("coffee")) == 1\n', where
    )
    assert example == 'For example, `len(book.find("coffee"))` gives `0`, not `1`.'
    assert "`find`" in opening
    where = "assert 9 == 6\n +  where 9 = area(4, 5)"
    test = "def test_a(x, y):\n    assert area(x, y) == 6\n"
    assert seen(test, where)[2] == "For example, `area(4, 5)` gives `9`, not `6`."
    where = "assert 9 == 6\n +  where 9 = area(<function f at 0x7f0000000000>, 5)"
    assert seen(test, where)[2] == "For example, `area(x, y)` gives `9`, not `6`."
    where = "assert 9 == 6\n +  where 9 = total()\n +    where total = <Book object>.total"
    test = "def test_a(book):\n    assert book.total() == 6\n"
    assert seen(test, where)[2] == "For example, `book.total()` gives `9`, not `6`."
    where = "assert 'a' == 'b'\n +  where 'a' = Book(1, 2).name"
    test = "def test_a(book):\n    assert book.name == 'b'\n"
    assert seen(test, where)[2] == "For example, `book.name` is `'a'`, not `'b'`."
    said = "AssertionError: missing: area"
    _, opening, example = seen("def test_a():\n    raise AssertionError(area(1, 2))\n", said)
    assert example == f"What I see: {said}"
    assert "AssertionError" not in opening


def test_which_side_is_wrong_is_said_only_where_it_is_plain():
    def example(condition, said="assert 1 == 2", before="pass"):
        test = f"def test_a(book, x):\n    {before}\n    assert {condition}\n"
        return seen(test, said)[2].removeprefix("For example, ")

    assert example("Money(7) == split(1, 2)") == "`split(1, 2)` gives `2`, not `1`."
    assert example("7 == book.total()") == "`book.total()` gives `2`, not `1`."
    unclear = "does not hold any more: there are `1` and `2`."
    for condition in ("area(1, 2) == split(1, 2)", "x == area(1, 2)", "book.name == x"):
        assert example(condition) == f"`{condition}` {unclear}"
    assert example("x == 2", before="x = area(1, 2)") == "`area(1, 2)` gives `1`, not `2`."
    assert "`area(1, 2)`" in example("x == 2", before="x = area(1, 2)\n    assert x != 3")
    for changed in (
        "x = []\n    x.append(area(1, 2))",
        "x = split(1, 2)\n    assert x.pop() == 1",
        "for x in split(1, 2): pass",
    ):
        assert example("x == 2", before=changed) == "`x` is `1`, not `2`."
    assert example("area(1, 2) is None", "assert 1 is None") == (
        "`area(1, 2) is None` does not hold any more."
    )
    for condition, said in (
        ("area(1, 2) or x == 2", "assert (0 or 1 == 2)"),
        ("not area(1, 2) == 2", "assert not 2 == 2"),
        ("x == area(1, 2) == book", "assert 1 == 2"),
    ):
        assert example(condition, said) == f"`{condition}` does not hold any more."
    test = "def test_a():\n    assert area(1, 2) == \\\n        2\n"
    assert seen(test, "assert 1 == 2", line=2)[2].endswith("`area(1, 2)` gives `1`, not `2`.")
    assert example("area(1, 2) == pytest.approx(x)", "assert 1 == 2 ± 1e-06") == (
        "`area(1, 2)` gives `1`, not `2 ± 1e-06`."
    )


def test_what_a_helper_of_the_tests_compares_is_not_what_is_called():
    test = "def test_a():\n    check(area(1, 2))\n"
    frames = f"{PATH}:90: in check\n    assert True is False\n"
    found, _, example = seen(test, "assert 1 == 2", frames=frames)
    assert (found.call, found.subject) == ("", "")
    assert example == "What I see: assert 1 == 2"
    same = "assert <p.C object at 0x7fdd46737c10> == <p.C object at 0x7fdd46737d50>"
    assert seen(test, same, frames=frames)[2] == ""


def test_an_error_is_not_blamed_on_one_of_two():
    def example(condition, **more):
        return seen(f"def test_a(x):\n    assert {condition}\n", "KeyError: 1", **more)[2]

    assert "`area(1, 2) == Money(3)` ends in" in example("area(1, 2) == Money(3)")
    assert "`area(1, 2)` ends in" in example("area(1, 2) == x")
    frames = "purse.py:4: in __eq__\n    ...\n"
    assert "`area(1, 2) == x` ends in" in example("area(1, 2) == x", frames=frames)
    assert seen("def test_a():\n    for x in y:\n        pass\n", "KeyError: 1", line=2)[2] == (
        "The error is `KeyError: 1`."
    )
    test = "def test_a(book):\n    book['a'] = area(1, 2)\n"
    assert "`book['a'] = area(1, 2)` ends in" in seen(test, "KeyError: 1")[2]


@pytest.mark.parametrize(
    "between",
    [
        "During handling of the above exception, another exception occurred:",
        "The above exception was the direct cause of the following exception:",
    ],
)
def test_of_errors_that_follow_each_other_the_last_comes_out(between):
    test = "def test_a():\n    def f(a):\n        return [1].index(a)\n    area(f, 3)\n"
    chained = f"KeyError: 1\n\n{between}\n{PATH}:6: in test_a\n    ...\nE   TypeError: no"
    found, _, example = seen(test, chained, line=3)
    assert found.said == ("TypeError: no",)
    assert (found.subject, example) == (
        "area",
        "For example, `area(f, 3)` ends in `TypeError: no`.",
    )


@pytest.mark.parametrize(
    "said",
    [
        "assert [Money(cents=...oney(cents=3)] == [Money(cents=...oney(cents=3)]",
        "assert <tests.test_p....x7fdd46737c10> == <tests.test_p....x7fdd46737d50>",
        "assert <test_p.C object at 0x7fdd46737c10> == <test_p.C object at 0x7fdd46737d50>",
        "assert <test_p.C object at 0x7f... == <test_p.C object at 0x7fd...",
        "assert (3 + 4) == 8",
        "assert 'a == b' == 'c'",
    ],
)
def test_values_that_say_nothing_are_not_told(said):
    found, opening, example = seen("def test_a():\n    assert split(1, 2) == 8\n", said)
    assert (found.got, found.expected) == ("", "")
    assert "`split`" in opening
    assert example == "For example, `split(1, 2) == 8` does not hold any more."
    assert not re.search(r"7fd|p0x|0x\.{4}", "".join(found.said))


def test_a_text_is_quoted_as_it_stands_or_not_at_all():
    def call(code):
        return seen(f"def test_a():\n    assert {code} == 8\n", "assert 7 == 8", line=2)[0].call

    assert call('area("( a  b )")') == 'area("( a  b )")'
    assert call("area(\n        1,\n        2,\n    )") == "area(1, 2)"
    assert call("area(1, \\\n        2)") == "area(1, 2)"
    assert call("area(  # wide\n        1)") == ""
    assert call('area("""a\n  b""")') == ""


def test_an_error_whose_name_is_secret_is_no_example():
    test = "def test_a():\n    area(1, 2)\n"
    module = f"from purse import area\n{test}"
    tree = {"purse.py": File(SOURCE), PATH: File(module.encode())}
    message = f"{PATH}:3: in test_a\n    area(1, 2)\nE   ValueError: no 'KeyError'\n"
    found = symptoms(tree, "python", Trial(example=f"{PATH}::test_a", message=message))
    task = Task("purse-1", "purse", "0" * 40, patch="", fail_to_pass=(), pass_to_pass=())
    for names, said in (({"ValueError"}, ""), ({"KeyError", "no"}, "ends in `ValueError`")):
        secrets = Secrets(frozenset(names), frozenset(), (), module)
        text = statements(task, found, secrets, 0)["medium"]
        assert "…" not in text
        assert said in text
        assert text.count("For example") == bool(said)
