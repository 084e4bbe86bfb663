"""Writes values as exactly typed JSON, in a process that it shares with the code that made them.

Payload, loaded by ``run_suite`` with builtins of its own. What it reads of a value it reads with
the methods of builtin types, or raw from where instances keep attributes: nothing that the value's
class defines is run, so ``__class__``, ``__eq__``, ``__iter__``, ``__getattribute__`` and
properties have no say. It never raises; time and size are bounded. What it cannot write is opaque.

The format (``decode`` outside is its other half): null, true, false, integers below 2**60 and text
stand for themselves; all else is ``[kind, …]``.
"""

from __future__ import annotations

import collections
import enum
import hashlib
import json
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codegym.grading.runners.payload import library
    from codegym.grading.runners.payload.reading import (
        MISSING,
        bases_of,
        clean,
        get,
        in_class,
        name_of,
        namespace,
        quietly,
        raw,
    )
else:
    import _cg_library as library
    from _cg_reading import (
        MISSING,
        bases_of,
        clean,
        get,
        in_class,
        name_of,
        namespace,
        quietly,
        raw,
    )

MAX_DEPTH = 32
MAX_CHARS = 65_536  # of one value's text; what is longer is a digest
BUDGET = 2 << 20  # of characters looked at, a node being 16; what needs more is opaque
SMALL = 1 << 60
MAX_BASES = 20
NODE = 16

#: The attributes that an environment says stand for an instance, by class; filled before any test.
PROJECTIONS: dict[str, tuple[str, ...]] = {}

_dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_sha256 = hashlib.sha256

Json = Any
Writer = Callable[["Walk", Any], Json]


class TooLargeError(Exception):
    """The budget is used up."""


class Walk:
    """One value being written."""

    __slots__ = ("known", "left", "path")

    def __init__(self) -> None:
        self.left, self.known = BUDGET, True
        self.path: list[int] = []

    def put(self, value: Any) -> Json:
        """The JSON of a value or a part of one."""
        self.spend(0)
        kind = type(value)
        writer = _ATOMS.get(id(kind))
        if writer is not None:
            return writer(self, value)
        if id(value) in self.path:
            self.known = False
            return ["cycle", len(self.path) - self.path.index(id(value))]
        if len(self.path) >= MAX_DEPTH:
            return self.opaque(value)
        self.path.append(id(value))
        try:
            return self._made(value, kind)
        finally:
            self.path.pop()

    def spend(self, chars: int) -> None:
        """Take from the budget."""
        self.left -= NODE + chars
        if self.left < 0:
            raise TooLargeError

    def fits(self, count: int) -> None:
        """Whether so many nodes can be had; else it is too large."""
        if count * NODE > self.left:
            raise TooLargeError

    def parts(self, values: Iterable[Any], count: int) -> list[Json]:
        """The parts of a container of a builtin type, of which the size is known."""
        self.fits(count)
        return [self.put(value) for value in values]

    def unordered(self, values: Iterable[Any], count: int) -> list[Json]:
        """Parts that have no order."""
        return sorted(self.parts(values, count), key=_dumps)

    def text(self, value: str) -> Json:
        """The JSON of text, which may hold what cannot be encoded."""
        self.spend(len(value))
        try:
            value.encode()
        except UnicodeEncodeError:
            return ["str", value.encode("utf-8", "surrogatepass").hex()]
        return value

    def opaque(self, value: Any) -> Json:
        """Its type's name, its bases', and whether it must be true, as without ``__bool__``."""
        self.known = False
        bases = bases_of(type(value))
        decides = any(name in namespace(base) for base in bases for name in _TRUTH)
        return ["opaque", name_of(type(value)), _names(bases), None if decides else True]

    def _made(self, value: Any, kind: type) -> Json:
        """A value that is no atom."""
        if PROJECTIONS and (names := PROJECTIONS.get(name_of(kind))) is not None:
            return _written(self, value, {name: raw(value, kind, name) for name in names})
        writer = _EXACT.get(id(kind))
        if writer is None:
            bases = [id(base) for base in bases_of(kind)]
            writer = next((_SPECIAL[base] for base in bases if base in _SPECIAL), None)
            base = next((_BASES[base] for base in bases if base in _BASES), None)
            if writer is None and base is not None and not library.is_numpy(kind):
                inner = base(self, value)
                return self.opaque(value) if inner is None else ["sub", name_of(kind), inner]
        written = (writer or _other)(self, value)
        return self.opaque(value) if written is None else written


