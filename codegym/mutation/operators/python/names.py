"""Operators that take the wrong thing of the right kind: another variable, another attribute."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tree_sitter import Node

from codegym.mutation.operators.base import python
from codegym.mutation.operators.python.nodes import (
    COMPREHENSIONS,
    SCOPES,
    one_of,
    replaced,
    text,
    within,
)
from codegym.syntax import Edit, ancestors

_INERT = frozenset({"type", "decorator", "parameters", "lambda_parameters"})
_TARGETS = ("left", "alias", "name")
_NEVER = frozenset({b"self", b"cls", b"_"})


@python("wrong_variable", "function_definition", tier=3)
def wrong_variable(node: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
    """A variable that is read becomes another one that is set by then."""
    body = node.child_by_field_name("body")
    if body is None:
        return
    known = dict.fromkeys(_parameters(node, source), body.start_byte)  # name to where it is set
    for found in within(body, stop=SCOPES | _INERT | COMPREHENSIONS):
        if found.type != "identifier":
            continue
        name = text(found, source)
        if _is_target(found):
            known.setdefault(name, _set_from(found))
        elif name in known and name not in _NEVER and _is_read(found):
            there = [other for other, start in known.items() if start <= found.start_byte]
            others = [other for other in there if other != name and other not in _NEVER]
            if others:
                yield replaced(found, one_of(others, rng))


def _parameters(function: Node, source: bytes) -> Iterator[bytes]:
    listed = function.child_by_field_name("parameters")
    for parameter in listed.named_children if listed is not None else ():
        name = parameter.child_by_field_name("name") or parameter
        if name.type != "identifier":
            name = next((one for one in name.named_children if one.type == "identifier"), name)
        if name.type == "identifier":
            yield text(name, source)


def _is_target(node: Node) -> bool:
    """Whether a name is set here."""
    child, parent = node, node.parent
    while parent is not None and parent.type in ("pattern_list", "tuple_pattern", "list_pattern"):
        child, parent = parent, parent.parent
    if parent is None or parent.type not in (
        "assignment",
        "for_statement",
        "as_pattern_target",
        "named_expression",
    ):
        return False
    if parent.type == "as_pattern_target":
        return True
    return any(parent.child_by_field_name(field) == child for field in _TARGETS)


def _set_from(target: Node) -> int:
    """Where a variable has its value: after the whole of an assignment."""
    for around in ancestors(target):
        if around.type in ("assignment", "named_expression"):
            return around.end_byte
        if around.type == "block":
            break
    return target.end_byte


def _is_read(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type in ("delete_statement", "global_statement", "expression_list"):
        return parent is not None and parent.type == "expression_list"
    names = {"keyword_argument": "name", "attribute": "attribute", "call": "function"}
    field = names.get(parent.type)
    if field is not None and parent.child_by_field_name(field) == node:
        return False
    return not (
        parent.type == "augmented_assignment" and parent.child_by_field_name("left") == node
    )


@python("wrong_attribute", "class_definition", tier=3)
def wrong_attribute(node: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
    """``self.a`` that is read becomes ``self.b``, where the class sets both."""
    body = node.child_by_field_name("body")
    if body is None:
        return
    mine = [one for one in within(body, stop={"class_definition"} | _INERT) if _is_own(one, source)]
    fields = [(_field(one), one) for one in mine]
    known = list(dict.fromkeys(text(name, source) for name, one in fields if _is_target(one)))
    for name, one in fields:
        parent = one.parent
        if parent is None or _is_target(one) or text(name, source) not in known:
            continue
        called = parent.type == "call" and parent.child_by_field_name("function") == one
        others = [other for other in known if other != text(name, source)]
        if not called and others:
            yield replaced(name, one_of(others, rng))


def _is_own(node: Node, source: bytes) -> bool:
    owner = node.child_by_field_name("object") if node.type == "attribute" else None
    return owner is not None and text(owner, source) == b"self"


def _field(attribute: Node) -> Node:
    return attribute.child_by_field_name("attribute") or attribute
