"""The shapes of functions and calls that are alike in all languages."""

from __future__ import annotations

import re

from tree_sitter import Node

from codegym.syntax import Parsed, descendants, grammar

_PLAIN = frozenset({"identifier", "required_parameter", "parameter_declaration", "parameter",
                    "formal_parameter", "typed_parameter"})  # fmt: skip
_NAME_FIELDS = ("name", "pattern", "declarator")
_OWN = frozenset({b"self", b"cls"})
_RETURNS = ("return_statement", "return_expression")
_WHOLE = re.compile(rb"[iu](8|16|32|64|128|size)")
_ARITHMETIC = frozenset({b"-", b"*", b"/", b"//"})
_BINARY = frozenset({"binary_operator", "binary_expression"})
#: Parts of an argument list that are no arguments by position.
_UNEVEN = frozenset({"keyword_argument", "list_splat", "dictionary_splat", "spread_element",
                     "generator_expression", "variadic_argument"})  # fmt: skip


def plain_parameters(parsed: Parsed, function: Node) -> list[tuple[Node, bytes]]:
    """A function's parameters, each with its type's text; none where any is more than a name.

    What it is called on does not count.
    """
    holder: Node | None = function
    while holder is not None and holder.child_by_field_name("parameters") is None:
        holder = holder.child_by_field_name("declarator")
    listed = holder.child_by_field_name("parameters") if holder is not None else None
    if listed is None:
        return []
    found = []
    for node in listed.named_children:
        if node.type in {"comment", "self_parameter"} or parsed.text(node) in _OWN:
            continue
        name = _name(node)
        if node.type not in _PLAIN or name is None or node.child_by_field_name("value"):
            return []
        found.append((node, parsed.text(node).replace(parsed.text(name), b"", 1).strip()))
    return found


def arguments(call: Node) -> list[Node]:
    """A call's arguments; none where any is not given by position."""
    listed = call.child_by_field_name("arguments")
    if listed is None or listed.type in _UNEVEN:
        return []
    found = [node for node in listed.named_children if node.type != "comment"]
    return [] if any(node.type in _UNEVEN for node in found) else found


def returned(parsed: Parsed, function: Node) -> Node | None:
    """What a function with a single `return` gives back, where that is a product or the like."""
    body = function.child_by_field_name("body")
    if body is None:
        return None
    stop = grammar(parsed.language).functions
    found = list(descendants(body, *_RETURNS, stop=stop))
    if len(found) != 1 or not found[0].named_children:
        return None
    value = found[0].named_children[0]
    if value.type == "expression_list" and value.named_child_count == 1:
        value = value.named_children[0]
    kind = function.child_by_field_name("return_type")
    if parsed.language == "rust" and (kind is None or not _WHOLE.fullmatch(parsed.text(kind))):
        return None  # there, 1000 is of no other type
    operator = value.child_by_field_name("operator")
    if value.type not in _BINARY or operator is None:
        return None
    return value if parsed.text(operator) in _ARITHMETIC else None


def _name(parameter: Node) -> Node | None:
    if parameter.type == "identifier":
        return parameter
    if parameter.type == "typed_parameter":
        first = parameter.named_children[0]
        return first if first.type == "identifier" else None
    names = [named for field in _NAME_FIELDS for named in parameter.children_by_field_name(field)]
    return names[0] if len(names) == 1 and names[0].type == "identifier" else None
