"""Nearness, as ``pytest.approx`` and unittest's ``assertAlmostEqual`` mean it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, DecimalException
from numbers import Complex
from typing import Any

from codegym.grading.observe.atoms import NoAtomError, atom, is_standard
from codegym.types import Value

_REL, _ABS = 1e-6, 1e-12
_ARRAY = "numpy.ndarray"
_MOMENTS = (datetime.datetime, datetime.timedelta)


def near(actual: Value, approx: Value) -> bool:
    """Whether ``actual == approx``. No subclass is near anything: strip them before."""
    rel, absolute, nan_ok, expected = approx.parts
    try:
        rule = _Rule(atom(rel), atom(absolute), bool(nan_ok.leaf))
        return _near(actual, expected, rule)
    except (NoAtomError, ArithmeticError, DecimalException, TypeError, ValueError):
        return False


class _Rule:
    """Tolerances for numbers."""

    def __init__(self, rel: Any, absolute: Any, nan_ok: bool) -> None:
        self._rel, self._abs, self._nan_ok = rel, absolute, nan_ok

    def holds(self, actual: Any, expected: Any) -> bool:
        """Whether two atoms are near."""
        if isinstance(expected, bool):
            return isinstance(actual, bool) and actual == expected
        if isinstance(expected, _MOMENTS):
            return bool(abs(expected - actual) <= self._span(expected))
        if actual == expected:
            return True
        if not all(isinstance(one, Complex | Decimal) for one in (actual, expected)):
            return False
        if _is_nan(abs(expected)):
            return self._nan_ok and _is_nan(abs(actual))
        if _is_infinite(abs(expected)):
            return False
        return bool(abs(expected - actual) <= self._tolerance(expected))

    def _span(self, expected: Any) -> datetime.timedelta:
        spans: list[datetime.timedelta] = [] if self._abs is None else [self._abs]
        if self._rel is not None and isinstance(expected, datetime.timedelta):
            spans.append(self._rel * abs(expected))
        return max(spans)

    def _tolerance(self, expected: Any) -> Any:
        exact = isinstance(expected, Decimal)
        kind: Any = (lambda number: Decimal(str(number))) if exact else float
        absolute = kind(_ABS) if self._abs is None else _as(exact, self._abs)
        if self._rel is None and self._abs is not None:
            return absolute
        relative = (kind(_REL) if self._rel is None else _as(exact, self._rel)) * abs(expected)
        if _is_nan(absolute) or _is_nan(relative) or absolute < 0 or relative < 0:
            raise ValueError("no tolerance")
        return max(relative, absolute)


def _as(exact: bool, number: Any) -> Any:
    return Decimal(number) if exact else number


def _is_nan(number: Any) -> bool:
    return number.is_nan() if isinstance(number, Decimal) else math.isnan(number)


def _is_infinite(number: Any) -> bool:
    return number.is_infinite() if isinstance(number, Decimal) else math.isinf(number)


def _near(actual: Value, expected: Value, rule: _Rule) -> bool:
    while expected.kind == "sub" or _is_number(expected):
        expected = expected.parts[-1]
    if _is_number(actual):
        actual = actual.parts[-1]
    if expected.kind == "dict":
        return actual.kind == "dict" and _dicts_near(actual, expected, rule)
    found, wanted = _sequence(actual), _sequence(expected)
    if wanted is not None:
        if found is None or len(found) != len(wanted):
            return False
        return all(_near(a, e, rule) for a, e in zip(found, wanted, strict=True))
    if is_standard(actual, _ARRAY):  # all of an array is held against one number
        return all(_near(one, expected, rule) for one in found or actual.parts[2:])
    return rule.holds(atom(actual), atom(expected))


def _is_number(value: Value) -> bool:
    """Whether it is an array without dimensions."""
    return is_standard(value, _ARRAY) and value.parts[2].kind != "list"


def _dicts_near(actual: Value, expected: Value, rule: _Rule) -> bool:
    mine, meant = _atoms(actual), _atoms(expected)
    return mine.keys() == meant.keys() and all(
        _near(value, meant[key], rule) for key, value in mine.items()
    )


def _atoms(value: Value) -> Mapping[Any, Value]:
    """By key; keys that are no atoms are not met with in numbers' tables."""
    pairs = zip(value.parts[::2], value.parts[1::2], strict=True)
    return {atom(key): part for key, part in pairs}


def _sequence(value: Value) -> Sequence[Value] | None:
    if value.kind in {"list", "tuple"}:
        return value.parts
    if is_standard(value, "collections.deque", "array.array"):
        return next(part.parts for part in value.parts if part.kind == "list")
    if is_standard(value, _ARRAY) and value.parts[2].kind == "list":
        dtype, shape, rows = value.parts
        inner = Value("tuple", parts=shape.parts[1:])
        return [Value("std", _ARRAY, parts=(dtype, inner, row)) for row in rows.parts]
    return None


def almost(options: Mapping[str, Any], actual: Any, expected: Any) -> bool | None:
    """Whether unittest's ``assertAlmostEqual`` passes on two atoms; None where it breaks.

    The negation of that is ``assertNotAlmostEqual``.
    """
    try:
        if actual == expected:
            return True
        difference = abs(actual - expected)
        delta = options.get("delta")
        if delta is not None:
            return bool(difference <= delta)
        places = options.get("places")
        return bool(round(difference, 7 if places is None else places) == 0)
    except (ArithmeticError, DecimalException, TypeError, ValueError):
        return None
