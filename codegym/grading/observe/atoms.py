"""Values that have no parts of their own, as the objects of Python that they stand for."""

from __future__ import annotations

import datetime
import math
import uuid
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from codegym.types import Value

_CONSTANTS = {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}


def is_standard(value: Value, *names: str) -> bool:
    """Whether it is of one of the standard library's (or numpy's) types of those names.

    A class, a function, or one of someone's own, can have such a name too.
    """
    return value.kind == "std" and value.name in names


class NoAtomError(ValueError):
    """The value has parts, is none of Python's own, or makes no sense."""


def atom(value: Value) -> Any:
    """The object: a number, text, bytes, a moment, a path…; exact types, harmless operators.

    Raises:
        NoAtomError: There is none.
    """
    make = _KINDS.get(value.kind)
    try:
        if make is not None:
            return make(value)
        if value.kind == "std" and value.name in _STANDARD:
            return _STANDARD[value.name](*(_leaf(part) for part in value.parts))
    except (ValueError, TypeError, OverflowError, InvalidOperation) as error:
        raise NoAtomError(f"{value.kind} {value.name}: {error}") from error
    raise NoAtomError(f"{value.kind} {value.name} is no atom")


def _leaf(value: Value) -> Any:
    if value.kind not in {"none", "int", "str"}:
        raise NoAtomError(f"{value.kind} where a number or text belongs")
    return value.leaf


def _bytes(value: Value) -> bytes:
    return value.leaf if isinstance(value.leaf, bytes) else b""


def _complex(value: Value) -> complex:
    real, imaginary = (float.fromhex(str(part.leaf)) for part in value.parts)
    return complex(real, imaginary)


def _zone(offset: int | None, name: str | None) -> datetime.timezone | None:
    if offset is None:
        return None
    return _timezone(offset, name or "")


def _date(year: int, month: int, day: int) -> datetime.date:
    return datetime.date(year, month, day)


def _time(*fields: Any) -> datetime.time:
    *clock, fold, offset, name = fields
    return datetime.time(*clock).replace(fold=fold, tzinfo=_zone(offset, name))


def _datetime(*fields: Any) -> datetime.datetime:
    *clock, fold, offset, name = fields
    moment = datetime.datetime(*clock)  # noqa: DTZ001 (its zone follows)
    return moment.replace(fold=fold, tzinfo=_zone(offset, name))


def _timedelta(days: int, seconds: int, microseconds: int) -> datetime.timedelta:
    delta = datetime.timedelta(days, seconds, microseconds)
    if (delta.days, delta.seconds, delta.microseconds) != (days, seconds, microseconds):
        raise NoAtomError("no normal duration")
    return delta


def _timezone(offset: int, name: str) -> datetime.timezone:
    zone = datetime.timezone(datetime.timedelta(microseconds=offset))
    if zone.tzname(None) == name:
        return zone
    return datetime.timezone(datetime.timedelta(microseconds=offset), name)


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    if str(number) != text:
        raise NoAtomError("no decimal's own text")
    return number


def _fraction(numerator: int, denominator: int) -> Fraction:
    if denominator <= 0 or math.gcd(numerator, denominator) != 1:
        raise NoAtomError("no fraction in its lowest terms")
    return Fraction(numerator, denominator)


def _uuid(number: int) -> uuid.UUID:
    return uuid.UUID(int=number)


_KINDS: dict[str, Callable[[Value], Any]] = {
    "none": lambda _: None,
    "bool": lambda value: value.leaf,
    "int": lambda value: value.leaf,
    "str": lambda value: value.leaf,
    "bytes": lambda value: value.leaf,
    "bytearray": lambda value: bytearray(_bytes(value)),
    "float": lambda value: float.fromhex(str(value.leaf)),
    "complex": _complex,
    "constant": lambda value: _CONSTANTS[value.name],
}
_STANDARD: dict[str, Callable[..., Any]] = {
    "datetime.date": _date,
    "datetime.time": _time,
    "datetime.datetime": _datetime,
    "datetime.timedelta": _timedelta,
    "datetime.timezone": _timezone,
    "decimal.Decimal": _decimal,
    "fractions.Fraction": _fraction,
    "uuid.UUID": _uuid,
    "pathlib.PurePosixPath": PurePosixPath,
    "pathlib.PosixPath": PurePosixPath,
    "pathlib.PureWindowsPath": PureWindowsPath,
}
#: Names of the standard library's types that are atoms.
STANDARD = frozenset(_STANDARD)
