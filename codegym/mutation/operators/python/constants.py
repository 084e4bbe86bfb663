"""Operators that change what is written out: numbers, truth values, text, defaults."""

from __future__ import annotations

import ast
import codecs
from collections.abc import Iterator

import numpy as np
from tree_sitter import Node

from codegym.mutation.operators.base import python
from codegym.mutation.operators.python.nodes import (
    callee,
    is_docstring,
    is_in,
    one_of,
    replaced,
    text,
)
from codegym.syntax import Edit, ancestors
from codegym.syntax.python import parse_expression

_PARAMETERS = ("default_parameter", "typed_default_parameter")
_FLAGS = {b"True": b"False", b"False": b"True"}


@python("changed_constant", "integer", "float", "true", "false", tier=1)
def changed_constant(node: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
    """A number becomes one more or less, ``True`` becomes ``False``."""
    parent = node.parent
    if parent is None or parent.type in (*_PARAMETERS, "slice", "subscript") or _is_label(node):
        return
    if _in_range(node, source):
        return
    others = _others(node, source)
    if others:
        yield replaced(node, one_of(others, rng))


@python("changed_default", *_PARAMETERS, tier=2)
def changed_default(node: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
    """A parameter's default is another."""
    value = node.child_by_field_name("value")
    if value is None:
        return
    others = [b"False"] if value.type == "none" else _others(value, source)
    if value.type == "string":
        others = _other_texts(value, source)
    if others:
        yield replaced(value, one_of(others, rng))


@python("changed_text", "string", tier=1)
def changed_text(node: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
    """Text that is no message loses its last letter, or is in the other case."""
    parent = node.parent
    if parent is None or parent.type in (*_PARAMETERS, "concatenated_string"):
        return
    if is_docstring(node) or _is_label(node) or is_in(node, "raise_statement", "assert_statement"):
        return
    others = _other_texts(node, source)
    if others:
        yield replaced(node, one_of(others, rng))


def _is_label(node: Node) -> bool:
    """Whether it is of no use to a program: a part of a pattern, or of ``__all__`` and the like."""
    for around in ancestors(node):
        if around.type == "assignment":
            left = around.child_by_field_name("left")
            return left is not None and (left.text or b"").startswith(b"__")
        if around.type in ("case_pattern", "decorator", "interpolation"):
            return True
        if around.type == "block":
            return False
    return False


def _in_range(node: Node, source: bytes) -> bool:
    """Whether it is an end of a range, which another operator sees to."""
    around = node.parent.parent if node.parent and node.parent.type == "argument_list" else None
    return around is not None and callee(around, source) == b"range"


def _others(node: Node, source: bytes) -> list[bytes]:
    """What could be there instead of a number or a truth value."""
    written = text(node, source)
    if written in _FLAGS:
        return [_FLAGS[written]]
    try:
        number = ast.literal_eval(parse_expression(written.decode()))
    except (ValueError, SyntaxError):
        return []  # a form that this version of Python does not know
    if isinstance(number, bool) or not isinstance(number, int | float):
        return []
    if isinstance(number, float):
        return [repr(number + 1).encode(), repr(number / 2).encode()] if number else [b"1.0"]
    show = hex if written[:2].lower() == b"0x" else str
    nearby = (number + 1, number - 1) if number else (1,)
    return [show(one).encode() for one in nearby]


def _other_texts(node: Node, source: bytes) -> list[bytes]:
    """Text without its last letter, and in the other case; not where it has parts."""
    if [child.type for child in node.named_children] != [
        "string_start",
        "string_content",
        "string_end",
    ]:
        return []
    content = node.named_children[1]
    if content.named_children:  # escapes
        return []
    start, end = (text(node.named_children[at], source) for at in (0, 2))
    try:
        letters = text(content, source).decode()
    except UnicodeDecodeError:
        return []
    if b"b" in start.lower() and not letters.isascii():
        return []
    found = dict.fromkeys((letters[:-1], letters.swapcase()))
    return [
        start + one.encode() + end
        for one in found
        if one != letters and "\\" not in one and not _is_one_codec(one, letters)
    ]


def _is_one_codec(one: str, other: str) -> bool:
    """Whether both name the same encoding, as ``utf8`` and ``UTF8`` do."""
    try:
        return codecs.lookup(one) == codecs.lookup(other)
    except (LookupError, ValueError):
        return False
