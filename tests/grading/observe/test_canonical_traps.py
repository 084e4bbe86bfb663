"""Values that do all they can to be written as what they are not, or not at all."""

import array
import collections
import datetime
import types

import numpy as np
import pytest
from seeing import AlwaysEqual, encode, ran, see, trap

from codegym.grading.observe.values import known
from codegym.types import Value

MAX_CHARS = 66_000


NAMES = (
    *("eq", "ne", "lt", "le", "hash", "repr", "str", "bool", "len", "iter", "next", "getitem"),
    *(
        "contains",
        "getattribute",
        "getattr",
        "class_getitem",
        "reduce",
        "reduce_ex",
        "int",
        "index",
    ),
    *(
        "float",
        "format",
        "bytes",
        "sizeof",
        "dir",
        "call",
        "keys",
        "fspath",
        "array",
        "instancecheck",
    ),
)
TRAPS = {f"__{name}__": trap(name) for name in NAMES}
TRAPS |= {name: trap(name) for name in ("items", "keys", "values", "__class__", "__dict__")}
TRAPS["__class__"] = property(trap("class"))
TRAPS["__dict__"] = property(trap("dict"))


class Meta(type):
    __eq__ = trap("meta eq")
    __hash__ = trap("meta hash")
    __instancecheck__ = trap("meta instancecheck")
    __subclasscheck__ = trap("meta subclasscheck")
    __getattribute__ = trap("meta getattribute")
    __repr__ = trap("meta repr")


def hostile(base, *args):
    kind = type.__call__(Meta, "Evil", (base,), {**TRAPS, "__slots__": ()})
    return base.__new__(kind, *args)


MOMENT = datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)
BASES = {
    "int": (hostile(int, 5), Value("int", leaf=5)),
    "str": (hostile(str, "x"), Value("str", leaf="x")),
    "float": (hostile(float, 1.5), Value("float", leaf=(1.5).hex())),
    "bytes": (hostile(bytes, b"x"), Value("bytes", leaf=b"x")),
    "tuple": (hostile(tuple, (1,)), Value("tuple", parts=(Value("int", leaf=1),))),
    "frozenset": (hostile(frozenset, [1]), Value("frozenset", parts=(Value("int", leaf=1),))),
    "list": (hostile(list), Value("list")),
    "dict": (hostile(dict), Value("dict")),
    "set": (hostile(set), Value("set")),
    "complex": (hostile(complex, 1j), see(1j)),
    "date": (hostile(datetime.date, 2020, 1, 2), see(datetime.date(2020, 1, 2))),
    "datetime": (hostile(datetime.datetime, 2020, 1, 2, 0, 0, 0, 0, datetime.UTC), see(MOMENT)),
    "deque": (hostile(collections.deque), see(collections.deque())),
    "OrderedDict": (hostile(collections.OrderedDict), Value("dict")),
}


@pytest.mark.parametrize("name", BASES)
def test_nothing_of_a_subclass_is_run(name):
    value, base = BASES[name]
    ran.clear()
    found = see(value)
    assert ran == []
    assert found == Value("sub", f"{__name__}.Evil", parts=(base,))


@pytest.mark.parametrize("base", [object, Exception, types.ModuleType])
def test_nothing_of_an_object_is_run(base):
    value = hostile(base, *(["m"] if base is types.ModuleType else []))
    ran.clear()
    inside = see([value, {1: value}])
    assert ran == []
    assert inside.parts[0].kind == ("error" if base is Exception else "opaque")


def test_a_hostile_class_is_a_name():
    ran.clear()
    kind = type(hostile(int, 5))
    assert see(kind) == Value("class", f"{__name__}.Evil")
    assert ran == []


def test_keys_that_are_hostile_are_not_asked():
    class Key(str):
        __slots__ = ()
        __eq__ = trap("key eq")

        def __hash__(self):
            ran.append("key hash")
            return 1

    one = {Key("a"): 1}
    two = collections.OrderedDict({Key("a"): 1})
    three = {Key("a")}
    ran.clear()
    for value in (one, two, three):
        assert "sub" in encode(value)
    assert ran == []


class Lying:
    __class__ = int  # type: ignore[assignment]

    def __bool__(self):
        return True


def test_a_class_that_lies_is_what_it_is():
    assert isinstance(Lying(), int)
    assert (see(Lying()).kind, see(Lying()).name) == ("opaque", f"{__name__}.Lying")


def test_what_is_equal_to_all_is_opaque():
    assert see(AlwaysEqual()).kind == "opaque"
    assert not known(see([AlwaysEqual()]))


# --- size and shape


def loop():
    value: list = [1]
    value.append({"self": value})
    return value


def nested(depth):
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


LARGE = {
    "a loop": loop(),
    "deep": nested(500),
    "a million in a dict": dict.fromkeys(range(1_000_000)),
    "a million in a list": [0] * 1_000_000,
    "a million in a set": set(range(1_000_000)),
    "a long text": "x" * 200_000_000,
    "bytes": bytes(200_000_000),
    "shared": [[["x" * 1000] * 100] * 100] * 100,
    "an array": np.zeros(10_000_000),
    "texts": np.array(["x" * 1_000_000] * 10),
    "an integer": 1 << 200_000_000,
    "array.array": array.array("b", bytes(10_000_000)),
    "a deque": collections.deque(range(1_000_000)),
    "a range": [range(10**30)] * 100_000,
}


@pytest.mark.parametrize("name", LARGE)
def test_size_is_bounded(name):
    text = encode(LARGE[name])
    assert len(text) < MAX_CHARS
    see(LARGE[name])


def test_a_loop_and_depth_are_said():
    assert not known(see(loop()))
    assert not known(see(nested(40)))
    assert known(see(nested(30)))


def test_a_long_value_is_its_digest():
    one, two = see("x" * 100_000), see("x" * 99_999 + "y")
    assert one.kind == two.kind == "digest"
    assert one != two
    assert one == see("x" * 100_000)
    assert see(["x" * 100_000, object()]).kind == "opaque"  # what cannot be seen is in no digest


@pytest.mark.parametrize("digits", [5_000, 10_000])
def test_integers_of_more_digits_than_text_may_have(digits):
    number = -(10**digits)
    assert see(number) == Value("int", leaf=number)


def test_a_value_that_changes_meanwhile_is_no_error():
    class Switch:
        pass

    thing = Switch()
    thing.__dict__.update(dict.fromkeys(map(str, range(100))))
    assert see(thing).kind == "opaque"
