"""Telling a test that was added from a test that was weakened."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.grading.additions import only_adds

OLD = b"""import pkg


def test_one():
    value = pkg.f()
    assert value == 1


class TestTwo:
    LIMIT = 3

    def test_two(self):
        assert pkg.g() == 2
"""
NEW_TEST = b"""

def test_three():
    with pkg.opened() as handle:
        assert handle.x == 3
"""


@pytest.mark.parametrize(
    "new",
    [
        OLD,
        OLD + NEW_TEST,
        b"import os\n" + OLD,
        OLD.replace(b"\n\nclass", NEW_TEST + b"\n\nclass"),
        OLD + b"\n    def test_more(self):\n        assert pkg.h() == 4\n",
    ],
)
def test_adding_is_adding(new):
    assert only_adds(OLD, new)


@pytest.mark.parametrize(
    "new",
    [
        b"",
        OLD.replace(b"== 1", b"== 0"),
        OLD.replace(b"    assert value == 1\n", b""),
        OLD.replace(b"    value =", b"    return\n    value ="),
        OLD.replace(b"def test_one", b"@pytest.mark.skip\ndef test_one"),
        OLD + b"\n\ndef test_one():\n    pass\n",
        OLD + b"\n\ntest_one = None\n",
        OLD + b"\n\ndel test_one\n",
        OLD + b"\npytestmark = []\n",
        OLD + b"\nTestTwo.__test__ = False\n",
        OLD + b"\nimport os\nos._exit(0)\n",
        OLD + b"\nimport sys; sys.exit(0)\n",
        OLD + b"\nglobals().clear()\n",
        OLD + b"\npytest_plugins = ['evil']\n",
    ],
)
def test_weakening_is_not_adding(new):
    assert not only_adds(OLD, new)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_it_never_raises_and_a_file_only_adds_to_itself(old, new):
    assert only_adds(old, old)
    if only_adds(old, new):
        assert len(new.splitlines()) >= len(old.splitlines())
