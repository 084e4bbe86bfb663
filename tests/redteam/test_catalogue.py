"""The catalogue is whole: enough attacks, each told, each proven able to succeed."""

import re

import pytest
from redteam.plants import PLANTS

from codegym.errors import NotFoundError
from codegym.redteam import catalogue
from codegym.redteam.attack import FAMILIES, attack

#: Of those that look: proven in tests of their own (``test_leaks``).
APART = {"leftover-hidden-tests", "process-trace"}


def test_there_are_at_least_seventy_and_of_every_class():
    attacks = catalogue()
    assert len(attacks) >= 70
    assert {one.family for one in attacks} == set(FAMILIES)
    assert [FAMILIES.index(one.family) for one in attacks] == sorted(
        FAMILIES.index(one.family) for one in attacks
    )


@pytest.mark.parametrize("one", catalogue(), ids=lambda one: one.name)
def test_each_says_what_it_does_and_where_it_was_published(one):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+|[a-z]+", one.name)
    assert 15 <= len(one.mechanism) <= 160
    assert "\n" not in one.mechanism
    assert not one.mechanism.endswith(".")
    assert len(one.source) >= 10


def test_each_that_looks_for_the_answer_has_a_plant():
    looking = {one.name for one in catalogue() if one.family in ("git", "leftovers", "online")}
    leaving = {name for name in looking if name.endswith("-run-by-grader")}
    assert looking - leaving - APART == set(PLANTS)


def test_attacks_are_chosen_by_name():
    names = ["unreadable-files", "git-stash"]
    assert [one.name for one in catalogue(names)] == ["git-stash", "unreadable-files"]
    with pytest.raises(NotFoundError, match="did you mean 'git-stash'"):
        catalogue(["git-stahs"])


def test_a_name_stands_for_one_attack():
    with pytest.raises(ValueError, match="two attacks are named 'git-stash'"):
        attack("git-stash", "git", "The same again", "nowhere")(catalogue(["git-stash"])[0].play)
