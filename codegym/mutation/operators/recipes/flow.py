"""Recipes for what decides where a program goes: returns, loops, whole bodies."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from codegym.mutation.operators.matches import Match
from codegym.mutation.operators.recipes.places import items, remove
from codegym.syntax import Edit, ancestors, grammar

_MIN_LINES = 3
_STATEMENTS = ("_statement", "_declaration", "_item")


def loop_control(match: Match, _: str) -> Iterator[Edit]:
    """``break`` and ``continue`` for each other in a loop; in a choice, ``break`` is forgotten."""
    dialect = match.dialect
    functions = grammar(dialect.language).functions
    for around in ancestors(match.at):
        if around.type in functions:
            return
        if around.type in dialect.loops:
            wanted = b"continue" if match.text(match.at).startswith(b"break") else b"break"
            end = match.at.start_byte + len(match.text(match.at).rstrip(b"; \t\r\n"))
            yield Edit(match.at.start_byte, end, wanted)
            return
        if around.type in dialect.switches:
            if dialect.switches and match.text(match.at).startswith(b"break"):
                yield from remove(match, "")
            return


def append(match: Match, template: str) -> Iterator[Edit]:
    """A line more at the end of a block, unless its end is never reached."""
    inside = _statements(match.at)
    if not inside or _core(inside[-1]).type in match.dialect.leaving:
        return
    last = inside[-1]
    # In Rust a block may end in an expression, which is a statement only with a semicolon.
    is_value = template.endswith(";") and not last.type.endswith(_STATEMENTS)
    joint = b";" if is_value else b""
    line = joint + match.newline + match.indent(last) + match.filled(template)
    yield Edit(last.end_byte, last.end_byte, line)


def at_once(match: Match, _: str) -> Iterator[Edit]:
    """The function's last return follows ``@at``, which sets ``@result``, at once."""
    kinds = grammar(match.dialect.language)
    if match.at.parent is None or match.at.parent.type not in kinds.blocks:
        return
    function = next((one for one in ancestors(match.at) if one.type in kinds.functions), None)
    body = None if function is None else function.child_by_field_name("body")
    inside = _statements(body) if body is not None else []
    if len(inside) < 2 or match.own_lines(match.at) is None or inside[-2] == match.at:
        return
    last, result = inside[-1], match.text(match.node("result"))
    if not re.fullmatch(rb"(return\s+)?" + re.escape(result) + rb"\s*;?", match.text(last)):
        return
    said = match.text(last).rstrip(b";")
    said = said if said.startswith(b"return") else b"return " + said
    ending = b";" if match.text(match.at).endswith(b";") else b""
    line = match.newline + match.indent(match.at) + said + ending
    yield Edit(match.at.end_byte, match.at.end_byte, line)


def zero(match: Match, _: str) -> Iterator[Edit]:
    """A returned value becomes one that says nothing, of the type that the function names."""
    value = _zero(match)
    if value and value != match.text(match.at):
        yield match.replaced(value)


def _zero(match: Match) -> bytes | None:
    dialect = match.dialect
    functions = grammar(dialect.language).functions
    function = next((one for one in ancestors(match.at) if one.type in functions), None)
    if function is None:
        return None
    declared = function.child_by_field_name(dialect.returns)
    if declared is None:
        return None
    parent = match.at.parent
    if parent is not None and parent.type == "expression_list":
        types = _types(declared)
        if len(types) != len(items(parent)):
            return None
        declared = types[items(parent).index(match.at)]
    pointer = function.child_by_field_name("declarator")
    stars = b"*" if pointer is not None and pointer.type == "pointer_declarator" else b""
    written = match.text(declared) + stars
    return next((said for form, said in dialect.zeros if re.fullmatch(form, written)), None)


def _types(declared: Node) -> list[Node]:
    """The types of several results, one for each."""
    if declared.type != "parameter_list":
        return [declared]
    found = []
    for one in items(declared):
        kind = one.child_by_field_name("type")
        names = one.children_by_field_name("name")
        found += [kind or one] * max(1, len(names))
    return found


def stub(match: Match, _: str) -> Iterator[Edit]:
    """A body of several lines goes, its comments too, in a function that is in no other."""
    functions = grammar(match.dialect.language).functions
    if any(one.type in functions for one in ancestors(match.at.parent or match.at)):
        return
    body, inside = match.at, _statements(match.at)
    if not inside or inside[-1].end_point.row - inside[0].start_point.row + 1 < _MIN_LINES:
        return
    said = _stub(match)
    if said is None or (said and match.text(inside[0]).startswith(said.rstrip(b";"))):
        return
    outer = match.indent(body)
    inner = match.indent(inside[0])
    line = match.newline + inner + said if said else b""
    yield match.replaced(b"{" + line + match.newline + outer + b"}")


def _stub(match: Match) -> bytes | None:
    stub = match.dialect.stub
    if b"{zero}" not in stub:
        return stub
    function = match.at.parent
    declared = None if function is None else function.child_by_field_name(match.dialect.returns)
    if function is None or declared is None:
        return None
    inside = Match({"at": [match.at]}, match.source, match.dialect, match.rng)
    value = _zero(inside)
    if value is None:
        return b"" if match.text(declared) == b"void" else None
    return stub.replace(b"{zero}", value)


def _statements(block: Node) -> list[Node]:
    """A block's statements; some grammars put a list between."""
    inside = items(block)
    if len(inside) == 1 and inside[0].type == "statement_list":
        return items(inside[0])
    return inside


def _core(statement: Node) -> Node:
    """A statement without what only makes it one."""
    if statement.type == "expression_statement" and statement.named_children:
        return statement.named_children[0]
    return statement
