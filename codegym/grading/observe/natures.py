"""What a value is: its truth, and whether it is an instance of a class, by names alone."""

from __future__ import annotations

import array
import builtins
import collections
import collections.abc
import datetime
import decimal
import fractions
import numbers
import pathlib
import re
import uuid
from collections.abc import Mapping
from typing import Any

from codegym.grading.observe.atoms import NoAtomError, atom, is_standard
from codegym.types import Value

_MODULES: Mapping[str, Any] = {
    "builtins": builtins,
    "collections": collections,
    "collections.abc": collections.abc,
    "numbers": numbers,
    "datetime": datetime,
    "decimal": decimal,
    "fractions": fractions,
    "pathlib": pathlib,
    "uuid": uuid,
    "array": array,
    "re": re,
}
_CONTAINERS = frozenset({"list", "tuple", "dict", "set", "frozenset"})


def truth(value: Value) -> bool | None:
    """``bool(value)``, or None where that is not known."""
    if value.kind == "sub":
        return truth(value.parts[0])
    if value.kind in _CONTAINERS:
        return bool(value.parts)
    if value.kind == "range":
        start, stop, step = (int(part.leaf or 0) for part in value.parts)
        return len(range(start, stop, step)[:1]) > 0
    if value.kind == "enum":
        return truth(value.parts[2]) if value.parts[2].kind != "none" else True
    if value.kind == "opaque":
        return True if value.parts[1].leaf is True else None
    if value.kind == "std" and value.parts and value.name in _SIZED:
        return any(bool(part.parts) for part in value.parts if part.kind in _CONTAINERS)
    if value.kind in {"cycle", "approx", "any"} or is_standard(value, "numpy.ndarray"):
        return None
    if value.name in {"re.Pattern"} or value.kind not in _ATOMS:
        return True
    try:
        return bool(atom(value))
    except NoAtomError:
        return None


_SIZED = frozenset({"collections.deque", "array.array", "dict_keys"})
_ATOMS = frozenset({"none", "bool", "int", "float", "complex", "str", "bytes", "bytearray", "std"})


def class_names(value: Value) -> set[str] | None:
    """The classes that the second argument of ``isinstance`` names; None if it is none."""
    if value.kind == "class":
        return {value.name}
    if value.kind != "tuple":
        return None
    found: set[str] = set()
    for part in value.parts:
        names = class_names(part)
        if names is None:
            return None
        found |= names
    return found


def is_instance(value: Value, names: set[str]) -> bool:
    """Whether a value of one of Python's own types is an instance of a class of those names."""
    kind = _class(_own_name(value))
    if kind is None:
        return _own_name(value) in names or "builtins.object" in names
    return any(issubclass(kind, one) for one in map(_class, names) if one is not None)


def _own_name(value: Value) -> str:
    if value.kind == "std":
        return "numpy.ndarray" if value.name == "numpy.ndarray" else value.name
    if value.kind == "digest":
        return value.name
    names = {"none": "NoneType", "constant": value.name.lower(), "class": "type"}
    return f"builtins.{names.get(value.kind, value.kind)}"


def _class(name: str) -> type | None:
    if name == "builtins.NoneType":
        return type(None)
    module, _, last = name.rpartition(".")
    found = getattr(_MODULES.get(module), last, None)
    return found if isinstance(found, type) else None
