"""Equality of values as Python has it, on data: no code of a value's class takes part."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal, DecimalException
from fractions import Fraction
from typing import Any

from codegym.grading.observe.approximate import near
from codegym.grading.observe.atoms import NoAtomError, atom, is_standard
from codegym.grading.observe.values import known
from codegym.types import Value

#: Kinds whose type is someone's own: it is judged by its name, which gold's must have too.
TYPED = frozenset({"sub", "enum", "fields", "error", "opaque", "any", "approx"})
SETS = frozenset({"set", "frozenset"})
_ORDERED, _COUNTER = "collections.OrderedDict", "collections.Counter"
_MAX_EXPONENT = 5000  # of a decimal that is spelled out as a fraction
_TRUSTED = Value("trusted")
_ZERO = Value("int", leaf=0)


class NoKeyError(ValueError):
    """The value cannot be compared with others by its form."""


def accepted(actual: Value, gold: Value | None) -> bool:
    """Whether a value may be compared: of Python's own types, or of the type that gold has."""
    if actual.kind not in TYPED:
        return True
    return gold is not None and (gold.kind, gold.name) == (actual.kind, actual.name)


def admitted(actual: Value, gold: Value | None) -> bool:
    """Whether no type of someone's own is anywhere in it that is not in gold's."""
    return own_types(actual) <= (own_types(gold) if gold is not None else set())


def own_types(value: Value) -> set[tuple[str, str]]:
    """The types of someone's own in a value."""
    found = {(value.kind, value.name)} if value.kind in TYPED else set()
    return found.union(*map(own_types, value.parts))


def stripped(value: Value) -> Value:
    """What the base type has of an instance of a subclass, or of a member of such an enum."""
    while value.kind == "sub":
        value = value.parts[0]
    if value.kind == "enum" and value.parts[2].kind != "none":
        return value.parts[2]
    return value


def equal(actual: Value, expected: Value, gold: Value | None) -> bool:
    """Whether ``actual == expected``.

    Args:
        actual: Untrusted.
        expected: May hold ``pytest.approx`` and ``mock.ANY``; in ``actual`` they equal nothing.
        gold: What gold has in the place of ``actual``, where it is known.
    """
    if not accepted(actual, gold):
        return False
    if expected.kind == "any":
        return True
    if expected.kind == "approx":
        return near(_bare(actual, gold), expected)
    if actual.kind == "enum" == expected.kind:
        return (actual.name, actual.parts[:2]) == (expected.name, expected.parts[:2])
    order = actual.name == _ORDERED == expected.name
    count = actual.name == _COUNTER == expected.name
    mine, meant = stripped(actual), stripped(expected)
    theirs = None if gold is None else stripped(gold)
    if mine.kind == "dict" == meant.kind:
        if order and not _same_order(mine, meant):
            return False
        pair = (_without_zeros(mine), _without_zeros(meant)) if count else (mine, meant)
        return _dicts(*pair, theirs)
    if items(mine) is not None and items(meant) is not None:
        return _sets(mine, meant, theirs)
    if mine.kind == meant.kind in {"list", "tuple", "slice", "fields"} or _is_standard(mine, meant):
        return _parts(mine, meant, theirs)
    return _atoms(mine, meant)


def _bare(actual: Value, gold: Value | None) -> Value:
    """Without subclasses, as far as gold has the same; others stay, and are near nothing."""
    if not accepted(actual, gold):
        return actual
    actual, gold = stripped(actual), None if gold is None else stripped(gold)
    parts = tuple(_bare(*pair) for pair in zip(actual.parts, _aligned(actual, gold), strict=True))
    return Value(actual.kind, actual.name, actual.leaf, parts)


def _aligned(actual: Value, gold: Value | None) -> Sequence[Value | None]:
    """Gold's parts beside those of a value; of another shape it has none."""
    if gold is None or gold.kind != actual.kind or len(gold.parts) != len(actual.parts):
        return [None] * len(actual.parts)
    return gold.parts


def _is_standard(one: Value, other: Value) -> bool:
    """Whether both are the same container of the standard library's, or numpy's."""
    return one.kind == other.kind == "std" and one.name == other.name and not _is_atom(one)


def _is_atom(value: Value) -> bool:
    try:
        atom(value)
    except NoAtomError:
        return False
    return True


def _parts(actual: Value, expected: Value, gold: Value | None) -> bool:
    mine, meant = actual.parts, expected.parts
    if is_standard(actual, "collections.deque"):  # its greatest length does not count
        mine, meant = mine[:1], meant[:1]
    if actual.name != expected.name or len(mine) != len(meant):
        return False
    theirs = _aligned(actual, gold)
    return all(equal(a, e, g) for a, e, g in zip(mine, meant, theirs, strict=False))


def _dicts(actual: Value, expected: Value, gold: Value | None) -> bool:
    if len(actual.parts) != len(expected.parts):
        return False
    try:
        mine, meant = _by_form(actual), _by_form(expected)
        theirs = _by_form(gold) if gold is not None and gold.kind == "dict" else {}
    except NoKeyError:
        return False
    if mine.keys() != meant.keys() or 2 * len(mine) != len(actual.parts):
        return False
    for key, (name, value) in mine.items():
        gold_name, gold_value = theirs.get(key, (None, None))
        if not admitted(name, gold_name) or not equal(value, meant[key][1], gold_value):
            return False
    return True


