"""Cuts the functions out of a Python file that edits of it lie in: they can be compiled alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from codegym.syntax import Edit, Parsed, ancestors, apply_edits, parse, walk

_FUNCTION, _DECORATED = "function_definition", "decorated_definition"


@dataclass(frozen=True, slots=True)
class Cut:
    """An outermost function of a file: in classes and statements, and in no other function.

    Attributes:
        start: First byte of its first line.
        end: First byte after it.
        line: Its first line, from 1.
        headers: What it stands in, outermost first, a line each.
        future: What the file imports from ``__future__``.
    """

    start: int
    end: int
    line: int
    headers: tuple[str, ...]
    future: tuple[str, ...]

    def text(self, source: bytes, edits: Iterable[Edit] = ()) -> bytes:
        """Its lines, after edits of the file that lie in it."""
        return apply_edits(source[self.start : self.end], self.moved(edits))

    def moved(self, edits: Iterable[Edit]) -> list[Edit]:
        """Edits of the file as edits of its lines."""
        at = self.start
        return [Edit(one.start - at, one.end - at, one.replacement) for one in edits]

    def alone(self, source: bytes, edits: Iterable[Edit] = ()) -> bytes:
        """A source that holds it and what it stands in; its lines keep their numbers."""
        head = b"\n" * (self.line - 1 - len(self.headers))
        head += "".join(f"{one}\n" for one in self.headers).encode()
        return head + self.text(source, edits)


def cuts(parsed: Parsed, edits: Iterable[Edit]) -> dict[Cut, list[Edit]] | None:
    """The functions that edits lie in, each with its own; None where one lies in none."""
    found: dict[Cut, list[Edit]] = {}
    for edit in edits:
        function = _outermost(parsed, edit)
        cut = None if function is None else _cut(parsed, function)
        if cut is None:
            return None
        found.setdefault(cut, []).append(edit)
    return found


def _outermost(parsed: Parsed, edit: Edit) -> Node | None:
    node = parsed.root.descendant_for_byte_range(edit.start, edit.end)
    found = None
    while node is not None:
        if node.type == _FUNCTION:
            found = node
        node = node.parent
    if found is None:
        return None
    decorated = found.parent
    return decorated if decorated is not None and decorated.type == _DECORATED else found


def _cut(parsed: Parsed, function: Node) -> Cut | None:
    source, row = parsed.source, function.start_point.row
    start = function.start_byte - function.start_point.column
    if source[start : function.start_byte].strip():
        return None
    headers: list[str] = []
    for block in ancestors(function):
        if block.type != "block" or block.parent is None:
            continue
        header = _header(parsed, block.parent)
        if header is None:
            return None
        headers.append(header)
    if len(headers) > row:
        return None
    return Cut(start, function.end_byte, row + 1, tuple(reversed(headers)), _future(parsed))


def _header(parsed: Parsed, node: Node) -> str | None:
    """A line that means the same to what stands in it, as far in; None where there is none."""
    first = parsed.source[node.start_byte - node.start_point.column :]
    indent = first[: len(first) - len(first.lstrip(b" \t"))].decode()
    if node.type != "class_definition":
        return f"{indent}if 1:"
    name = node.child_by_field_name("name")
    if name is None or node.child_by_field_name("type_parameters") is not None:
        return None
    return f"{indent}class {parsed.text(name).decode()}:"


def _future(parsed: Parsed) -> tuple[str, ...]:
    return _imported(parsed.source) if b"__future__" in parsed.source else ()


@lru_cache(maxsize=256)
def _imported(source: bytes) -> tuple[str, ...]:
    found: set[str] = set()
    for node in walk(parse(source, "python").root):
        if node.type == "future_import_statement":
            for child in node.children_by_field_name("name"):
                name = child.child_by_field_name("name") or child
                found.add(source[name.start_byte : name.end_byte].decode())
    return tuple(sorted(found))
