"""Pairs and linked faults: the promises hold for what is proposed and let through."""

from itertools import islice

import pytest

from codegym.errors import NotFoundError, UsageError
from codegym.mutation import is_composite, load_composites
from codegym.mutation.composites.calls import Calls
from codegym.mutation.composites.joining import apart, each_alone, without_each
from codegym.syntax import parse


async def let_through(composite, ground, project, most=70):
    """What becomes a task of a composite's first proposals, and why others do not."""
    taken, fallen = [], []
    for one in islice(composite.propose(ground), most):
        reason, trial = await project.verdict(composite, one)
        (fallen if reason else taken).append((one, reason or trial))
    return taken, fallen


async def test_a_pair_is_noticed_by_fewer_tests_than_either_edit(project):
    ground = await project.ground()
    (pair,) = load_composites(["pair"], ["FixTests"])
    taken, fallen = await let_through(pair, ground, project)
    assert taken
    assert {reason for _, reason in fallen} <= {"not_harder", "survived", "all_tests_fail"}
    for one, trial in taken:
        assert (one.order, len(one.functions), len(one.spots)) == (2, 1, 2)
        for part in each_alone(one):
            single = await project.attempt(part)
            assert set(trial.failing) < set(single.failing)


async def test_each_of_linked_faults_is_needed(project):
    ground = await project.ground(most=4)
    (linked,) = load_composites(["composite.linked"], ["FixTests"])
    taken, fallen = await let_through(linked, ground, project)
    assert {one.order for one, _ in taken} == {2, 3, 4}
    assert {len(one.files) for one, _ in taken} == {1, 2}
    assert "not_needed" in {reason for _, reason in fallen}
    for one, trial in taken:
        assert len(one.functions) == one.order == len(one.spots)
        linking = [
            other in ground.calls.near[place] for place in one.functions for other in one.functions
        ]
        assert any(linking)
        for rest in without_each(one):
            left = set((await project.attempt(rest)).failing)
            assert left
            assert set(trial.failing) - left


@pytest.mark.parametrize("name", ["pair", "linked"])
async def test_the_same_ground_gives_the_same(project, name):
    ground, other = await project.ground(seed=1), await project.ground(seed=2)
    (one,) = load_composites([name], ["FixTests"])
    first, again, else_ = (
        [each.digest for each in one.propose(each)] for each in (ground, ground, other)
    )
    assert first == again
    assert len(first) == len(set(first))
    assert first != else_


async def test_edits_that_touch_are_not_joined(project):
    ground = await project.ground()
    singles = [one.candidate for one in ground.singles]
    assert not apart([singles[0], singles[0]])
    for one in load_composites(["pair", "linked"], ["FixTests"]):
        for each in islice(one.propose(ground), 60):
            assert apart(list(each_alone(each)))


CALLERS = {
    "python": b"def a():\n    b(1)\nclass C:\n    def b(self):\n        d.c()\ndef c(): pass\n",
    "javascript": b"function a() { b(1) }\nclass C { b() { this.d.c() } }\nconst c = () => 1\n",
    "typescript": b"function a() { b(1) }\nclass C { b(): any { this.c() } }\nconst c = () => 1\n",
    "go": b"package p\nfunc a() { b(1) }\nfunc b(x int) { p.c() }\nfunc c() {}\n",
    "rust": b"fn a() { b(1) }\nimpl C { fn b() { self.d.c() } }\nfn c() {}\n",
    "java": b"class C { void a() { b(1); } void b(int x) { this.c(); } void c() {} }\n",
    "c": b"void a() { b(1); }\nvoid b(int x) { p->c(); }\nvoid c() {}\n",
}


@pytest.mark.parametrize("language", sorted(CALLERS))
def test_who_calls_whom(language):
    parsed = parse(CALLERS[language], language)
    assert parsed.is_clean
    calls = Calls({"f": parsed})
    named = {name.rpartition(".")[2]: key for key in calls.functions for name in (key[1],)}
    assert set(named) == {"a", "b", "c"}
    assert calls.edges[named["a"]] == {named["b"]}
    assert calls.edges[named["b"]] == {named["c"]}
    assert calls.near[named["b"]] == {named["a"], named["c"]}
    assert calls.reached(named["a"]) == set(named.values())


def test_names():
    assert is_composite("pair")
    assert is_composite("composite.linked")
    assert not is_composite("comparison")
    with pytest.raises(NotFoundError, match=r"composite\.pair"):
        load_composites(["composite.pear"], ["FixTests"])
    with pytest.raises(UsageError, match="--kind"):
        load_composites(["pair"], ["ImplementFeature"])
