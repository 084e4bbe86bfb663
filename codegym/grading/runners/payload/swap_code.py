"""Puts other code into functions that are there already, where that is the same as an import.

Payload, loaded by ``fork_mutants``. A piece is one function with all that it holds, cut out of its
file. Where its code and another's differ only in what a call runs, and in nothing that is read when
a function is made, the functions that are alive can be given the other code; else it is unfit.
"""

from __future__ import annotations
import __future__

import gc
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Code = types.CodeType
Swap = tuple[types.FunctionType, Code]

#: Flags that a caller or a decorator can have looked at: stars, generator, coroutine.
_KIND = 0x04 | 0x08 | 0x20 | 0x80 | 0x100 | 0x200
_OPTIMIZED = 0x01  # a function's code has this flag, a class's has not


class UnfitError(Exception):
    """Only an import would show what a change does."""


class Functions:
    """The functions that are alive, by where their code is written; made before they are frozen."""

    def __init__(self, paths: Iterable[str]) -> None:
        wanted = frozenset(paths)
        self._alive: dict[object, list[types.FunctionType]] = {}
        for one in gc.get_objects():
            if type(one) is types.FunctionType and one.__code__.co_filename in wanted:
                self._alive.setdefault(_place(one.__code__), []).append(one)

    def of(self, codes: list[Code]) -> list[list[types.FunctionType]]:
        """Those that have each code.

        Raises:
            UnfitError: It cannot be told which is which.
        """
        places: dict[object, list[Code]] = {}
        for code in codes:
            places.setdefault(_place(code), []).append(code)
        found: dict[int, list[types.FunctionType]] = {id(code): [] for code in codes}
        for place, many in places.items():
            for one in self._alive.get(place, []):
                same = [code for code in many if _likeness(code) == _likeness(one.__code__)]
                if len(same) != 1:
                    raise UnfitError("ambiguous")
                found[id(same[0])].append(one)
        return [found[id(code)] for code in codes]


class Piece:
    """A function as it is.

    Args:
        path: Its file, as its code names it.
        line: The line that it begins in, from 1.
        headers: What it stands in, a line each: classes, or ``if 1:``.
        text: Its lines.
        future: What the file imports from ``__future__``.
        functions: Those that are alive.
    """

    def __init__(
        self,
        path: str,
        line: int,
        headers: list[str],
        text: str,
        future: Iterable[str],
        functions: Functions,
    ) -> None:
        self._path, self._text = path, text.encode()
        self._head = "\n" * (line - 1 - len(headers)) + "".join(f"{one}\n" for one in headers)
        self._flags = 0
        for name in future:
            self._flags |= getattr(__future__, name).compiler_flag
        self._old = self._compiled(self._text)
        function = _outermost(self._old)
        if function is None:
            raise UnfitError("not_loaded")
        self._function, codes = function, list(_below(function))
        alive = functions.of(codes)
        if not alive[0]:
            raise UnfitError("not_loaded")
        self._alive = {id(code): found for code, found in zip(codes, alive, strict=True)}

    def edited(self, edits: Iterable[tuple[int, int, str]]) -> list[Swap]:
        """What to swap for other text in some places, in bytes.

        Raises:
            UnfitError: That would not do.
        """
        text = self._text
        for start, end, replacement in sorted(edits, reverse=True):
            text = text[:start] + replacement.encode() + text[end:]
        new = self._compiled(text)
        after = _outermost(new)
        if after is None or _around(self._old) != _around(new):
            raise UnfitError("import")
        return list(self._swaps(self._function, after, intact=True))

    def _compiled(self, text: bytes) -> Code:
        source = self._head + text.decode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code: Code = compile(source, self._path, "exec", self._flags, dont_inherit=True)
            return code

    def _swaps(self, old: Code, new: Code, intact: bool) -> Iterator[Swap]:
        """For a function and those in it. ``intact``: what made it did so as the change would."""
        alive = self._alive[id(old)]
        if alive and not intact:
            raise UnfitError("import")
        if alive and (_face(old) != _face(new) or old.co_freevars != new.co_freevars):
            raise UnfitError("signature")
        for function in alive:
            yield function, new
        mine, others = _inner(old), _inner(new)
        paired = [one.co_name for one in mine] == [one.co_name for one in others]
        if not paired and any(self._alive[id(one)] for part in mine for one in _below(part)):
            raise UnfitError("import")
        intact = _own(old) == _own(new)
        for one, other in zip(mine, others, strict=True) if paired else ():
            yield from self._swaps(one, other, intact)


def _place(code: Code) -> object:
    return code.co_filename, code.co_firstlineno, code.co_name


def _inner(code: Code) -> list[Code]:
    return [one for one in code.co_consts if isinstance(one, Code)]


def _below(code: Code) -> Iterator[Code]:
    """A code and all in it."""
    yield code
    for one in _inner(code):
        yield from _below(one)


def _outermost(code: Code) -> Code | None:
    """The function that a piece is about: below the classes that it stands in."""
    while inner := _inner(code):
        code = inner[-1]  # lambdas of its decorators and defaults come before it
        if code.co_flags & _OPTIMIZED:
            return code
    return None


def _around(code: Code) -> object:
    """What of a piece runs at import: all but its function."""
    target = _outermost(code)

    def part(one: Code) -> object:
        return None if one is target else _shape(one, part)

    return _shape(code, part)


def _own(code: Code) -> object:
    return _shape(code, lambda _: None)


def _likeness(code: Code) -> object:
    """What a code has in common with itself compiled alone.

    There, calls of what the file imports are other instructions.
    """
    return _shape(code, _likeness)[1:]


def _face(code: Code) -> object:
    """What can be seen of a function without calling it."""
    stars = bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    described = [one for one in code.co_consts[:1] if isinstance(one, str)]
    return code.co_name, names, counts, code.co_flags & _KIND, described


def _shape(code: Code, inner: Callable[[Code], object]) -> tuple[object, ...]:
    """A code without its places; what it holds of others is as ``inner`` says."""

    def constant(value: Any) -> object:
        if isinstance(value, Code):
            return inner(value)
        if isinstance(value, tuple):
            return tuple(map(constant, value))
        if isinstance(value, frozenset):
            return sorted(map(repr, value))
        return type(value), repr(value)

    run = code.co_code, getattr(code, "co_exceptiontable", b"")
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    consts = tuple(map(constant, code.co_consts))
    return run, consts, names, code.co_flags, _face(code)
