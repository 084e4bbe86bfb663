"""Writes what the standard library, numpy and pytest define; ``canonical`` writes the rest.

Payload, loaded by ``run_suite``. Each writer gives None for what it cannot write.
"""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import fractions
import pathlib
import re
import uuid
import zoneinfo
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from codegym.grading.runners.payload.canonical import Json, Walk, Writer
    from codegym.grading.runners.payload.reading import (
        bases_of,
        clean,
        flags_of,
        get,
        in_class,
        module_of,
        name_of,
        namespace,
        qualname,
        quietly,
        raw,
    )
else:
    from _cg_reading import (
        bases_of,
        clean,
        flags_of,
        get,
        in_class,
        module_of,
        name_of,
        namespace,
        qualname,
        quietly,
        raw,
    )

_HEAP = 1 << 9  # of a class's flags: Python code made it
_DATES = (datetime.date, datetime.datetime, datetime.timedelta)
_PLAIN = (bool, int, float, complex, str, bytes, *_DATES)
_CLOCK = ("hour", "minute", "second", "microsecond", "fold")


def _std(name: str, *parts: Json) -> Json:
    return ["std", name, *parts]


def _date(walk: Walk, value: Any) -> Json:
    return _std("datetime.date", *(get(datetime.date, f, value) for f in ("year", "month", "day")))


def _time(walk: Walk, value: Any) -> Json:
    clock = [get(datetime.time, one, value) for one in _CLOCK]
    zone = _zone(get(datetime.time, "tzinfo", value), None)
    return None if zone is None else _std("datetime.time", *clock, *zone)


def _datetime(walk: Walk, value: Any) -> Json:
    day = [get(datetime.date, one, value) for one in ("year", "month", "day")]
    clock = [get(datetime.datetime, one, value) for one in _CLOCK]
    zone = _zone(get(datetime.datetime, "tzinfo", value), value)
    return None if zone is None else _std("datetime.datetime", *day, *clock, *zone)


def _zone(zone: Any, moment: Any) -> list[Json] | None:
    """Offset in microseconds and name; None for a zone of someone's own making."""
    if zone is None:
        return [None, None]
    if type(zone) is datetime.timezone:
        offset = datetime.timezone.utcoffset(zone, None)
        return [_micros(offset), datetime.timezone.tzname(zone, None)]
    if type(zone) is zoneinfo.ZoneInfo and type(moment) is datetime.datetime:
        ahead, key = zoneinfo.ZoneInfo.utcoffset(zone, moment), zone.key
        return None if ahead is None else [_micros(ahead), clean(str(key))]
    return None


def _micros(delta: datetime.timedelta) -> int:
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds


def _timedelta(walk: Walk, value: Any) -> Json:
    fields = ("days", "seconds", "microseconds")
    return _std("datetime.timedelta", *(get(datetime.timedelta, one, value) for one in fields))


def _timezone(walk: Walk, value: Any) -> Json:
    return _std("datetime.timezone", *(_zone(value, None) or ()))


def _decimal(walk: Walk, value: Any) -> Json:
    return _std("decimal.Decimal", walk.text(decimal.Decimal.__str__(value)))


def _fraction(walk: Walk, value: Any) -> Json:
    parts = [raw(value, fractions.Fraction, f"_{one}") for one in ("numerator", "denominator")]
    if not all(type(part) is int for part in parts):
        return None
    return _std("fractions.Fraction", *map(walk.put, parts))


def _uuid(walk: Walk, value: Any) -> Json:
    number = raw(value, uuid.UUID, "int")
    return _std("uuid.UUID", walk.put(number)) if type(number) is int else None


def _path(walk: Walk, value: Any) -> Json:
    text = None
    with quietly:
        text = pathlib.PurePath.__str__(value)
    return _std(f"pathlib.{qualname(type(value))}", walk.text(text)) if type(text) is str else None


def _pattern(walk: Walk, value: Any) -> Json:
    pattern = walk.put(get(re.Pattern, "pattern", value))
    return _std("re.Pattern", pattern, get(re.Pattern, "flags", value))


def _deque(walk: Walk, value: Any) -> Json:
    kind = collections.deque
    items = walk.parts(list(kind.__iter__(value)), kind.__len__(value))
    return _std("collections.deque", ["list", *items], get(kind, "maxlen", value))


def _array(walk: Walk, value: Any) -> Json:
    count = array.array.__len__(value)
    walk.fits(count)
    items = walk.parts(array.array.tolist(value), count)
    return _std("array.array", get(array.array, "typecode", value), ["list", *items])


def _keys(walk: Walk, value: Any) -> Json:
    count = type(value).__len__(value)
    return _std("dict_keys", ["set", *walk.unordered(type(value).__iter__(value), count)])


def approx(walk: Walk, value: Any) -> Json:
    """What pytest compares with a tolerance."""
    parts = [raw(value, type(value), one) for one in ("rel", "abs", "nan_ok", "expected")]
    return ["approx", *map(walk.put, parts)]


def is_numpy(kind: type) -> bool:
    """Whether a type is one of numpy's own, which no Python code can have made."""
    return not flags_of(kind) & _HEAP and module_of(kind) == "numpy"


def numpy(walk: Walk, value: Any) -> Json:
    """An array, or a scalar that Python has a builtin type for."""
    kind = type(value)
    if qualname(kind) == "ndarray":
        return _ndarray(walk, value, namespace(kind))
    plain = in_class(kind, "item")(value)
    if any(type(plain) is one for one in _PLAIN):
        return ["sub", name_of(kind), walk.put(plain)]
    return None


def _ndarray(walk: Walk, value: Any, read: Any) -> Json:
    dtype = read["dtype"].__get__(value)
    code = in_class(type(dtype), "str").__get__(dtype)
    if code[1] not in "biufcSUmMO":
        return None
    walk.fits(read["size"].__get__(value))
    walk.fits(read["nbytes"].__get__(value) >> 4)
    inner = walk.put(read["tolist"](value))
    return _std("numpy.ndarray", code, walk.put(read["shape"].__get__(value)), inner)


#: Whose subclasses are written too.
OPEN: dict[type, Writer] = {
    datetime.datetime: _datetime,
    datetime.date: _date,
    datetime.time: _time,
    datetime.timedelta: _timedelta,
    decimal.Decimal: _decimal,
    fractions.Fraction: _fraction,
    uuid.UUID: _uuid,
    collections.deque: _deque,
    array.array: _array,
}
CLOSED: dict[type, Writer] = {
    datetime.timezone: _timezone,
    pathlib.PurePosixPath: _path,
    pathlib.PosixPath: _path,
    pathlib.PureWindowsPath: _path,
    re.Pattern: _pattern,
    type({}.keys()): _keys,
}
APPROX = bases_of(type(pytest.approx(0)))[1]
