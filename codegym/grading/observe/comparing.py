"""Whether an assertion holds on two values, as Python has it, without anything of a sandbox run."""

from __future__ import annotations

import datetime
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal, DecimalException
from typing import Any

from codegym.grading.observe.approximate import almost
from codegym.grading.observe.atoms import NoAtomError, atom, is_standard
from codegym.grading.observe.equality import (
    SETS,
    NoKeyError,
    accepted,
    admitted,
    equal,
    form,
    forms,
    items,
    own_types,
    stripped,
)
from codegym.grading.observe.natures import class_names, is_instance, truth
from codegym.grading.observe.searching import found
from codegym.grading.observe.values import known
from codegym.types import Value

_SINGLETONS = frozenset({"none", "bool", "constant", "class", "function", "enum"})
_MAX_DIGITS = 100
_MAX_PEERS = 100  # parts of gold's container that one of the actual may be like
_MAX_PAIRED = 200  # parts that have no hash, each compared with each
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def holds(
    op: str,
    options: Sequence[tuple[str, Any]],
    actual: Value,
    expected: Value,
    gold_actual: Value,
) -> bool:
    """Whether ``actual op expected``.

    Nothing of a sandbox is run, and time is bounded; a search for a regular expression may take
    ``searching.TIME_SEC``.

    Args:
        op: The actual side is always the left one: ``== != < <= > >= in`` and ``not in`` (the
            actual in the expected), ``contains`` and ``not contains`` (the expected in the actual),
            ``is``, ``is not``, ``isinstance``, ``not isinstance``, ``regex``, ``not regex``,
            ``count_equal``, ``almost``, ``not almost``, ``true``, ``false`` (the expected is not
            looked at), ``raises`` (the expected is the tuple of the class, or a tuple of classes,
            and the pattern or None; the actual is None where nothing was raised).
        options: Of ``almost``: ``places`` or ``delta``, numbers.
        actual: Untrusted.
        expected: From the trusted recording, or, of a site with both sides, untrusted too.
        gold_actual: What gold had there. A subclass or an object in ``actual`` is accepted only
            where this has the same type.
    """
    test = _TESTS.get(op)
    if test is None or not (accepted(actual, gold_actual) or op == "raises"):
        return False
    return test(_Case(op, dict(options), actual, expected, gold_actual))


class _Case:
    """What is to be tested."""

    __slots__ = ("actual", "expected", "gold", "op", "options")

    def __init__(
        self, op: str, options: dict[str, Any], actual: Value, expected: Value, gold: Value
    ) -> None:
        self.op, self.options = op, options
        self.actual, self.expected, self.gold = actual, expected, gold

    @property
    def negative(self) -> bool:
        return self.op.startswith("not ")


def _equal(case: _Case) -> bool:
    return equal(case.actual, case.expected, case.gold)


def _unequal(case: _Case) -> bool:
    comparable = known(case.actual) and known(case.expected)
    return comparable and not equal(case.actual, case.expected, case.gold)


def _ordered(case: _Case) -> bool:
    return _order(case.op, stripped(case.actual), stripped(case.expected), case.gold)


def _order(op: str, actual: Value, expected: Value, gold: Value | None) -> bool:
    """Numbers, texts and moments; lists and tuples by what first differs; sets by inclusion."""
    if actual.kind == expected.kind in {"list", "tuple"}:
        theirs = stripped(gold).parts if gold is not None else ()
        for place, (mine, meant) in enumerate(zip(actual.parts, expected.parts, strict=False)):
            beside = theirs[place] if place < len(theirs) else None
            if not accepted(mine, beside):
                return False
            if not equal(mine, meant, beside):
                return _order(op, stripped(mine), stripped(meant), beside)
        return bool(_ORDERS[op](len(actual.parts), len(expected.parts)))
    if is_standard(actual, "collections.deque") and is_standard(expected, "collections.deque"):
        same = gold is not None and is_standard(gold, "collections.deque")
        beside = gold.parts[0] if gold is not None and same else None
        return _order(op, actual.parts[0], expected.parts[0], beside)
    try:
        elements, others = items(actual), items(expected)
        if elements is not None and others is not None:
            found, meant_ones = forms(elements, gold).keys(), forms(others).keys()
            return bool(_ORDERS[op](found, meant_ones))
        return bool(_ORDERS[op](atom(actual), atom(expected)))
    except (NoAtomError, NoKeyError, TypeError, ArithmeticError, DecimalException):
        return False


def _member(case: _Case) -> bool:
    forwards = case.op.removeprefix("not ") == "in"
    item, container = case.actual, case.expected
    if not forwards:
        item, container = container, item
    inside = _contains(stripped(container), item, case.gold, forwards)
    return inside is not None and inside is not case.negative


def _contains(container: Value, item: Value, gold: Value, forwards: bool) -> bool | None:
    """Whether it is in there; None where Python has no answer, or we have none."""
    if not known(item) or not known(container):
        return None
    if container.kind in {"str", "bytes", "bytearray"}:
        try:
            return bool(operator.contains(atom(container), atom(stripped(item))))
        except (NoAtomError, TypeError, ValueError):
            return None
    if container.kind == "range":
        start, stop, step = (int(part.leaf or 0) for part in container.parts)
        whole = _whole(stripped(item))
        return whole is not None and whole in range(start, stop, step)
    if container.kind in {"list", "tuple", *SETS}:
        parts = container.parts
    elif container.kind == "dict":
        parts = container.parts[::2]
    elif is_standard(container, "collections.deque", "dict_keys", "array.array"):
        parts = next(part.parts for part in container.parts if part.kind in {"list", "set"})
    else:
        return None
    if container.kind in {"dict", *SETS} or is_standard(container, "dict_keys"):
        wraps = container.kind in SETS and item.kind == "set"  # then Python looks for a frozenset
        if not wraps and not _hashable(item):
            return None
    if forwards:
        return any(equal(item, part, gold) for part in parts)
    peers = [part for part in stripped(gold).parts if own_types(part)][:_MAX_PEERS]
    return any(_is_part(part, item, peers) for part in parts)