def encode(value: Any, text: str | None = None) -> str:
    """The JSON text of a value, at most ``MAX_CHARS`` and a little.

    ``text`` is what an exception says, where its class had to be asked.
    """
    walk, data = Walk(), None
    with quietly:
        data = walk.put(value) if text is None else _error(walk, value, text)
        line = _dumps(data)
        if len(line) <= MAX_CHARS:
            return line
        if walk.known:
            digest = _sha256(line.encode()).hexdigest()
            return _dumps(["digest", name_of(type(value)), digest, len(line)])
    with quietly:
        return _dumps(Walk().opaque(value))
    return '["opaque","?",["tuple"],null]'


def _names(bases: tuple[type, ...]) -> Json:
    return ["tuple", *(name_of(one) for one in bases[:MAX_BASES] if one is not object)]


# --- atoms


def _same(walk: Walk, value: Any) -> Json:
    return value


def _int(walk: Walk, value: Any) -> Json:
    value = int.__int__(value)
    if -SMALL < value < SMALL:
        return value
    walk.spend(int.bit_length(value) >> 2)
    return ["int", format(value, "x")]


def _str(walk: Walk, value: Any) -> Json:
    return walk.text(str.__str__(value))


def _float(walk: Walk, value: Any) -> Json:
    return ["float", float.hex(value)]


def _complex(walk: Walk, value: Any) -> Json:
    real, imaginary = get(complex, "real", value), get(complex, "imag", value)
    return ["complex", float.hex(real), float.hex(imaginary)]


def _bytes(walk: Walk, value: Any) -> Json:
    walk.spend(2 * bytes.__len__(value))
    return ["bytes", bytes.hex(value)]


def _constant(walk: Walk, value: Any) -> Json:
    return ["constant", "Ellipsis" if value is ... else "NotImplemented"]


# --- containers


def _list(walk: Walk, value: Any) -> Json:
    return ["list", *walk.parts(list.__iter__(value), list.__len__(value))]


def _tuple(walk: Walk, value: Any) -> Json:
    return ["tuple", *walk.parts(tuple.__iter__(value), tuple.__len__(value))]


def _dict(walk: Walk, value: Any) -> Json:
    return ["dict", *_pairs(walk, dict.items(value), dict.__len__(value))]


def _ordered(walk: Walk, value: Any) -> Json:
    """In its own order, which a plain dict's methods do not see; only where no key is asked."""
    count = dict.__len__(value)
    walk.fits(count)
    plain = all(id(type(key)) in _ATOMS for key in dict.keys(value))
    items = collections.OrderedDict.items(value) if plain else dict.items(value)
    return ["dict", *_pairs(walk, items, count)]


def _pairs(walk: Walk, items: Iterable[tuple[Any, Any]], count: int) -> list[Json]:
    return walk.parts((part for pair in items for part in pair), 2 * count)


def _set(walk: Walk, value: Any) -> Json:
    return ["set", *walk.unordered(set.__iter__(value), set.__len__(value))]


def _frozenset(walk: Walk, value: Any) -> Json:
    size = frozenset.__len__(value)
    return ["frozenset", *walk.unordered(frozenset.__iter__(value), size)]


def _range(walk: Walk, value: Any) -> Json:
    return ["range", *(walk.put(get(range, one, value)) for one in ("start", "stop", "step"))]


def _slice(walk: Walk, value: Any) -> Json:
    return ["slice", *(walk.put(get(slice, one, value)) for one in ("start", "stop", "step"))]


def _bytearray(walk: Walk, value: Any) -> Json:
    walk.spend(2 * bytearray.__len__(value))
    return ["bytearray", bytearray.hex(value)]


# --- classes, functions, exceptions, members of enumerations, what has fields


def _class(walk: Walk, value: Any) -> Json:
    return ["class", name_of(value)]


def _function(walk: Walk, value: Any) -> Json:
    """One that its name tells apart from all others."""
    module, name = (object.__getattribute__(value, f"__{one}__") for one in ("module", "qualname"))
    if type(module) is not str or type(name) is not str or "<" in name:
        return None
    return ["function", clean(f"{module}.{name}")]


def _error(walk: Walk, value: Any, text: str | None = None) -> Json:
    bases, args = bases_of(type(value)), get(BaseException, "args", value)
    said = _said(bases, args) if text is None else text
    written = None if said is None else walk.text(said)
    return ["error", name_of(type(value)), written, _names(bases), _tuple(walk, args)]


