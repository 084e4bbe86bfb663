"""Recipes that put, move or take away what is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tree_sitter import Node

from codegym.mutation.operators.matches import Match
from codegym.syntax import Edit, ancestors, grammar, walk

_SEPARATOR = re.compile(rb"[ \t]*;[ \t]*")
_PUT = re.compile(r"@\(?(\w+)")
_POINTERS = ("pointer_declarator", "array_declarator")


def write(match: Match, template: str) -> Iterator[Edit]:
    """Something else in its place, put together of what the pattern captured."""
    put = set(_PUT.findall(template))
    if any(match.node(name).type == "super" for name in put):
        return  # it is nothing without a method
    made = match.filled(template)
    before, after = match.beside()
    if _is_letter(before) and _is_letter(made[:1]):  # `return-a`
        made = b" " + made
    yield match.replaced(made + b" " if _is_letter(made[-1:]) and _is_letter(after) else made)


def _is_letter(byte: bytes) -> bool:
    """Whether it can be part of a name."""
    return byte.isalnum() or byte in (b"_", b"$") or byte >= b"\x80"


def swap(match: Match, _: str) -> Iterator[Edit]:
    """``@a`` and ``@b`` change places; what is between them stays."""
    yield from _swapped(match, match.node("a"), match.node("b"))


def _swapped(match: Match, first: Node, second: Node) -> Iterator[Edit]:
    one, other = match.text(first), match.text(second)
    between = match.source[first.end_byte : second.start_byte]
    if one != other:
        yield Edit(first.start_byte, second.end_byte, other + between + one)


def remove(match: Match, _: str) -> Iterator[Edit]:
    """A statement goes with its lines; where it shares them, or its place needs one, ``empty``."""
    at, parent = match.at, match.at.parent
    in_block = parent is not None and parent.type in grammar(match.dialect.language).blocks
    alone = parent is not None and len(items(parent)) < 2 and not match.dialect.hollow
    lines = match.own_lines(at) if in_block and not alone else None
    if lines is not None:
        yield Edit(*lines, b"")
    elif match.dialect.empty:
        yield match.replaced(match.dialect.empty)
    elif in_block:
        rest = _SEPARATOR.match(match.source, at.end_byte)
        yield Edit(at.start_byte, at.end_byte if rest is None else rest.end(), b"")


def erase(match: Match, _: str) -> Iterator[Edit]:
    """Something goes, with its lines if they are its own."""
    start, end = match.at.start_byte, match.at.end_byte
    if (lines := match.own_lines(match.at)) is not None:
        start, end = lines
    elif match.beside()[0].isspace() and match.beside()[1] == b" ":
        end += 1
    yield Edit(start, end, b"")


def erase_lines(match: Match, _: str) -> Iterator[Edit]:
    """What has lines of its own goes with them; anything else stays."""
    if (lines := match.own_lines(match.at)) is not None:
        yield Edit(*lines, b"")


def unwrap(match: Match, _: str) -> Iterator[Edit]:
    """A statement becomes what is in its ``@body``, where lines are told by their indent."""
    body = match.node("body")
    outer, inner = match.indent(match.at), match.indent(body)
    first, *rest = match.text(body).splitlines(keepends=True)
    if body.start_point.row == match.at.start_point.row or not inner.startswith(outer):
        return
    within = (one for one in walk(body) if one.type == "string")
    if any(one.start_point.row != one.end_point.row for one in within):
        return  # its lines are its own
    if all(line.startswith(inner) or not line.strip() for line in rest):
        moved = [outer + line[len(inner) :] if line.strip() else line for line in rest]
        yield match.replaced(first + b"".join(moved))


def cut(match: Match, _: str) -> Iterator[Edit]:
    """What follows ``@after`` goes, up to the end of ``@at``."""
    yield Edit(match.node("after").end_byte, match.at.end_byte, b"")


def items(listed: Node) -> list[Node]:
    """What a list holds, without comments."""
    return [one for one in listed.named_children if "comment" not in one.type]


def item(match: Match, _: str) -> Iterator[Edit]:
    """A part of a list goes, with its comma."""
    parent = match.at.parent
    held = items(parent) if parent is not None else []
    at = held.index(match.at)
    if at > 0:
        yield Edit(held[at - 1].end_byte, match.at.end_byte, b"")
    elif len(held) > 1:
        yield Edit(match.at.start_byte, held[1].start_byte, b"")
    else:
        yield match.replaced(b"")


def arguments(match: Match, _: str) -> Iterator[Edit]:
    """Neighbours change places; where types are checked, only such as look alike."""
    pointers = _pointers(match.at) if match.dialect.typed else frozenset()
    for first, second in pairwise(items(match.at)):
        alike = (first.text in pointers) == (second.text in pointers) and first.type == second.type
        if alike or not match.dialect.typed:
            yield from _swapped(match, first, second)


def _pointers(node: Node) -> frozenset[bytes | None]:
    """What the function around declares as C's pointers.

    A compiler takes one for a number, and what the code does then differs as addresses do.
    """
    around = next((one for one in ancestors(node) if one.type == "function_definition"), node)
    return frozenset(
        name.text
        for one in walk(around)
        if one.type in _POINTERS and (name := one.child_by_field_name("declarator")) is not None
    )
