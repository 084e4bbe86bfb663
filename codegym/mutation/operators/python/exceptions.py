"""Operators on how errors are raised and handled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from tree_sitter import Node

from codegym.mutation.operators.base import python
from codegym.mutation.operators.python.nodes import (
    callee,
    replaced,
    statements,
    text,
)
from codegym.syntax import Edit

#: An exception to one that it is taken for.
_SIBLINGS: Mapping[bytes, bytes] = {
    b"AttributeError": b"KeyError",
    b"EOFError": b"ValueError",
    b"FileNotFoundError": b"PermissionError",
    b"ImportError": b"AttributeError",
    b"IndexError": b"KeyError",
    b"KeyError": b"IndexError",
    b"LookupError": b"ValueError",
    b"NotImplementedError": b"TypeError",
    b"OSError": b"ValueError",
    b"OverflowError": b"ValueError",
    b"RuntimeError": b"ValueError",
    b"StopIteration": b"IndexError",
    b"TypeError": b"ValueError",
    b"UnicodeDecodeError": b"LookupError",
    b"ValueError": b"TypeError",
    b"ZeroDivisionError": b"ValueError",
}


@python("exception_handling", "except_clause", "raise_statement", tier=3)
def exception_handling(node: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
    """The wrong exception is raised or caught, or too many; or a handler is gone, or silent."""
    if node.type == "raise_statement":
        yield from _raised(node, source)
        return
    value = node.child_by_field_name("value")
    if value is not None and value.type == "as_pattern":
        value = value.named_children[0]
    clauses = [one for one in _siblings(node) if one.type == "except_clause"]
    if value is not None:
        yield from _caught(value, source, rng)
        if node != clauses[-1] and text(value, source) not in (b"Exception", b"BaseException"):
            yield replaced(value, b"Exception")
    if len(clauses) > 1:
        start = source.rfind(b"\n", 0, node.start_byte) + 1
        end = source.find(b"\n", node.end_byte)
        yield Edit(start, len(source) if end < 0 else end + 1, b"")
    body = node.named_children[-1]
    if body.type == "block" and [one.type for one in statements(body)] != ["pass_statement"]:
        yield replaced(body, b"pass")


def _siblings(node: Node) -> list[Node]:
    return [] if node.parent is None else node.parent.named_children


def _raised(node: Node, source: bytes) -> Iterator[Edit]:
    raised = node.named_children[0] if node.named_children else None
    if raised is None:
        return
    name = raised.child_by_field_name("function") if raised.type == "call" else raised
    if name is not None and name.type == "identifier":
        known = text(name, source) if raised.type != "call" else callee(raised, source)
        if known in _SIBLINGS:
            yield replaced(name, _SIBLINGS[known])


def _caught(value: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
    if value.type == "tuple" and len(value.named_children) > 1:
        names = [text(one, source) for one in value.named_children]
        del names[int(rng.integers(len(names)))]
        kept = names[0] if len(names) == 1 else b"(" + b", ".join(names) + b")"
        yield replaced(value, kept)
    elif text(value, source) in _SIBLINGS:
        yield replaced(value, _SIBLINGS[text(value, source)])