def _said(bases: tuple[type, ...], args: tuple[Any, ...]) -> str | None:
    """The text of an exception, where that is no one's code but Python's."""
    owner = next(base for base in bases if "__str__" in namespace(base))
    if owner is not BaseException and owner is not KeyError:
        return None
    if not all(id(type(arg)) in _ATOMS for arg in args):
        return None
    with quietly:
        if len(args) == 1 and owner is BaseException:
            return str(args[0])
        return repr(args[0]) if len(args) == 1 else repr(args) if args else ""
    return None


def _member(walk: Walk, value: Any) -> Json:
    kind = type(value)
    name, inner = (raw(value, kind, one) for one in ("_name_", "_value_"))
    if inner is MISSING or (name is not None and type(name) is not str):
        return None
    base = next((_BASES[id(one)] for one in bases_of(kind) if id(one) in _BASES), None)
    payload = None if base is None else base(walk, value)
    return ["enum", name_of(kind), walk.put(name), walk.put(inner), payload]


def _simple(walk: Walk, value: Any) -> Json:
    """A ``SimpleNamespace``."""
    home = get(types.SimpleNamespace, "__dict__", value)
    names = [name for name in dict.keys(home) if type(name) is str]
    return _written(walk, value, {name: dict.get(home, name) for name in sorted(names)})


def _other(walk: Walk, value: Any) -> Json:
    return (library.numpy if library.is_numpy(type(value)) else _fields)(walk, value)


def _fields(walk: Walk, value: Any) -> Json:
    """An instance of a dataclass or of attrs: the fields that it is compared by."""
    kind = type(value)
    if name_of(kind) == "unittest.mock._ANY":
        return ["any"]
    fields, attributes = (in_class(kind, f"__{n}__") for n in ("dataclass_fields", "attrs_attrs"))
    if type(fields) is dict:
        marks = {name: raw(f, type(f), "compare") for name, f in dict.items(fields)}
        real = {n: raw(f, type(f), "_field_type") for n, f in dict.items(fields)}
        names = [n for n, mark in marks.items() if mark is True and _is_field(real[n])]
    elif attributes is not None and tuple in bases_of(type(attributes)):
        owned = list(tuple.__iter__(attributes))
        names = [raw(a, type(a), "name") for a in owned if raw(a, type(a), "eq") is True]
    else:
        return None
    if not all(type(name) is str for name in names):
        return None
    return _written(walk, value, {name: raw(value, kind, name) for name in names})


def _is_field(mark: Any) -> bool:
    """Whether it is no pseudo-field (``ClassVar``, ``InitVar``)."""
    name = raw(mark, type(mark), "name")
    return type(name) is str and name == "_FIELD"


def _written(walk: Walk, value: Any, fields: dict[str, Any]) -> Json:
    parts = []
    for name, part in fields.items():
        parts += [walk.text(name), walk.opaque(part) if part is MISSING else walk.put(part)]
    return ["fields", name_of(type(value)), *parts]


_CLOCK = ("hour", "minute", "second", "microsecond", "fold")
_TRUTH = ("__bool__", "__len__")


def _by_id(writers: dict[type, Writer]) -> dict[int, Writer]:
    """By identity: to look a class up by itself would ask its metaclass for a hash."""
    return {id(kind): writer for kind, writer in writers.items()}


_NUMBERS: dict[type, Writer] = {int: _int, float: _float, complex: _complex}
_TEXTS: dict[type, Writer] = {str: _str, bytes: _bytes}
_CONSTANTS: dict[type, Writer] = {
    type(None): _same,
    bool: _same,
    type(...): _constant,
    type(NotImplemented): _constant,
}
_CONTAINERS: dict[type, Writer] = {
    bytearray: _bytearray,
    list: _list,
    tuple: _tuple,
    set: _set,
    frozenset: _frozenset,
    dict: _dict,
}
_EXACT_ONLY: dict[type, Writer] = {
    range: _range,
    slice: _slice,
    types.SimpleNamespace: _simple,
    types.FunctionType: _function,
    types.BuiltinFunctionType: _function,
}
_ATOMS = _by_id(_CONSTANTS | _NUMBERS | _TEXTS)
_EXACT = _by_id(_CONTAINERS | _EXACT_ONLY | library.OPEN | library.CLOSED)
# An instance of a subclass: its type's name, and what the base type has of it.
_BASES = _by_id(_NUMBERS | _TEXTS | _CONTAINERS | library.OPEN)
_BASES |= _by_id({collections.OrderedDict: _ordered})
_SPECIAL = _by_id({type: _class, BaseException: _error, enum.Enum: _member})
_SPECIAL |= _by_id({library.APPROX: library.approx})
