"""Literals of a test module: what one who forges its values is sure to know."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from codegym.grading.observe.values import encode
from codegym.syntax.python import parse_module
from codegym.types import Value

_DISPLAYS = (ast.Constant, ast.UnaryOp, ast.List, ast.Tuple, ast.Set, ast.Dict)


@lru_cache(maxsize=256)  # of tasks that share their tests, each grade asks
def literals(source: bytes) -> frozenset[Value]:
    """All values that are written in a module; none where it cannot be read."""
    found: set[Value] = set()
    try:
        nodes = ast.walk(parse_module(source))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    for node in nodes:
        if isinstance(node, _DISPLAYS):
            try:
                value = _value(ast.literal_eval(node))
            except (ValueError, TypeError, RecursionError):
                continue
            if value is not None:
                found.add(value)
    return frozenset(found)


def _value(data: Any) -> Value | None:
    """A value of builtin types; None where it is of another."""
    kind = type(data).__name__
    if data is None:
        return Value("none")
    if isinstance(data, float):
        return Value("float", leaf=data.hex())
    if isinstance(data, bool | int | str | bytes):
        return Value(kind, leaf=data)
    if isinstance(data, list | tuple):
        return _of(kind, data)
    if isinstance(data, dict):
        return _of(kind, (part for pair in data.items() for part in pair))
    if isinstance(data, set):
        made = _of(kind, data)
        return made and Value(kind, parts=tuple(sorted(made.parts, key=_text)))
    return None


def _of(kind: str, parts: Iterable[Any]) -> Value | None:
    made = [_value(part) for part in parts]
    known = tuple(part for part in made if part is not None)
    return Value(kind, parts=known) if len(known) == len(made) else None


def _text(value: Value) -> str:
    return json.dumps(encode(value), separators=(",", ":"))