def _is_part(part: Value, item: Value, peers: Sequence[Value]) -> bool:
    """Whether an untrusted part is the item; of a type of someone's own, if gold has such parts."""
    if not own_types(part):
        return equal(part, item, None)
    return any(admitted(part, peer) and equal(part, item, peer) for peer in peers)


def _hashable(value: Value) -> bool:
    if value.kind in {"tuple", "frozenset", "sub"}:
        return all(map(_hashable, value.parts))
    return value.kind not in {"list", "dict", "set", "bytearray", "slice"} and not is_standard(
        value, "collections.deque", "array.array", "dict_keys", "numpy.ndarray"
    )


def _whole(value: Value) -> int | None:
    try:
        number = atom(value)
        if isinstance(number, Decimal) and abs(number.adjusted()) > _MAX_DIGITS:
            return None
        return int(number) if number == int(number) else None
    except (NoAtomError, TypeError, ValueError, ArithmeticError):
        return None


def _identical(case: _Case) -> bool:
    if case.expected.kind not in _SINGLETONS:
        return False
    return (case.actual == case.expected) is (case.op == "is")


def _instance(case: _Case) -> bool:
    names = class_names(case.expected)
    if names is None:
        return False
    if not accepted(case.actual, None):  # then it has gold's type, for which it holds
        return True
    return is_instance(case.actual, names) is not case.negative


def _searched(case: _Case) -> bool:
    text = stripped(case.actual)
    if text.kind not in {"str", "bytes"}:
        return False
    if text == stripped(case.gold):  # for which it holds
        return True
    return _matches(case.expected, text) is not case.negative


def _matches(pattern: Value, text: Value) -> bool:
    flags = 0
    if is_standard(pattern, "re.Pattern"):
        flags, pattern = int(pattern.parts[1].leaf or 0), pattern.parts[0]
        flags = flags & ~32 if pattern.kind == "str" else flags  # UNICODE goes without saying
    pattern = stripped(pattern)
    if not isinstance(pattern.leaf, str | bytes) or not isinstance(text.leaf, str | bytes):
        return False
    return found(pattern.leaf, flags, text.leaf)


def _counted(case: _Case) -> bool:
    mine, meant = (_iterated(stripped(side)) for side in (case.actual, case.expected))
    if mine is None or meant is None or len(mine) != len(meant):
        return False
    if not admitted(case.actual, case.gold):
        return False
    if all(map(_hashable, (*mine, *meant))):
        try:
            return Counter(map(form, mine)) == Counter(map(form, meant))
        except NoKeyError:
            return False
    return len(mine) <= _MAX_PAIRED and _paired(mine, meant)


def _paired(mine: Sequence[Value], meant: Sequence[Value]) -> bool:
    """Whether as many are equal to each on one side as on the other; the types were admitted."""
    everyone = [*mine, *meant]
    return all(
        sum(equal(part, one, part) for part in mine)
        == sum(equal(part, one, part) for part in meant)
        > 0
        for one in everyone
    )


def _iterated(value: Value) -> tuple[Value, ...] | None:
    if value.kind in {"list", "tuple", *SETS}:
        return value.parts
    if value.kind == "dict":
        return value.parts[::2]
    if value.kind == "str" and isinstance(value.leaf, str):
        return tuple(Value("str", leaf=char) for char in value.leaf)
    if is_standard(value, "collections.deque", "dict_keys"):
        return value.parts[0].parts
    return None


def _almost(case: _Case) -> bool:
    try:
        sides = atom(stripped(case.actual)), atom(stripped(case.expected))
    except NoAtomError:
        return False
    if any(isinstance(side, str | bytes | datetime.date) for side in sides):
        return not case.negative and bool(sides[0] == sides[1])
    found = almost(case.options, *sides)
    return found is not None and found is not case.negative


def _true(case: _Case) -> bool:
    return truth(case.actual) is (case.op == "true")


def _raised(case: _Case) -> bool:
    error, meant = case.actual, case.expected
    if error.kind != "error" or meant.kind != "tuple" or len(meant.parts) != 2:
        return False
    names = class_names(meant.parts[0])
    bases = {str(base.leaf) for base in error.parts[1].parts}
    if not names or names.isdisjoint(bases):
        return False
    if meant.parts[1].kind == "none":
        return True
    if error.parts[0].kind != "str":
        return False
    same = case.gold.kind == "error" and case.gold.parts[0] == error.parts[0]
    return same or _matches(meant.parts[1], error.parts[0])


_TESTS: dict[str, Callable[[_Case], bool]] = {
    "==": _equal,
    "!=": _unequal,
    **dict.fromkeys(_ORDERS, _ordered),
    **dict.fromkeys(("in", "not in", "contains", "not contains"), _member),
    **dict.fromkeys(("is", "is not"), _identical),
    **dict.fromkeys(("isinstance", "not isinstance"), _instance),
    **dict.fromkeys(("regex", "not regex"), _searched),
    "count_equal": _counted,
    **dict.fromkeys(("almost", "not almost"), _almost),
    **dict.fromkeys(("true", "false"), _true),
    "raises": _raised,
}
