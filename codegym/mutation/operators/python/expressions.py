"""Operators that put another sign into an expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from tree_sitter import Node

from codegym.mutation.operators.base import python
from codegym.mutation.operators.python.nodes import one_of, replaced, text
from codegym.syntax import Edit

_COMPARISONS: Mapping[bytes, tuple[bytes, ...]] = {
    b"<": (b"<=", b">="),
    b"<=": (b"<", b">"),
    b">": (b">=", b"<="),
    b">=": (b">", b"<"),
    b"==": (b"!=",),
    b"!=": (b"==",),
    b"is": (b"is not",),
    b"is not": (b"is",),
    b"in": (b"not in",),
    b"not in": (b"in",),
}
_ARITHMETIC: Mapping[bytes, tuple[bytes, ...]] = {
    b"+": (b"-",),
    b"-": (b"+",),
    b"*": (b"+", b"//"),
    b"/": (b"*", b"//"),
    b"//": (b"/", b"*"),
    b"%": (b"//", b"*"),
    b"**": (b"*",),
    b"<<": (b">>",),
    b">>": (b"<<",),
    b"&": (b"|",),
    b"|": (b"&", b"^"),
    b"^": (b"|", b"&"),
}
_STRINGS = frozenset({"string", "concatenated_string"})


@python("comparison", "comparison_operator", tier=1)
def comparison(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """``a < b`` becomes ``a <= b``, or the opposite of what it was."""
    for sign in node.children_by_field_name("operators"):
        for other in _COMPARISONS.get(b" ".join(text(sign, source).split()), ()):
            yield replaced(sign, other)


@python("boolean", "boolean_operator", tier=1)
def boolean(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """``and`` becomes ``or``, and the other way."""
    sign = node.child_by_field_name("operator")
    if sign is not None:
        yield replaced(sign, b"or" if text(sign, source) == b"and" else b"and")


@python("arithmetic", "binary_operator", tier=1)
def arithmetic(node: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
    """``a + b`` becomes ``a - b``; text that is joined or filled in stays."""
    sign = node.child_by_field_name("operator")
    sides = node.child_by_field_name("left"), node.child_by_field_name("right")
    if sign is None or any(side is None or side.type in _STRINGS for side in sides):
        return
    others = _ARITHMETIC.get(text(sign, source))
    if others:
        yield replaced(sign, one_of(others, rng))


@python("augmented_assignment", "augmented_assignment", tier=1)
def augmented_assignment(node: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
    """``a += b`` becomes ``a -= b`` or ``a = b``."""
    sign = node.child_by_field_name("operator")
    if sign is None:
        return
    yield replaced(sign, b"=")
    others = _ARITHMETIC.get(text(sign, source).removesuffix(b"="))
    if others:
        yield replaced(sign, one_of(others, rng) + b"=")


@python("removed_sign", "not_operator", "unary_operator", "await", tier=1)
def removed_sign(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """``not a``, ``-a``, ``~a`` and ``await a`` become ``a``."""
    operand = node.named_children[-1] if node.named_children else None
    if operand is not None and not text(node, source).startswith(b"+"):
        yield replaced(node, text(operand, source))
