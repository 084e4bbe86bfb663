"""Searches on text that cannot be trusted."""

import pytest

from codegym.grading.observe.searching import found


@pytest.mark.parametrize(
    ("pattern", "text", "yes"),
    [
        ("b", "abc", True),
        ("b+", "abbc", True),
        ("b{2}", "abc", False),
        (b"\xff+", b"a\xff", True),
        (b"a", "a", False),
        ("a", b"a", False),
        ("(", "(", False),
        ("[[a]]", "a]", False),  # whose syntax is warned of
        ("(*", "(", False),
        ("é+", "éé", True),
        ("\ud800+", "\ud800", True),
        ("a", "a" * 100_000, False),
        (r"(?P<x>a)(?P=x)*\Z", "aa", True),
    ],
)
def test_it_finds_as_re_does_or_not_at_all(pattern, text, yes):
    assert found(pattern, 0, text) is yes


def test_flags_go_along():
    assert found("A+", 2, "aa")
    assert not found("A+", 0, "aa")
    assert found(b"A+", 2, b"aa")
    assert not found(b"A+", 0, b"aa")


FOR_EVER = ["^(a|a)*$", "^(a+)+$", "^(.*)*x$", "(?:a?){60}a{60}$", "a?" * 60 + "a" * 60]
FOR_EVER += ["(a|aa)" * 40 + "x"]


@pytest.mark.parametrize("pattern", FOR_EVER, ids=range(len(FOR_EVER)))
def test_what_would_take_for_ever_is_given_up(pattern):
    assert not found(pattern, 0, "a" * 59 + "!")
