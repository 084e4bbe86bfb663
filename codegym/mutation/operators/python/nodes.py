"""What operators for Python have in common: edits of whole nodes, statements and lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from tree_sitter import Node

from codegym.syntax import Edit, ancestors

_T = TypeVar("_T")

#: Scopes of their own; what is in them is not their surroundings'.
SCOPES = frozenset({"function_definition", "class_definition", "lambda"})
COMPREHENSIONS = frozenset({
    "list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression",
})  # fmt: skip
#: Expressions that need no parentheses, whatever comes before or after.
_ATOMS = frozenset({
    "attribute", "call", "dictionary", "false", "float", "identifier", "integer", "list", "none",
    "parenthesized_expression", "set", "string", "subscript", "true", "tuple",
}) | COMPREHENSIONS  # fmt: skip


def text(node: Node, source: bytes) -> bytes:
    """A node's source."""
    return source[node.start_byte : node.end_byte]


def replaced(node: Node, replacement: bytes) -> Edit:
    """Something else in a node's place."""
    return Edit(node.start_byte, node.end_byte, replacement)


def swapped(first: Node, second: Node, source: bytes) -> Edit:
    """Two nodes in each other's place; what is between them stays."""
    between = source[first.end_byte : second.start_byte]
    return Edit(
        first.start_byte, second.end_byte, text(second, source) + between + text(first, source)
    )


def one_of(options: Sequence[_T], rng: np.random.Generator) -> _T:
    """Any of them."""
    return options[int(rng.integers(len(options)))]


def grouped(node: Node, source: bytes) -> bytes:
    """An expression's source, in parentheses where it needs some among operators."""
    return text(node, source) if node.type in _ATOMS else b"(" + text(node, source) + b")"


def is_in(node: Node, *types: str) -> bool:
    """Whether a node is within one of some types, in the same function."""
    for around in ancestors(node):
        if around.type in types:
            return True
        if around.type in SCOPES:
            return False
    return False


def is_docstring(node: Node) -> bool:
    """Whether a string, or the statement that it is, is a docstring or a bare string."""
    statement = node if node.type == "expression_statement" else node.parent
    if statement is None or statement.type != "expression_statement":
        return False
    return len(statement.named_children) == 1 and statement.named_children[0].type in (
        "string",
        "concatenated_string",
    )


def statements(block: Node) -> list[Node]:
    """A block's statements, without comments."""
    return [child for child in block.named_children if child.type != "comment"]


def indent(node: Node, source: bytes) -> bytes:
    """What the line of a node begins with."""
    start = source.rfind(b"\n", 0, node.start_byte) + 1
    line = source[start : node.start_byte]
    return line[: len(line) - len(line.lstrip())]


def newline(source: bytes) -> bytes:
    """How the text ends its lines."""
    return b"\r\n" if b"\r\n" in source else b"\n"


def has_own_lines(node: Node, source: bytes) -> bool:
    """Whether nothing but a comment shares a statement's lines with it."""
    start, end = _lines(node, source)
    after = source[node.end_byte : end].strip()
    return not source[start : node.start_byte].strip() and (not after or after.startswith(b"#"))


def removed(statement: Node, source: bytes) -> Edit:
    """A statement gone with its lines; ``pass`` where its block would be empty."""
    block = statement.parent
    alone = block is None or len(statements(block)) < 2
    if alone or not has_own_lines(statement, source):
        return replaced(statement, b"pass")
    start, end = _lines(statement, source)
    return Edit(start, end, b"")


def _lines(node: Node, source: bytes) -> tuple[int, int]:
    start = source.rfind(b"\n", 0, node.start_byte) + 1
    end = source.find(b"\n", node.end_byte)
    return start, len(source) if end < 0 else end + 1


def arguments(call: Node) -> list[Node]:
    """A call's arguments, without comments; empty for ``f(x for x in y)``."""
    listed = call.child_by_field_name("arguments")
    if listed is None or listed.type != "argument_list":
        return []
    return [child for child in listed.named_children if child.type != "comment"]


def callee(call: Node, source: bytes) -> bytes:
    """What is called, as it is written; its last part for an attribute."""
    function = call.child_by_field_name("function")
    if function is None:
        return b""
    if function.type == "attribute":
        name = function.child_by_field_name("attribute")
        return b"" if name is None else text(name, source)
    return text(function, source)


def within(node: Node, *, stop: Iterable[str]) -> Iterator[Node]:
    """Named nodes below a node, in order, without what lies in nodes of some types."""
    shut = frozenset(stop)
    for child in node.named_children:
        yield child
        if child.type not in shut:
            yield from within(child, stop=shut)
