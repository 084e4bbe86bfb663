"""Which edits a compiler knows to change nothing."""

import pytest

from codegym.mutation.equivalence import same_code


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
