"""Finding one's way in a tree."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from codegym.syntax.languages import grammar
from codegym.syntax.parsing import Parsed


def walk(node: Node, skip: frozenset[str] = frozenset()) -> Iterator[Node]:
    """A node and all named nodes below it, each before its children; none of types in ``skip``."""
    cursor = node.walk()
    while True:
        current = cursor.node
        entered = current is None or current.type not in skip
        if entered and current is not None and current.is_named:
            yield current
        if (entered and cursor.goto_first_child()) or cursor.goto_next_sibling():
            continue
        while cursor.goto_parent():
            if cursor.goto_next_sibling():
                break
        else:
            return


def descendants(node: Node, *types: str, stop: frozenset[str] = frozenset()) -> Iterator[Node]:
    """Named nodes of some types below a node, in order; nothing within those of ``stop``."""
    for child in node.named_children:
        if child.type in types:
            yield child
        if child.type not in stop:
            yield from descendants(child, *types, stop=stop)


def ancestors(node: Node) -> Iterator[Node]:
    """The nodes around a node, innermost first."""
    current = node.parent
    while current is not None:
        yield current
        current = current.parent


def is_inert(node: Node, language: str) -> bool:
    """Whether a node does nothing when it runs: it is part of a type, an import or the like."""
    wanted = grammar(language).inert
    return node.type in wanted or any(around.type in wanted for around in ancestors(node))


def function_at(parsed: Parsed, start: int, end: int) -> Node | None:
    """The innermost function that has a span of bytes, or None."""
    wanted = grammar(parsed.language).functions
    found = parsed.root.descendant_for_byte_range(start, end)
    while found is not None and found.type not in wanted:
        found = found.parent
    return found


def statement_at(parsed: Parsed, start: int, end: int) -> Node | None:
    """The innermost statement that has a span of bytes, or None between two of them."""
    blocks = grammar(parsed.language).blocks
    found = parsed.root.descendant_for_byte_range(start, end)
    while found is not None and (found.parent is None or found.parent.type not in blocks):
        found = found.parent
    return found


def qualified_name(parsed: Parsed, node: Node) -> str:
    """The names of the functions and classes that a node is in, itself included: ``A.b``."""
    kinds = grammar(parsed.language)
    names = []
    current: Node | None = node
    while current is not None:
        if current.type in kinds.functions | kinds.classes:
            name = _name(current)
            names.append("?" if name is None else parsed.text(name).decode(errors="replace"))
        current = current.parent
    return ".".join(reversed(names))


def _name(node: Node) -> Node | None:
    """The name of a function or a class, wherever its grammar has it."""
    for field in ("name", "declarator", "type"):  # C has it in the declarator, Rust's impl as type
        found = node.child_by_field_name(field)
        while found is not None and (inner := found.child_by_field_name("declarator")) is not None:
            found = inner
        if found is not None:
            return found
    holder = node.parent  # `const f = () => 1`, `{ f: () => 1 }`
    if holder is None or holder.child_by_field_name("value") != node:
        return None
    return holder.child_by_field_name("name") or holder.child_by_field_name("key")
