"""Operators that take the wrong thing of the right kind: another variable, another field."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tree_sitter import Node, QueryCursor

from codegym.mutation.operators.dialect import Dialect
from codegym.mutation.operators.predicates import holds
from codegym.mutation.operators.sections import compiled
from codegym.syntax import Edit, ancestors, grammar, is_inert

#: What else has names of its own, in any of the languages.
_SCOPES = frozenset({
    "catch_clause", "closure_expression", "for_clause", "if_expression", "if_statement",
    "match_arm", "switch_rule", "try_with_resources_statement", "type_switch_statement",
})  # fmt: skip
#: Fields of what names a thing and does not read it.
_NAMING = ("constructor", "declarator", "function", "label", "macro", "name", "parameter",
           "pattern", "type")  # fmt: skip
_LISTS = frozenset({"expression_list", "array_pattern", "object_pattern", "tuple_pattern"})
_STEPS = frozenset({"update_expression", "inc_statement", "dec_statement"})
_NEVER = frozenset({b"self", b"_", b"this", b"arguments", b"undefined"})


@dataclass(frozen=True, slots=True)
class _Set:
    """A name that has a value from some byte on; its type is a guess, or ``b""``."""

    name: bytes
    start: int
    type: bytes


@dataclass(frozen=True, slots=True)
class Variables:
    """Finds the edits of ``wrong_variable``.

    Its patterns capture ``@set``, what a variable is declared by, with its ``@type`` or its first
    ``@value`` where they are written; and ``@read``, whatever may read one.
    """

    dialect: Dialect
    patterns: str

    def __call__(self, root: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
        """A variable that is read becomes another one of its functions that is set by then."""
        known, reads = self._found(root, source)
        for read in reads:
            name = source[read.start_byte : read.end_byte]
            there: dict[bytes, _Set] = {}
            for around in ancestors(read):
                for one in known.get(around.id, ()):
                    if one.start <= read.start_byte:
                        there.setdefault(one.name, one)
            mine = there.get(name)
            if mine is None or name in _NEVER:
                continue
            others = [
                one.name
                for one in there.values()
                if one.name != name and one.name not in _NEVER and self._fits(mine, one)
            ]
            if others:
                other = others[int(rng.integers(len(others)))]
                yield Edit(read.start_byte, read.end_byte, other)

    def _found(self, root: Node, source: bytes) -> tuple[dict[int, list[_Set]], list[Node]]:
        """What is set, by the scope that it is known in, the last first; and what reads."""
        query = compiled(self.dialect.language, self.patterns)
        known: dict[int, list[_Set]] = defaultdict(list)
        places: set[int] = set()
        reads: dict[int, Node] = {}
        for _, captures in QueryCursor(query).matches(root, holds):
            for read in captures.get("read", ()):
                reads[read.start_byte] = read
            for node in captures.get("set", ()):
                places.add(node.start_byte)
                scope, start = self._scope(node)
                if scope is not None:
                    kind = _type(captures, source)
                    name = source[node.start_byte : node.end_byte]
                    known[scope.id].insert(0, _Set(name, start, kind))
        wanted = [reads[at] for at in sorted(reads) if at not in places]
        return known, [
            one for one in wanted if _is_read(one) and not is_inert(one, self.dialect.language)
        ]

    def _scope(self, node: Node) -> tuple[Node | None, int]:
        """Where a name is known, and from where on; None for the names of a whole file."""
        kinds = grammar(self.dialect.language)
        scopes = kinds.blocks | kinds.functions | self.dialect.loops | _SCOPES
        below = node
        for around in ancestors(node):
            if around.type in scopes:
                break
            below = around
        else:
            return None, 0
        if around.parent is None or around.type in kinds.classes:
            return None, 0
        body = around.child_by_field_name("body")
        first = around.child_by_field_name("initializer") or around.child_by_field_name("init")
        in_header = around.type in self.dialect.loops and below != first
        return around, body.start_byte if in_header and body is not None else below.end_byte

    def _fits(self, mine: _Set, other: _Set) -> bool:
        """Whether a compiler would let one stand for the other, as far as it shows."""
        return not self.dialect.typed or mine.type == other.type


def _type(captures: dict[str, list[Node]], source: bytes) -> bytes:
    if "type" in captures:
        declared = captures["type"][0]
        return source[declared.start_byte : declared.end_byte]
    return captures["value"][0].type.encode() if "value" in captures else b""


def _is_read(node: Node) -> bool:
    """Whether a name stands for its value."""
    child, parent = node, node.parent
    while parent is not None and parent.type in _LISTS:
        child, parent = parent, parent.parent
    if parent is None or parent.type in _STEPS:
        return False
    if any(parent.child_by_field_name(field) == child for field in _NAMING):
        return False
    return "binary" in parent.type or parent.child_by_field_name("left") != child


@dataclass(frozen=True, slots=True)
class Fields:
    """Finds the edits of ``wrong_attribute``.

    Its patterns capture ``@field`` of ``@owner``; or ``@declared``, a field's declaration, with its
    ``@type``.
    """

    dialect: Dialect
    patterns: str

    def __call__(self, root: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
        """A field that is read becomes another that the same owner has nearby."""
        query = compiled(self.dialect.language, self.patterns)
        types: dict[bytes, bytes] = {}
        groups: dict[tuple[int, bytes], list[Node]] = defaultdict(list)
        for _, captures in QueryCursor(query).matches(root, holds):
            for node in captures.get("declared", ()):
                types.setdefault(_text(node, source), _type(captures, source))
            for node in captures.get("field", ()):
                if not _is_called(node) and not is_inert(node, self.dialect.language):
                    owner = _text(captures["owner"][0], source)
                    groups[self._home(node), owner].append(node)
        for fields in groups.values():
            names = list(dict.fromkeys(_text(one, source) for one in fields))
            for one in fields:
                name = _text(one, source)
                others = [
                    other
                    for other in names
                    if other != name and (types.get(other) == types.get(name) or not types)
                ]
                if others and one.parent is not None and _is_read(one.parent):
                    other = others[int(rng.integers(len(others)))]
                    yield Edit(one.start_byte, one.end_byte, other)

    def _home(self, node: Node) -> int:
        """The class that a field is used in, or else the outermost function."""
        kinds = grammar(self.dialect.language)
        found = 0
        for around in ancestors(node):
            if around.type in kinds.classes:
                return around.id
            if around.type in kinds.functions:
                found = around.id
        return found


def _is_called(field: Node) -> bool:
    owner = field.parent
    around = None if owner is None else owner.parent
    return around is not None and around.child_by_field_name("function") == owner


def _text(node: Node, source: bytes) -> bytes:
    return source[node.start_byte : node.end_byte]
