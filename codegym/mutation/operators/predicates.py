"""What patterns can ask for besides what tree-sitter knows: ``(#not-in? @at class_body)``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from tree_sitter import Node

from codegym.syntax import ancestors, walk


def holds(
    predicate: str,
    args: list[tuple[str, Literal["capture", "string"]]],
    pattern_index: int,  # noqa: ARG001 it is called so
    captures: dict[str, list[Node]],
) -> bool:
    """Whether a predicate holds for a match; tree-sitter calls it, by these names."""
    wanted = predicate.removeprefix("not-").removesuffix("?")
    nodes = [one for word, kind in args if kind == "capture" for one in captures.get(word, ())]
    words = frozenset(word for word, kind in args if kind == "string")
    return PREDICATES[wanted](nodes, words) != predicate.startswith("not-")


def _in(nodes: Sequence[Node], types: frozenset[str]) -> bool:
    """Whether it lies in a node of some types."""
    return any(around.type in types for around in ancestors(nodes[0]))


def _below(nodes: Sequence[Node], types: frozenset[str]) -> bool:
    """Whether the node right around it is of some types."""
    parent = nodes[0].parent
    return parent is not None and parent.type in types


def _has(nodes: Sequence[Node], types: frozenset[str]) -> bool:
    """Whether it has a node of some types in it."""
    return any(one.type in types for one in walk(nodes[0]))


def _has_child(nodes: Sequence[Node], types: frozenset[str]) -> bool:
    """Whether a node of some types is right in it."""
    return any(one.type in types for one in nodes[0].named_children)


def _of_kind(nodes: Sequence[Node], types: frozenset[str]) -> bool:
    """Whether it is of some types."""
    return nodes[0].type in types


def _many(nodes: Sequence[Node], _: frozenset[str]) -> bool:
    """Whether it is a list of more than one."""
    return sum("comment" not in one.type for one in nodes[0].named_children) > 1


def _called(nodes: Sequence[Node], words: frozenset[str]) -> bool:
    """Whether it is, or is in, an argument of a function of some names."""
    listed = next((one for one in ancestors(nodes[0]) if "arguments" in _kind(one)), None)
    call = None if listed is None else listed.parent
    for field in ("name", "function", "constructor", "type"):
        found = None if call is None else call.child_by_field_name(field)
        if found is not None:
            return re.split(r"\W+", _text(found))[-1] in words
    return False


def _kind(node: Node) -> str:
    return node.type.replace("argument_list", "arguments")


def _declared(nodes: Sequence[Node], _: frozenset[str]) -> bool:
    """Whether the same name is declared around, or elsewhere in the function, for a block only."""
    name = nodes[0].text
    loop = next(one for one in ancestors(nodes[0]) if one.type.startswith("for_"))
    for around in ancestors(loop):
        for one in walk(around) if "function" in around.type or around.parent is None else ():
            if one.text == name and "identifier" in one.type and _in_block(one):
                return True
        if around.type.startswith("for_") and name in _header(around):
            return True
        if "function" in around.type:
            return False
    return False


def _in_block(name: Node) -> bool:
    """Whether a name stands where one is declared for a block, and not for a loop's rounds."""
    parent = name.parent
    if parent is not None and parent.type in ("class_declaration", "function_declaration"):
        return parent.child_by_field_name("name") == name
    child = name
    for around in ancestors(name):
        if around.type == "variable_declarator":
            if around.child_by_field_name("name") != child:
                return False
            listed = around.parent
            home = None if listed is None else listed.parent
            if listed is None or home is None or listed.type != "lexical_declaration":
                return False
            return not home.type.startswith("for_")
        if around.type == "catch_clause":
            return around.child_by_field_name("parameter") == child
        child = around
    return False


def _header(loop: Node) -> set[bytes | None]:
    body = loop.child_by_field_name("body")
    end = loop.end_byte if body is None else body.start_byte
    return {one.text for one in walk(loop) if one.end_byte <= end and one.type == "identifier"}


def _target(nodes: Sequence[Node], _: frozenset[str]) -> bool:
    """Whether it is, or is in, what is set and not read."""
    child = nodes[0]
    for around in ancestors(child):
        if "assignment" in around.type and around.child_by_field_name("left") == child:
            return True
        if around.type in ("update_expression", "unary_expression"):
            return True  # `++`, `delete`
        child = around
    return False


def _alike(nodes: Sequence[Node], _: frozenset[str]) -> bool:
    """Whether both are of one type."""
    return nodes[0].type == nodes[-1].type


def _mentions(nodes: Sequence[Node], _: frozenset[str]) -> bool:
    """Whether the first has the second in it, as an expression of its own."""
    named = re.escape(_text(nodes[-1]))
    return re.search(rf"(?<![\w.])(?:{named})(?!\w)", _text(nodes[0])) is not None


def _later(nodes: Sequence[Node], _: frozenset[str]) -> bool:
    """Whether what is named is read after it, in the same block."""
    (node, *_rest) = nodes
    statement = node
    for around in ancestors(node):
        if "block" in around.type or around.type in ("statement_list", "compound_statement"):
            break
        statement = around
    named = re.compile(rf"(?<![\w.]){re.escape(_text(node))}(?!\w|\s*:?=[^=])")
    return any(named.search(_text(one)) for one in _following(statement))


def _following(node: Node) -> Iterator[Node]:
    after = node.next_named_sibling
    while after is not None:
        yield after
        after = after.next_named_sibling


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


PREDICATES: Mapping[str, Callable[[Sequence[Node], frozenset[str]], bool]] = {
    "in": _in,
    "below": _below,
    "has": _has,
    "has-child": _has_child,
    "kind": _of_kind,
    "many": _many,
    "declared": _declared,
    "called": _called,
    "target": _target,
    "alike": _alike,
    "mentions": _mentions,
    "later": _later,
}
