"""Reading compiled Python without running it, whatever version wrote it: names and constants only.

A parser of its own: ``marshal`` reads its own version's files alone, and hostile ones crash it.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER_BYTES = 16
_MAX_DEPTH = 200
_FIRST_NEW_LAYOUT = 3450  # the magic number from which (3.11) a code object has a qualified name
_OLDEST = 3400  # 3.8, which introduced positional-only arguments
_REF = 0x80


@dataclass(frozen=True, slots=True)
class Code:
    """A function, class or module as compiled: its name, and the words in it."""

    name: str
    words: frozenset[str]


class _Broken(Exception):  # noqa: N818 never leaves this module
    """It is not what Python writes."""


def is_bytecode(data: bytes) -> bool:
    """Whether it begins as a ``.pyc`` does."""
    return len(data) > _HEADER_BYTES and data[2:4] == b"\r\n"


def codes(data: bytes) -> list[Code]:
    """Every code object of a ``.pyc``; those read before the first fault where it is broken."""
    magic = int.from_bytes(data[:2], "little")
    if not is_bytecode(data) or not _OLDEST <= magic < 5000:
        return []
    reader = _Reader(data, magic >= _FIRST_NEW_LAYOUT)
    try:
        reader.value()
    except (_Broken, IndexError, struct.error, RecursionError, UnicodeDecodeError):
        return reader.found
    return reader.found


def words_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The words that a function's code object has: names, attributes, and text it mentions."""
    arguments = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    found = {each.arg for each in arguments}
    for node in (inner for statement in function.body for inner in ast.walk(statement)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.keyword(arg=str(name)) | ast.Constant(value=str(name)):
                found.add(name)
    return frozenset(found)


class _Reader:
    def __init__(self, data: bytes, new: bool) -> None:
        self.found: list[Code] = []
        self._data, self._at, self._new = data, _HEADER_BYTES, new
        self._refs: list[object] = []
        self._depth = 0

    def value(self) -> object:
        """Read one value."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _Broken
        byte = self._data[self._at]
        self._at += 1
        place = len(self._refs)
        if byte & _REF:
            self._refs.append(None)
        made = self._of(chr(byte & ~_REF))
        if byte & _REF:
            self._refs[place] = made
        self._depth -= 1
        return made

    def _of(self, kind: str) -> object:
        if kind in "0NFTS.":
            return None
        if kind in "sutAaZz":
            data = self._take(self._byte() if kind in "Zz" else self._long())
            return data if kind == "s" else data.decode("utf-8", "surrogatepass")
        if kind in "()<>[":
            size = self._byte() if kind == ")" else self._long()
            return tuple(self._many(size))
        if kind in _NUMBERS:
            return self._take(_NUMBERS[kind])
        if kind == "l":
            return self._take(2 * abs(self._long()))
        if kind in "fx":
            for _ in range(1 + (kind == "x")):
                self._take(self._byte())
            return None
        if kind == "r":
            return self._refs[self._long()]
        if kind == "c":
            return self._code()
        if kind == ":":
            return tuple(self._many(3))
        raise _Broken

    def _many(self, count: int) -> Iterator[object]:
        if not 0 <= count <= len(self._data):
            raise _Broken
        return (self.value() for _ in range(count))

    def _code(self) -> Code:
        self._take(4 * (5 if self._new else 6))
        parts = [self.value() for _ in range(8)]
        name = parts[6] if self._new else parts[7]
        if self._new:  # code, constants, names, locals, their kinds, file, name, qualified name
            texts = parts[1:4]
            self._take(4)
            self.value(), self.value()
        else:  # code, constants, names, variables, free, cells, file, name
            texts = parts[1:6]
            self._take(4)
            self.value()
        made = Code(name if isinstance(name, str) else "", frozenset(_texts(texts)))
        self.found.append(made)
        return made

    def _byte(self) -> int:
        return self._take(1)[0]

    def _long(self) -> int:
        number: int = struct.unpack("<i", self._take(4))[0]
        return number

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if count < 0 or len(taken) != count:
            raise _Broken
        self._at += count
        return taken


_NUMBERS = {"i": 4, "I": 8, "g": 8, "y": 16}


def _texts(value: object) -> Iterator[str]:
    """Text in constants and names; of functions within a function, theirs too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Code):
        yield value.name
        yield from value.words
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
