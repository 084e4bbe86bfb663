"""What has a type of its own: compared only where the original's has it, and by its content."""

import collections
import dataclasses
import enum
import re
from unittest import mock

import numpy as np
import pytest
from seeing import AlwaysEqual, agrees, see

from codegym.grading.observe.comparing import holds


class Sly(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Text(str):
    __slots__ = ()


class Listed(tuple):
    __slots__ = ()
    __class__ = list  # type: ignore[assignment]

    def __eq__(self, other):
        return True

    __hash__ = None  # type: ignore[assignment]


@dataclasses.dataclass
class Data:
    x: object


class Level(enum.IntEnum):
    ONE = 1


class Other(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize("op", ["==", "<=", ">=", "in", "almost", "count_equal", "is"])
@pytest.mark.parametrize(
    ("fake", "gold"),
    [
        (Sly(5), 5),
        (Text("x"), "x"),
        (Listed((1, 2)), [1, 2]),
        (AlwaysEqual(), 5),
        (AlwaysEqual(), [1]),
        ([Sly(5)], [5]),
        ([("k", Sly(5))], [("k", 5)]),
        ({Text("k"): 5}, {"k": 5}),
        ({Text("k")}, {"k"}),
        ({(Text("k"),)}, {("k",)}),
        ({(Text("k"),): 1}, {("k",): 1}),
        ([AlwaysEqual()], [5]),
        (Data(Sly(1)), Data(1)),
        (mock.ANY, 5),
        ([mock.ANY], [5]),
        (pytest.approx(5), 5),
        (Level.ONE, 1),
        (Level.ONE, Other.ONE),
        (np.float64(1.5), 1.5),
        (collections.OrderedDict(a=1), {"a": 1}),
    ],
)
def test_nothing_that_pretends_holds_where_gold_had_the_real_thing(op, fake, gold):
    expected = [gold] if op == "in" else gold
    assert not agrees(op, fake, expected, gold=gold)


@pytest.mark.parametrize(
    ("actual", "expected", "gold"),
    [
        (Text("x"), "x", Text("x")),
        (Sly(5), 5, Sly(5)),
        ({"k": [Sly(5)]}, {"k": [5.0]}, {"k": [Sly(5)]}),
        (Data([1]), Data([1.0]), Data([1])),
        (Level.ONE, 1, Level.ONE),
        (Level.ONE, Level.ONE, Level.ONE),
        (np.float64(1.5), 1.5, np.float64(2.5)),
        (np.array([1, 2]), np.array([1, 2]), np.array([1, 2])),
        (5, mock.ANY, 5),
        ([5, "x"], [mock.ANY, "x"], [1, "x"]),
        ({Text("k"): 5}, {"k": 5}, {Text("k"): 5}),
        (collections.Counter("ab"), {"a": 1, "b": 1}, collections.Counter("ab")),
        (np.float64(1.0), pytest.approx(1.0), np.float64(1.0)),
        ([np.float64(1.0)], pytest.approx([1.0]), [np.float64(1.0)]),
    ],
)
def test_types_that_gold_has_are_compared_by_content(actual, expected, gold):
    assert agrees("==", actual, expected, gold=gold)


def test_what_a_fake_says_of_its_content_still_has_to_be_right():
    assert not agrees("==", Sly(4), 5, gold=Sly(5))
    assert not agrees("==", Data(1), Data(2), gold=Data(2))
    assert not agrees("==", Level.ONE, 2, gold=Level.ONE)
    assert not agrees("==", Listed((1,)), Listed((2,)), gold=Listed((2,)))


def test_what_is_opaque_equals_nothing_and_is_no_different_from_anything():
    thing = object()
    for op in ("==", "!=", "<", "in", "not in", "contains", "not contains", "count_equal"):
        assert not agrees(op, thing, thing)
        assert not agrees(op, [thing], [thing])


def test_truth_of_what_has_no_say_in_it():
    assert holds("true", (), see(re.match("a", "a")), see(None), see(re.match("a", "a")))
    assert not holds("true", (), see(object()), see(None), see(5))
    assert not holds("false", (), see(object()), see(None), see(object()))


def test_values_of_a_dict_that_pretend():
    assert not agrees("==", {"k": Sly(5)}, {"k": 5}, gold={"k": 5})
