"""Values as data: read from JSON that cannot be trusted, and written back.

The payload's ``canonical`` writes what ``decode`` reads. It is strict, so that one value has one
text: whoever makes up a value must make it up as the payload would have written it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from codegym.grading.observe.atoms import STANDARD, NoAtomError, atom
from codegym.grading.observe.describing import describe
from codegym.types import Value

__all__ = ["MAX_NODES", "NoValueError", "decode", "describe", "encode", "known", "order"]

SMALL = 1 << 60
MAX_NESTING = 100  # a container is at most three: subclass of, standard type, list
MAX_NODES = 70_000  # what the longest text can hold
MAX_NAME = 200
_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_CONSTANTS = frozenset({"Ellipsis", "NotImplemented"})
_SEQUENCES = frozenset({"list", "tuple", "set", "frozenset", "dict"})
_NONE = Value("none")
_SMALLEST = [*(Value("int", leaf=number) for number in range(256)), Value("int", leaf=-1)]
_UNKNOWN = frozenset({"opaque", "cycle"})


class NoValueError(ValueError):
    """Not what ``encode`` writes."""


def decode(data: Any) -> Value:
    """Read a value from parsed JSON.

    Raises:
        NoValueError: It is not exactly what ``encode`` writes of some value.
    """
    return _Reader().read(data, 0)


def encode(value: Value) -> Any:
    """The JSON of a value: ``decode(encode(v)) == v``."""
    kind, leaf = value.kind, value.leaf
    if kind in {"none", "bool"}:
        return leaf
    if kind == "int" and isinstance(leaf, int):
        return leaf if -SMALL < leaf < SMALL else ["int", format(leaf, "x")]
    if kind == "str" and isinstance(leaf, str):
        return leaf if _encodes(leaf) else ["str", leaf.encode("utf-8", "surrogatepass").hex()]
    if kind == "complex":
        return [kind, *(part.leaf for part in value.parts)]
    head = [kind, value.name] if kind in _NAMED else [kind]
    if isinstance(leaf, bytes):
        head.append(leaf.hex())
    elif leaf is not None:
        head.append(leaf)  # type: ignore[arg-type]
    return [*head, *map(encode, value.parts)]


def order(value: Value) -> str:
    """What values are sorted by, of whatever size: Python refuses to write large integers."""
    return json.dumps(encode(value))


def known(value: Value) -> bool:
    """Whether nothing of it is opaque or a cycle, so that it can be compared."""
    return value.kind not in _UNKNOWN and all(map(known, value.parts))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _require(condition: object, what: str) -> None:
    if not condition:
        raise NoValueError(what)


class _Reader:
    """Reads one value, of bounded size."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def read(self, data: Any, depth: int) -> Value:
        """Read a value or a part of one."""
        self._left -= 1
        _require(self._left > 0 and depth < MAX_NESTING, "too large")
        if type(data) is int:
            _require(-SMALL < data < SMALL, "a large integer as a number")
            return _SMALLEST[data] if -1 <= data < len(_SMALLEST) - 1 else Value("int", leaf=data)
        if data is None:
            return _NONE
        if type(data) is bool:
            return Value("bool", leaf=data)
        if type(data) is str:
            _require(_encodes(data), "text that cannot be encoded")
            return Value("str", leaf=data)
        _require(type(data) is list and data and type(data[0]) is str, "no value")
        kind = data[0]
        if kind in _LEAVES:
            _require(all(type(part) is str for part in data[1:]), f"{kind}: a part is no text")
            return _LEAVES[kind](*_exactly(data, 2 + (kind == "complex")))
        _require(kind in _SEQUENCES or kind in _CHECKS, "an unknown kind")
        name, rest = "", data[1:]
        if kind in _NAMED:
            _require(rest and type(rest[0]) is str and len(rest[0]) <= MAX_NAME, "no name")
            _require(_encodes(rest[0]), "no name")
            name, rest = rest[0], rest[1:]
        value = Value(kind, name, parts=tuple(self.read(part, depth + 1) for part in rest))
        if kind in {"set", "frozenset", "dict"}:
            _keys(kind, rest)
        elif kind in _CHECKS:
            _require(_CHECKS[kind](value), f"{kind} {name}: wrong parts")
        return value


def _exactly(data: list[Any], count: int) -> list[Any]:
    _require(len(data) == count, f"{data[0]}: {len(data)} parts")
    return data[1:]


