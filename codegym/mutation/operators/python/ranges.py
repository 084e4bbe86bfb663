"""Off by one: ends of ranges, of slices, and places in sequences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tree_sitter import Node

from codegym.mutation.operators.base import python
from codegym.mutation.operators.python.nodes import arguments, callee, grouped, replaced, text
from codegym.syntax import Edit

_SUMS = (b"+", b"-")


@python("off_by_one", "call", "slice", "subscript", tier=2)
def off_by_one(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """``range(n)`` becomes ``range(n - 1)``, ``a[1:]`` becomes ``a[2:]``, ``a[0]`` ``a[1]``."""
    for bound in _bounds(node, source):
        for shifted in _shifted(bound, source):
            yield replaced(bound, shifted)


def _bounds(node: Node, source: bytes) -> list[Node]:
    if node.type == "call":
        if callee(node, source) != b"range":
            return []
        return [one for one in arguments(node)[:2] if one.type != "list_splat"]
    if node.type == "slice":
        colons = [child.start_byte for child in node.children if child.type == ":"]
        step = colons[1] if len(colons) > 1 else node.end_byte + 1
        return [child for child in node.named_children if child.start_byte < step]
    places = node.children_by_field_name("subscript")
    return [one for one in places if len(places) == 1 and _is_position(one, source)]


def _is_position(node: Node, source: bytes) -> bool:
    """Whether a subscript can only be a number: a name could be a key."""
    if node.type == "unary_operator":
        return text(node, source).startswith(b"-") and node.named_children[-1].type == "integer"
    return node.type == "integer" or _is_sum(node, source)


def _is_sum(node: Node, source: bytes) -> bool:
    sign, right = node.child_by_field_name("operator"), node.child_by_field_name("right")
    return (
        node.type == "binary_operator"
        and sign is not None
        and text(sign, source) in _SUMS
        and right is not None
        and right.type == "integer"
    )


def _shifted(node: Node, source: bytes) -> Iterator[bytes]:
    """An expression, one more and one less."""
    written = text(node, source)
    try:
        number = int(written.replace(b" ", b""))
    except ValueError:
        yield from _moved(node, source)
        return
    yield b"%d" % (number + 1)
    if number != 0:  # a[-1:] for a[0:] is another fault than being off by one
        yield b"%d" % (number - 1)


def _moved(node: Node, source: bytes) -> Iterator[bytes]:
    left = node.child_by_field_name("left")
    if _is_sum(node, source) and left is not None and text(node, source).endswith(b" 1"):
        yield text(left, source)
        return
    whole = text(node, source) if _is_sum(node, source) else grouped(node, source)
    yield whole + b" + 1"
    yield whole + b" - 1"
