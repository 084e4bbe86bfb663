"""Which edits a compiler knows to change nothing."""

import pytest

from codegym.mutation.equivalence import compiled, same_code
from codegym.syntax import Edit, parse

SOURCE = b"""\
from __future__ import annotations


class Outer:
    class Inner:
        @property
        def value(self) -> int:
            return self.__x + 1


if True:
    def other(a):
        return [a + 1 for _ in range(2)]
"""


def edited(old, new, source=SOURCE):
    """What is said of one text in another's place."""
    start = source.index(old)
    return compiled(parse(source, "python"), [Edit(start, start + len(old), new)])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a = 1\n", b"\n\n# why\na  =  1\n"),
        (b"def f():\n    return (1)\n", b"def f(): return 1\n"),
        (b"def f():\n    return\n", b"def f():\n    return None\n"),
        (b"x = 0x10\n", b"x = 16\n"),
        (b"assert not a\n", b"assert(not(a))\n"),
    ],
)
def test_the_same(old, new):
    assert same_code(old, new) is True


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a = 1\n", b"a = True\n"),
        (b"a = 1\n", b"a = 1.0\n"),
        (b"a = 0.0\n", b"a = -0.0\n"),
        (b"a = (1,)\n", b"a = (True,)\n"),
        (b"b in {1}\n", b"b in {True}\n"),
        (b"def f(a): return 1\n", b"def f(a):\n    def g(): return 2\n    return 1\n"),
        (b"def f(a, b): pass\n", b"def f(a, *, b): pass\n"),
        (b"try:\n    f()\nexcept A:\n    pass\n", b"try:\n    f()\nexcept B:\n    pass\n"),
        (b"def f():\n    return 1\n", b"def f():\n    yield 1\n"),
    ],
)
def test_not_the_same(old, new):
    assert same_code(old, new) is False


def test_what_does_not_compile():
    assert same_code(b"a = 1\n", b"return 1\n") is None
    assert same_code(b"a = 1\n", b"a = 1\x00\n") is None
    assert same_code(b"a = 1\n", b"(" * 5000 + b"\n") is None


def test_a_source_that_this_python_does_not_know():
    assert same_code(b"print 'a'\n", b"print 'b'\n") is False


def test_nothing_is_run_and_nothing_is_said(recwarn):
    assert same_code(b"1 is 1\nraise SystemExit\n", b"'\\d' is 1\n") is False
    assert not recwarn.list


def test_only_the_function_around_an_edit_is_compiled():
    broken = SOURCE + b"\n\nreturn 1\n"  # this file as a whole does not compile
    assert edited(b"self.__x + 1", b"self.__x + 2", broken).same is False
    assert edited(b"self.__x + 1", b"(self.__x + 1)", broken).same is True
    assert edited(b"return [", b"break; return [", broken).same is None


def test_edits_that_come_to_the_same_code_are_told_by_their_digest():
    once = edited(b"a + 1", b"a + 2")
    assert once.digest == edited(b"[a + 1", b"[(a) + (2)").digest
    assert once.digest != edited(b"a + 1", b"a + 3").digest
    assert once.digest != edited(b"self.__x + 1", b"self.__x + 2").digest
    assert edited(b"True", b"False").digest
