"""Mutants that a compiler can tell to be no mutants: they compile to the same code."""

from __future__ import annotations

import warnings
from functools import lru_cache
from types import CodeType

#: What a source compiles to, without the places that it came from; None where it does not compile.
Code = tuple[object, ...] | None


def same_code(old: bytes, new: bytes) -> bool | None:
    """Whether two Python sources compile to the same code; nothing of them is run.

    Returns:
        None where only the new one does not compile. Where this Python compiles neither, as with a
        syntax that is newer, they count as different.
    """
    before, after = _known(old), _code(new)
    if after is None:
        return None if before is not None else False
    return before == after


@lru_cache(maxsize=256)
def _known(source: bytes) -> Code:
    return _code(source)


def _code(source: bytes) -> Code:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _shape(compile(source, "<source>", "exec", dont_inherit=True, optimize=0))
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
