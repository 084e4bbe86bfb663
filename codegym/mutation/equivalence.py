"""Mutants that a compiler can tell to be no mutants, or the same: they compile to the same code."""

from __future__ import annotations
import __future__

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

from codegym.mutation.pieces import cuts
from codegym.syntax import Edit, Parsed, apply_edits

#: What a source compiles to, without the places that it came from; None where it does not compile.
Code = tuple[object, ...] | None


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a compiler says of edits of a Python file.

    Attributes:
        same: Whether they leave the code as it is; None where what they leave does not compile.
            Where this Python compiles neither, as with a syntax that is newer, it is not the same.
        digest: The same for edits that make the same code; ``""`` where that is not known.
    """

    same: bool | None
    digest: str = ""


def compiled(parsed: Parsed, edits: Sequence[Edit]) -> Compiled:
    """Compile what edits change, before and after; nothing of it is run.

    Of edits in functions only those are compiled, and the file where they are not all in some.
    """
    source, found = parsed.source, cuts(parsed, edits)
    if found is None:
        return _compared([("", source, apply_edits(source, edits), ())])
    return _compared(
        [
            (str(cut.start), cut.alone(source), cut.alone(source, mine), cut.future)
            for cut, mine in sorted(found.items(), key=lambda one: one[0].start)
        ]
    )


def same_code(old: bytes, new: bytes) -> bool | None:
    """Whether two Python files compile to the same code: ``Compiled.same`` of them."""
    return _compared([("", old, new, ())]).same


def _compared(parts: Sequence[tuple[str, bytes, bytes, tuple[str, ...]]]) -> Compiled:
    total, same, known = hashlib.sha256(), True, True
    for place, old, new, future in parts:
        before, after = _known(old, future), _code(new, future)
        if after is None and before is not None:
            return Compiled(None)
        known &= after is not None
        same &= after is not None and before == after
        total.update(f"{place}\0{after!r}\0".encode("utf-8", "surrogatepass"))
    return Compiled(same, total.hexdigest() if known else "")


@lru_cache(maxsize=256)
def _known(source: bytes, future: tuple[str, ...]) -> Code:
    return _code(source, future)


def _code(source: bytes, future: tuple[str, ...]) -> Code:
    flags = 0
    for name in future:
        flags |= getattr(__future__, name).compiler_flag
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _shape(compile(source, "<source>", "exec", flags, dont_inherit=True, optimize=0))
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            return None


def _shape(code: CodeType) -> tuple[object, ...]:
    return (
        code.co_code,
        code.co_exceptiontable,
        tuple(map(_constant, code.co_consts)),
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_flags,
        code.co_name,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
    )


def _constant(value: object) -> object:
    """A constant so that 1, 1.0 and True are three."""
    if isinstance(value, CodeType):
        return _shape(value)
    if isinstance(value, tuple):
        return tuple(map(_constant, value))
    if isinstance(value, frozenset):
        return type(value), frozenset(map(_constant, value))
    return type(value), repr(value)
