"""Operators on what decides: conditions, filters, branches and loops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tree_sitter import Node

from codegym.mutation.operators.base import python
from codegym.mutation.operators.python.nodes import (
    grouped,
    has_own_lines,
    replaced,
    statements,
    swapped,
)
from codegym.syntax import Edit


@python(
    "negated_condition",
    "if_statement",
    "elif_clause",
    "conditional_expression",
    "if_clause",
    tier=2,
)
def negated_condition(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """``if a:`` becomes ``if not a:``; other operators see to comparisons and to ``not``."""
    if node.type == "conditional_expression":
        condition: Node | None = node.named_children[1]
    elif node.type == "if_clause":
        condition = node.named_children[0]
    else:
        condition = node.child_by_field_name("condition")
    if condition is not None and condition.type not in ("comparison_operator", "not_operator"):
        yield replaced(condition, b"not " + grouped(condition, source))


@python("dropped_filter", "if_clause", tier=2)
def dropped_filter(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """``[a for a in b if c]`` becomes ``[a for a in b]``."""
    if node.parent is not None and node.parent.type != "case_clause":
        start = len(source[: node.start_byte].rstrip())
        yield Edit(start, node.end_byte, b"")


@python("swapped_branches", "if_statement", "conditional_expression", tier=2)
def swapped_branches(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """What ``if`` and ``else`` do changes places."""
    if node.type == "conditional_expression":
        first, _condition, second = node.named_children[:3]
        # The grammar reads `a := b if c else d` as `(a := b) if c else d`; Python does not.
        if first.type != "named_expression":
            yield swapped(first, second, source)
        return
    rest = node.children_by_field_name("alternative")
    body = node.child_by_field_name("consequence")
    if len(rest) != 1 or rest[0].type != "else_clause" or body is None:
        return
    other = rest[0].child_by_field_name("body")
    if other is not None and all(_stands_apart(block, source) for block in (body, other)):
        yield swapped(body, other, source)


def _stands_apart(block: Node, source: bytes) -> bool:
    """Whether a block has lines of its own, so that it can stand elsewhere."""
    found = statements(block)
    return bool(found) and all(has_own_lines(one, source) for one in found)


@python("loop_control", "break_statement", "continue_statement", tier=2)
def loop_control(node: Node, _: bytes, __: np.random.Generator) -> Iterator[Edit]:
    """``break`` becomes ``continue``, and the other way."""
    yield replaced(node, b"continue" if node.type == "break_statement" else b"break")
