"""Operators on whole statements: left out, or come to too early."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tree_sitter import Node

from codegym.mutation.operators.base import python
from codegym.mutation.operators.python.nodes import (
    SCOPES,
    callee,
    has_own_lines,
    indent,
    is_docstring,
    newline,
    removed,
    statements,
    text,
    within,
)
from codegym.syntax import Edit, ancestors

_LEAVING = frozenset({"raise_statement", "return_statement", "continue_statement",
                      "break_statement"})  # fmt: skip
_TALK = frozenset({b"print", b"warn", b"debug", b"info", b"warning", b"log"})


@python("removed_guard", "if_statement", "assert_statement", tier=3)
def removed_guard(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """``if a: raise b`` goes, and so does an assertion."""
    if node.type == "if_statement":
        body = node.child_by_field_name("consequence")
        inside = statements(body) if body is not None else []
        if node.child_by_field_name("alternative") is not None or not inside:
            return
        if inside[-1].type not in _LEAVING:
            return
    yield removed(node, source)


@python("removed_statement", "expression_statement", "delete_statement", tier=2)
def removed_statement(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """A call, or an assignment to what has a value already, goes."""
    if node.type == "delete_statement" or _can_go(node, source):
        yield removed(node, source)


def _can_go(statement: Node, source: bytes) -> bool:
    inner = statement.named_children[0]
    if inner.type == "await" and inner.named_children:
        inner = inner.named_children[0]
    if inner.type == "call":
        return callee(inner, source) not in _TALK
    if inner.type == "augmented_assignment":
        return True
    left = inner.child_by_field_name("left") if inner.type == "assignment" else None
    if left is None or inner.child_by_field_name("right") is None:
        return False
    if left.type == "identifier":
        return _is_set_before(left, source)
    return left.type in ("attribute", "subscript")


def _is_set_before(name: Node, source: bytes) -> bool:
    """Whether a variable has a value before its function sets it here."""
    function = next((one for one in ancestors(name) if one.type == "function_definition"), None)
    if function is None:
        return False
    parameters = function.child_by_field_name("parameters")
    wanted = text(name, source)
    earlier = [one for one in within(function, stop=SCOPES) if one.type == "identifier"]
    if parameters is not None:
        earlier += [one for one in within(parameters, stop=()) if one.type == "identifier"]
    return any(one.end_byte <= name.start_byte and text(one, source) == wanted for one in earlier)


@python("early_return", "function_definition", tier=3)
def early_return(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """The result is returned before it is complete: from within a loop, or at its first value."""
    body = node.child_by_field_name("body")
    inside = statements(body) if body is not None else []
    if len(inside) < 2 or inside[-1].type != "return_statement":
        return
    last, before = inside[-1], inside[-2]
    if before.type in ("for_statement", "while_statement"):
        yield from _into(before, last, source)
    if body is not None:
        yield from _at_once(body, last, before, source)


def _into(loop: Node, last: Node, source: bytes) -> Iterator[Edit]:
    """The return after a loop becomes the end of its body."""
    body = loop.child_by_field_name("body")
    inside = statements(body) if body is not None else []
    if loop.child_by_field_name("alternative") is not None or not inside:
        return
    end = inside[-1]
    if end.type not in _LEAVING and has_own_lines(end, source):
        moved = newline(source) + indent(end, source) + text(last, source)
        yield Edit(end.end_byte, last.end_byte, moved)


def _at_once(body: Node, last: Node, before: Node, source: bytes) -> Iterator[Edit]:
    """A return follows each statement that sets the result."""
    result = last.named_children[0] if last.named_children else None
    if result is None or result.type != "identifier":
        return
    for found in within(body, stop=SCOPES):
        if found.type not in ("assignment", "augmented_assignment"):
            continue
        left, statement = found.child_by_field_name("left"), found.parent
        if left is None or statement is None or text(left, source) != text(result, source):
            continue
        if statement == before or not has_own_lines(statement, source) or is_docstring(statement):
            continue
        line = newline(source) + indent(statement, source) + text(last, source)
        yield Edit(statement.end_byte, statement.end_byte, line)
