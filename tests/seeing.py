"""Values of every kind that is written, and the way that they take out of a sandbox."""

import datetime
import json
from collections import Counter, OrderedDict, deque

from hypothesis import strategies as st

from codegym.grading.observe.atoms import NoAtomError, atom
from codegym.grading.observe.comparing import holds
from codegym.grading.observe.values import decode
from codegym.grading.runners.payload import run_suite
from codegym.types import Value

encode = run_suite.load_observer()[2].encode


def see(value) -> Value:
    """What the gym gets to know of a value."""
    return decode(json.loads(encode(value)))


def agrees(op, actual, expected, gold=None, **options):
    """What we say, on values that have been out of a sandbox."""
    kept = actual if gold is None else gold
    return holds(op, tuple(options.items()), see(actual), see(expected), see(kept))


def rebuild(value: Value):
    """The object again, of the types that Python has."""
    parts = [rebuild(part) for part in value.parts] if value.kind != "std" else value.parts
    if value.kind in {"list", "tuple", "set", "frozenset"}:
        return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[value.kind](parts)
    if value.kind == "dict":
        return dict(zip(parts[::2], parts[1::2], strict=True))
    if value.kind in {"range", "slice"}:
        return {"range": range, "slice": slice}[value.kind](*parts)
    if value.kind == "sub":
        return {"Counter": Counter, "OrderedDict": OrderedDict}[value.name.split(".")[-1]](parts[0])
    try:
        return atom(value)
    except NoAtomError:
        return deque(rebuild(value.parts[0]), rebuild(value.parts[1]))


zones = st.sampled_from([None, datetime.UTC, datetime.timezone(datetime.timedelta(hours=-3))])
numbers = (
    st.integers()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.decimals(allow_nan=False)
    | st.fractions()
)
texts = st.text() | st.text(st.characters(categories=["Cs", "Lu"]))
moments = st.dates() | st.datetimes(timezones=zones) | st.times(timezones=zones) | st.timedeltas()
atoms = (
    st.none()
    | numbers
    | texts
    | st.binary()
    | st.complex_numbers(allow_nan=False)
    | st.uuids()
    | moments
    | st.sampled_from([..., NotImplemented])
)
hashables = st.recursive(
    atoms, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5
)
values = st.recursive(
    atoms
    | st.binary().map(bytearray)
    | st.builds(range, st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([1, 2, -3]))
    | st.sets(hashables, max_size=3)
    | st.dictionaries(hashables, numbers, max_size=3).map(OrderedDict)
    | st.dictionaries(texts, st.integers(-2, 2)).map(Counter),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(hashables, inner, max_size=3)
        | st.builds(deque, st.lists(inner, max_size=3), st.sampled_from([None, 5]))
    ),
    max_leaves=12,
)


def alike(one, other) -> bool:
    """Equal in value and in all types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return one.hex() == other.hex()
    if isinstance(one, complex):
        return alike(one.real, other.real) and alike(one.imag, other.imag)
    if isinstance(one, list | tuple | deque):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return alike(list(one.items()), list(other.items()))
    if isinstance(one, set | frozenset):
        return one == other and sorted(map(encode, one)) == sorted(map(encode, other))
    return repr(one) == repr(other)


#: What of traps was run.
ran: list[str] = []


def trap(name):
    """A method that says that it was run, and ends the process."""

    def method(self, *args, **kwargs):
        ran.append(name)
        raise SystemExit(name)

    return method


class AlwaysEqual:
    """Equal to everything."""

    def __eq__(self, other):
        return True

    __hash__ = None  # type: ignore[assignment]
