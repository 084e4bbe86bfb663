"""What is written of values, hostile ones included, in the process that made them."""

import array
import builtins
import collections
import dataclasses
import datetime
import enum
import json
import re
import types
import zoneinfo
from typing import ClassVar, Generic, TypeVar
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from seeing import AlwaysEqual, alike, encode, ran, rebuild, see, trap, values

from codegym.grading.observe.values import known
from codegym.types import Value

MAX_CHARS = 66_000
T = TypeVar("T")


@given(values)
@settings(deadline=None)
def test_a_value_comes_back_as_it_was(value):
    assert alike(rebuild(see(value)), value)


@pytest.mark.parametrize("value", [0.0, -0.0, float("inf"), float("-inf"), 5e-324])
def test_floats_are_exact(value):
    assert alike(rebuild(see(value)), value)


def test_nan_is_one_value_whatever_its_payload():
    payload = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0].item()
    assert see(payload) == see(float("nan")) == Value("float", leaf="nan")


# --- what has a form of its own

Point = collections.namedtuple("Point", "x y")


class Bent(Point):
    __slots__ = ()

    def __iter__(self):
        return iter((9, 9))


@dataclasses.dataclass
class Data:
    x: int
    kept: list = dataclasses.field(default_factory=list)
    ignored: int = dataclasses.field(default=0, compare=False)
    shared: ClassVar[int] = 5


@dataclasses.dataclass(slots=True)
class Slotted:
    x: int


@dataclasses.dataclass
class Raising:
    x: int = 0


Raising.x = property(trap("x"), trap("x"))  # type: ignore[assignment]


class Colour(enum.Enum):
    RED = 1
    ODD = AlwaysEqual
    LIST = (1,)


class Number(enum.IntEnum):
    ONE = 1


class FailingError(Exception):
    def __str__(self):
        raise SystemExit


def ints(*numbers):
    return tuple(Value("int", leaf=number) for number in numbers)


def test_named_tuples_are_read_as_tuples():
    assert see(Point(1, 2)).parts == see(Bent(1, 2)).parts == (Value("tuple", parts=ints(1, 2)),)


def test_dataclasses_are_the_fields_that_are_compared():
    name, text = f"{__name__}.Data", Value("str", leaf="x")
    parts = (text, *ints(1), Value("str", leaf="kept"), Value("list"))
    assert see(Data(1, ignored=7)).parts[:4] == parts
    assert see(Data(1, ignored=7)) == see(Data(1))
    assert see(Data(1)).name == name
    assert see(Slotted(3)).parts == (text, *ints(3))
    assert not known(see(object.__new__(Raising)))
    unset = Slotted(3)
    del unset.x
    assert not known(see(unset))


def test_members_of_enumerations():
    assert see(Colour.RED).parts == (Value("str", leaf="RED"), *ints(1), Value("none"))
    assert see(Colour.LIST).parts[1] == Value("tuple", parts=ints(1))
    assert see(Number.ONE).parts[2:] == ints(1)
    assert see(enum.Flag("F", "A B")(3)).kind == "enum"


def test_exceptions():
    found = see(KeyError("k"))
    assert found.parts[0] == Value("str", leaf="'k'")
    assert Value("str", leaf="builtins.LookupError") in found.parts[1].parts
    assert see(FailingError("x")).parts[0] == Value("none")
    assert see(ValueError(AlwaysEqual())).parts[0] == Value("none")
    assert json.loads(encode(FailingError("x"), "said"))[2] == "said"


def test_objects_of_attrs():
    class Attribute:  # as attrs has them, without attrs
        __slots__ = ("eq", "name")

        def __init__(self, name, eq):
            self.name, self.eq = name, eq

    class Thing:
        __attrs_attrs__ = (Attribute("a", True), Attribute("b", False))

        def __init__(self):
            self.a, self.b = 1, 2

    assert see(Thing()).parts == (Value("str", leaf="a"), *ints(1))


def test_numpy():
    assert see(np.array([[1, 2]])).parts[2] == see([[1, 2]])
    assert see(np.array([None, AlwaysEqual()], object)).parts[2].parts[1].kind == "opaque"
    assert see(np.float64(1.5)) == Value("sub", "numpy.float64", parts=(see(1.5),))
    assert see(np.int8(3)) == Value("sub", "numpy.int8", parts=ints(3))
    assert see(np.array(5)).parts[2] == see(5)
    assert see(np.datetime64("2020-01-01")).parts == (see(datetime.date(2020, 1, 1)),)
    assert see(np.zeros(2, [("a", "i4")])).kind == "opaque"
    assert see(np.ma.array([1], mask=[True])).kind == "opaque"

    class ndarray:  # noqa: N801
        pass

    ndarray.__module__, ndarray.__qualname__ = "numpy", "ndarray"
    assert see(ndarray()).kind == "opaque"


@pytest.mark.parametrize(
    "value",
    [
        re.compile("a+", re.IGNORECASE),
        re.compile(b"a"),
        zoneinfo.ZoneInfo,
        datetime.datetime(2020, 5, 1, tzinfo=zoneinfo.ZoneInfo("UTC")),
        slice(1, None),
        array.array("d", [1.5]),
        {1: 2}.keys(),
        types.SimpleNamespace(b=1, a=[2]),
        pytest.approx({"a": 1.0}, abs=0.5),
        mock.ANY,
        len,
        json.dumps,
        int,
        collections.defaultdict(list, {1: [2]}),
    ],
)
def test_what_else_is_known(value):
    assert known(see(value))


@pytest.mark.parametrize(
    "value",
    [
        iter([1]),
        (n for n in ()),
        lambda: 0,
        object(),
        mock.Mock(),
        [].append,
        types.ModuleType("m"),
    ],
)
def test_what_is_opaque(value):
    assert see(value).kind == "opaque"


class Boxed(Generic[T]):
    expected = rel = abs = nan_ok = 1


def test_what_has_a_type_parameter_is_not_approximate():
    assert see(Boxed()).kind == "opaque"
    assert see(pytest.approx([1])).kind == see(pytest.approx({"a": 1})).kind == "approx"


def test_a_zone_of_someones_own_is_opaque():
    class Zone(datetime.tzinfo):
        utcoffset = trap("utcoffset")
        tzname = trap("tzname")

    ran.clear()
    assert see(datetime.datetime(2020, 1, 1, tzinfo=Zone())).kind == "opaque"
    assert ran == []


def test_the_order_of_an_ordered_dict_is_its_own():
    value = collections.OrderedDict(a=1, b=2)
    value.move_to_end("a")
    assert see(value).parts[0].parts[0] == Value("str", leaf="b")


def test_names_are_bounded_and_can_be_written():
    kind = type("x" * 10_000, (), {})
    kind.__module__ = "\ud800" * 10
    assert len(encode(kind())) < 1000
    kind.__module__ = 5
    assert see(kind).name.startswith("?.xxx")
    see(kind())


def test_builtins_that_a_test_replaces_are_not_used():
    value, wanted = {"a": [1, 2.5]}, encode({"a": [1, 2.5]})
    kept = (builtins.len, builtins.id, builtins.type, builtins.sorted)
    builtins.len = builtins.id = builtins.type = builtins.sorted = None
    try:
        found = encode(value)
    finally:
        builtins.len, builtins.id, builtins.type, builtins.sorted = kept
    assert found == wanted
