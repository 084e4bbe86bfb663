"""What tests saw is held against the recording, occurrence by occurrence."""

import pytest

from codegym.grading.observe.agreement import agree, sibling_agrees, steady
from codegym.grading.observe.recording import Pair, pairs
from codegym.grading.observe.sites import Site
from codegym.types import Sighting, Value


def number(value):
    return Value("int", leaf=value) if isinstance(value, int) else Value("float", leaf=value.hex())


def site(number_, op="==", sides="one", form="compare"):
    return Site(number_, "test_it", 3, "f(x) == 5", form, op, sides=sides)


SITES = {1: site(1), 2: site(2, sides="both"), 3: site(3, op="<"), 4: site(4, "true", form="truth")}


def saw(*found):
    return tuple(
        Pair(one[0], number(one[1]), number(one[2]) if len(one) > 2 else None) for one in found
    )


GOLD = saw((1, 5, 5), (2, 7, 7), (1, 6, 6))


def test_the_same_again_holds():
    found = agree(GOLD, saw((1, 5), (2, 7, 7), (1, 6)), SITES)
    assert (found.holds, found.differs) == (True, False)


@pytest.mark.parametrize(
    "seen",
    [
        (),
        ((1, 5), (2, 7, 7)),
        ((1, 5), (2, 7, 7), (1, 6), (1, 6)),
        ((1, 6), (2, 7, 7), (1, 5)),
        ((1, 5), (2, 7, 7), (1, 7)),
        ((1, 5), (2, 7, 8), (1, 6)),
        ((1, 5), (2, 7), (1, 6)),
    ],
    ids=["nothing", "less", "more", "another order", "another value", "unequal", "one side only"],
)
def test_what_is_not_the_same_does_not(seen):
    assert not agree(GOLD, saw(*seen), SITES).holds


def test_the_first_that_fails_is_told():
    found = agree(GOLD, saw((1, 5), (2, 7, 7), (1, 9)), SITES)
    assert (found.site, found.value) == (SITES[1], number(9))
    missing = agree(GOLD, saw((1, 5)), SITES)
    assert (missing.site, missing.value) == (SITES[1], None)


def test_sides_that_agree_with_each_other_and_not_with_gold_are_noted():
    found = agree(GOLD, saw((1, 5), (2, 8, 8), (1, 6)), SITES)
    assert (found.holds, found.differs) == (True, True)
    more = agree(GOLD, saw((1, 5), (2, 7, 7), (2, 7, 7), (1, 6)), SITES)
    assert (more.holds, more.differs) == (True, True)


@pytest.mark.parametrize("op", ["regex", "not regex"])
def test_a_pattern_of_the_sandboxs_own_is_not_searched_for(op):
    """Else it would choose how long the gym is at it, and how often."""
    sites = {1: site(1, op, sides="both")}
    text, evil = (Value("str", leaf=one) for one in ("a" * 60, "a?" * 60 + "a" * 60))
    gold = [Pair(1, text, Value("str", leaf="a" if op == "regex" else "b"))]
    assert not agree(gold, gold, sites).differs
    found = agree(gold, [*gold, *[Pair(1, text, evil)] * 1000], sites)
    assert (found.holds, found.differs) == (True, True)
    assert not agree(gold, [Pair(1, text, None)], sites).holds


def test_a_site_is_observed_where_it_holds_and_means_the_same_every_time():
    assert steady(SITES[1], [saw((1, 5, 5)), saw((1, 5, 5))])
    assert not steady(SITES[1], [saw((1, 5, 5)), saw((1, 6, 6))])  # means another thing each time
    assert not steady(SITES[1], [saw((1, 5, 5)), saw((1, 5, 5), (1, 5, 5))])
    assert not steady(SITES[1], [saw((1, 5, 6)), saw((1, 5, 6))])
    assert not steady(SITES[1], [saw((1, 5)), saw((1, 5))])
    assert steady(SITES[2], [saw((2, 5, 5)), saw((2, 5, 5))])
    assert not steady(SITES[2], [saw((2, 5, 5)), saw((2, 6, 6))])  # say, an address
    assert steady(SITES[3], [saw((3, 1, 9)), saw((3, 2, 9))])
    unknown = Pair(1, Value("opaque", "tinycalc.Thing", parts=(Value("tuple"), Value("none"))))
    assert not steady(SITES[1], [(unknown,), (unknown,)])


def test_siblings_hold_to_what_their_assertion_asks():
    assert sibling_agrees(saw((1, 5)), saw((1, 5)), SITES)
    assert not sibling_agrees(saw((1, 5)), saw((1, 6)), SITES)
    assert not sibling_agrees(saw((1, 5)), saw((1, 5), (1, 5)), SITES)
    assert not sibling_agrees(saw((1, 5)), (), SITES)
    assert sibling_agrees(saw((1, 0.1 + 0.2)), saw((1, 0.3)), SITES)  # a sum in another order
    assert not sibling_agrees(saw((1, 0.3)), saw((1, 0.31)), SITES)
    assert sibling_agrees(saw((3, 5)), saw((3, 6)), SITES)  # `<`: which number is left open
    assert sibling_agrees(saw((4, 5)), saw((4, 6)), SITES)
    assert not sibling_agrees(saw((4, 5)), saw((4, 0)), SITES)


def error(name, *bases):
    names = [Value("str", leaf=f"builtins.{one}") for one in (name, *bases)]
    text = Value("str", leaf="said")
    parts = (text, Value("tuple", parts=tuple(names)), Value("tuple", parts=(text,)))
    return Value("error", f"builtins.{name}", parts=parts)


def test_siblings_take_any_error_that_their_test_takes():
    sites = {5: site(5, "raises", form="raises")}
    index, key = error("IndexError", "LookupError"), error("KeyError", "LookupError")
    other = error("ValueError", "Exception")
    pattern = Value("str", leaf="another text")
    meant = Value("tuple", parts=(Value("class", "builtins.LookupError"), pattern))
    open_, exact = Pair(5, index, meant), Pair(5, index)
    assert [sibling_agrees([open_], [Pair(5, one)], sites) for one in (index, key, other)] == [
        *(True, True, False)
    ]
    assert [sibling_agrees([exact], [Pair(5, one)], sites) for one in (index, key, other)] == [
        *(True, False, False)
    ]
    assert not sibling_agrees([open_], [Pair(5, Value("none"))], sites)


def test_sides_are_paired_by_site_and_foreign_sites_left_out():
    seen = (
        Sighting(1, "a", number(1)),
        Sighting(2, "a", number(2)),
        Sighting(9, "a", number(9)),
        Sighting(2, "e", number(3)),
        Sighting(1, "e", number(4)),
        Sighting(1, "e", number(5)),
        Sighting(1, "a", number(6)),
    )
    assert pairs(seen, SITES) == saw((1, 1, 4), (2, 2, 3), (1, 6, 5))


def test_the_side_that_is_written_first_comes_first():
    seen = [
        ("e", 1),
        ("a", 1),
        ("e", 2),
        ("e", 3),
        ("a", 3),
        ("a", 2),
        ("e", 7),
        ("e", 4),
        ("a", 4),
    ]
    told = [Sighting(1, role, number(value)) for role, value in seen]
    assert pairs(told, SITES) == saw((1, 1, 1), (1, 3, 3), (1, 2, 2), (1, 4, 4))