def _keys(kind: str, parts: list[Any]) -> None:
    """Keys are there once; a set is in the order of their texts."""
    if kind == "dict":
        _require(len(parts) % 2 == 0, "a key without its value")
    texts = [json.dumps(key, separators=(",", ":")) for key in parts[:: 1 + (kind == "dict")]]
    _require(len(set(texts)) == len(texts), "a key twice")
    _require(kind == "dict" or texts == sorted(texts), "a set out of order")


# --- leaves


def _int(text: str) -> Value:
    _require(re.fullmatch(r"-?[1-9a-f][0-9a-f]*", text), "no integer")
    number = int(text, 16)
    _require(abs(number) >= SMALL, "a small integer as text")
    return Value("int", leaf=number)


def _str(text: str) -> Value:
    try:
        found = _raw(text).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise NoValueError("no text") from error
    _require(not _encodes(found), "text that can be encoded, as bytes")
    return Value("str", leaf=found)


def _float(text: str) -> Value:
    try:
        same = len(text) < 40 and float.fromhex(text).hex() == text
    except (ValueError, OverflowError) as error:
        raise NoValueError("no float") from error
    _require(same, "a float spelled differently")
    return Value("float", leaf=text)


def _complex(real: str, imaginary: str) -> Value:
    return Value("complex", parts=(_float(real), _float(imaginary)))


def _raw(text: str) -> bytes:
    _require(_HEX.fullmatch(text), "no bytes")
    return bytes.fromhex(text)


def _constant(name: str) -> Value:
    _require(name in _CONSTANTS, "no constant")
    return Value("constant", name)


_LEAVES: dict[str, Callable[..., Value]] = {
    "int": _int,
    "str": _str,
    "float": _float,
    "complex": _complex,
    "bytes": lambda text: Value("bytes", leaf=_raw(text)),
    "bytearray": lambda text: Value("bytearray", leaf=_raw(text)),
    "constant": _constant,
}


# --- what has parts


def _kinds(value: Value) -> tuple[str, ...]:
    return tuple(part.kind for part in value.parts)


def _is_names(value: Value) -> bool:
    return value.kind == "tuple" and all(part.kind == "str" for part in value.parts)


def _standard(value: Value) -> bool:
    if value.name in STANDARD:
        try:
            atom(value)
        except NoAtomError:
            return False
        return True
    return _kinds(value) in _FORMS.get(value.name, ())


def _error(value: Value) -> bool:
    if _kinds(value) not in {("str", "tuple", "tuple"), ("none", "tuple", "tuple")}:
        return False
    return _is_names(value.parts[1])


def _fields(value: Value) -> bool:
    names = value.parts[::2]
    return len(value.parts) % 2 == 0 and all(name.kind == "str" for name in names)


def _opaque(value: Value) -> bool:
    if len(value.parts) != 2 or not _is_names(value.parts[0]):
        return False
    return value.parts[1] in {Value("none"), Value("bool", leaf=True)}


def _digest(value: Value) -> bool:
    if _kinds(value) != ("str", "int"):
        return False
    text, size = value.parts
    return len(str(text.leaf)) == 64 and isinstance(size.leaf, int) and size.leaf > 0


def _approx(value: Value) -> bool:
    return len(value.parts) == 4 and value.parts[2].kind == "bool"


_FORMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "re.Pattern": (("str", "int"), ("bytes", "int")),
    "collections.deque": (("list", "int"), ("list", "none")),
    "array.array": (("str", "list"),),
    "dict_keys": (("set",),),
    "numpy.ndarray": tuple(
        ("str", "tuple", kind)
        for kind in ("list", "none", "bool", "int", "float", "complex", "str", "bytes", "std")
    ),
}
_NAMED = frozenset(
    {"std", "sub", "enum", "fields", "error", "class", "function", "opaque", "digest", "constant"}
)
_CHECKS: dict[str, Callable[[Value], bool]] = {
    "range": lambda value: _kinds(value) == ("int",) * 3 and bool(value.parts[2].leaf),
    "slice": lambda value: len(value.parts) == 3,
    "std": _standard,
    "sub": lambda value: len(value.parts) == 1,
    "enum": lambda value: len(value.parts) == 3 and value.parts[0].kind in {"str", "none"},
    "fields": _fields,
    "error": _error,
    "class": lambda value: not value.parts,
    "function": lambda value: not value.parts,
    "approx": _approx,
    "any": lambda value: not value.parts,
    "opaque": _opaque,
    "cycle": lambda value: _kinds(value) == ("int",),
    "digest": _digest,
}