def _by_form(value: Value) -> Mapping[Hashable, tuple[Value, Value]]:
    pairs = zip(value.parts[::2], value.parts[1::2], strict=True)
    return {form(key): (key, part) for key, part in pairs}


def _same_order(one: Value, other: Value) -> bool:
    try:
        return [form(k) for k in one.parts[::2]] == [form(k) for k in other.parts[::2]]
    except NoKeyError:
        return False


def _without_zeros(counter: Value) -> Value:
    pairs = zip(counter.parts[::2], counter.parts[1::2], strict=True)
    kept = [part for pair in pairs if pair[1] != _ZERO for part in pair]
    return Value("dict", parts=tuple(kept))


def items(value: Value) -> tuple[Value, ...] | None:
    """The elements of a set, or of a dict's keys."""
    if value.kind in SETS:
        return value.parts
    return value.parts[0].parts if is_standard(value, "dict_keys") else None


def forms(values: Iterable[Value], gold: Value | None = _TRUSTED) -> dict[Hashable, Value]:
    """Values by what makes them equal.

    Args:
        values: Of a set.
        gold: What gold has in the place of the set; by default ``values`` can be trusted.

    Raises:
        NoKeyError: One has no form, or is of a type that gold has not.
    """
    found = {form(value): value for value in values}
    if gold is not _TRUSTED:
        theirs = {} if gold is None else forms(items(gold) or ())
        if not all(admitted(value, theirs.get(key)) for key, value in found.items()):
            raise NoKeyError("a type of someone's own")
    return found


def _sets(actual: Value, expected: Value, gold: Value | None) -> bool:
    mine, meant = items(actual) or (), items(expected) or ()
    try:
        found = forms(mine, gold)
        return found.keys() == forms(meant).keys() and len(found) == len(mine)
    except NoKeyError:
        return False


def _atoms(actual: Value, expected: Value) -> bool:
    try:
        return bool(atom(actual) == atom(expected))
    except NoAtomError:
        pass
    except (ArithmeticError, DecimalException):  # a signalling NaN
        return False
    if actual.kind == expected.kind == "range":
        return _range(actual) == _range(expected)
    same = actual == expected
    return same and known(actual) and actual.kind in {"class", "function", "error", "digest", "std"}


def _range(value: Value) -> range:
    start, stop, step = (int(part.leaf or 0) for part in value.parts)
    return range(start, stop, step)


def form(value: Value) -> Hashable:
    """What is the same for equal values and differs for others; safe to hash, whoever chose them.

    Raises:
        NoKeyError: It has none.
    """
    value = stripped(value)
    if value.kind in {"list", "tuple", "fields", "slice", "class", "function", "error", "digest"}:
        return (value.kind, value.name, *map(form, value.parts))
    if value.kind == "enum":
        return ("enum", value.name, str(value.parts[0].leaf), form(value.parts[1]))
    if value.kind in SETS:
        return ("set", frozenset(map(form, value.parts)))
    if value.kind == "dict":
        keys, parts = map(form, value.parts[::2]), map(form, value.parts[1::2])
        return ("dict", frozenset(zip(keys, parts, strict=True)))
    if value.kind == "range":
        return _range_form(_range(value))
    try:
        found = atom(value)
    except NoAtomError as error:
        if value.kind == "std":
            return ("std", value.name, *map(form, value.parts))
        raise NoKeyError(f"a {value.kind} {value.name}") from error
    if isinstance(found, bytes | bytearray):
        return bytes(found)
    return _number(found) if isinstance(found, _NUMBERS) else found


def _range_form(numbers: range) -> Hashable:
    """Of any size: neither its length nor its text can be had of a large one."""
    if not numbers:
        return ("range",)
    first, last = numbers[0], numbers[-1]
    return ("range", *(f"{one:x}" for one in (first, last, numbers.step if first != last else 0)))


_NUMBERS = (int, float, complex, Fraction, Decimal)


def _number(number: Any) -> Hashable:
    """Text, because hashes of numbers can be made to collide."""
    if isinstance(number, complex):
        parts = (number.real, number.imag) if number.imag else (number.real,)
        return ("number", *(part for one in parts for part in _number_parts(one)))
    return ("number", *_number_parts(number))


def _number_parts(number: int | float | Fraction | Decimal) -> tuple[Hashable, ...]:
    if isinstance(number, Decimal):
        if number.is_nan():
            return (object(),)
        if number.is_finite() and number and abs(number.adjusted()) > _MAX_EXPONENT:
            return (str(number.normalize()),)
    elif isinstance(number, float) and math.isnan(number):
        return (object(),)
    if not isinstance(number, int | Fraction) and not math.isfinite(number):
        return ("inf" if number > 0 else "-inf",)
    numerator, denominator = number.as_integer_ratio()
    return (f"{numerator:x}/{denominator:x}",)
