"""Operators that take a whole function away, to be written anew."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tree_sitter import Node

from codegym.mutation.operators.base import python
from codegym.mutation.operators.python.nodes import indent, is_docstring, newline, statements, text
from codegym.syntax import Edit, ancestors

_STUB = b"raise NotImplementedError"
_MIN_LINES = 3


@python("remove_body", "function_definition", tier=5, version="2", kind="ImplementFeature")
def remove_body(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """A function keeps its signature and its docstring; the rest, comments too, is gone."""
    body = node.child_by_field_name("body")
    inside = statements(body) if body is not None else []
    if not inside or any(one.type == "function_definition" for one in ancestors(node)):
        return
    kept = inside[0] if is_docstring(inside[0]) else None
    rest = inside[1:] if kept is not None else inside
    if not rest or rest[-1].end_point.row - rest[0].start_point.row + 1 < _MIN_LINES:
        return
    if text(rest[0], source).startswith(_STUB):
        return
    start = kept.end_byte if kept is not None else _after_colon(node)
    end = _with_comments(node, inside[-1].end_byte, source)
    yield Edit(start, end, newline(source) + indent(inside[0], source) + _STUB)


def _after_colon(function: Node) -> int:
    colons = [child.end_byte for child in function.children if child.type == ":"]
    return colons[-1]


def _with_comments(function: Node, end: int, source: bytes) -> int:
    """The end of a function with the comments that close it, which may tell of what was there."""
    outer = len(indent(function, source))
    at = _line_end(source, end)
    last = at
    while at < len(source):
        following = _line_end(source, at + 1)
        line = source[at + 1 : following]
        depth = len(line) - len(line.lstrip())
        if line.strip() and not (line.lstrip().startswith(b"#") and depth > outer):
            break
        if line.strip():
            last = following
        at = following
    return last - source.endswith(b"\r", 0, last)


def _line_end(source: bytes, at: int) -> int:
    found = source.find(b"\n", at)
    return len(source) if found < 0 else found
