"""What a test asks for where it fails, read from its own source."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from tree_sitter import Node

from codegym.mutation.statements.tested import Tested
from codegym.mutation.trial import FRAME
from codegym.syntax import Parsed, descendants, grammar, parse, statement_at, walk
from codegym.types import Tree
from codegym.workspace.hiding import is_test_file

Nature = Literal["value", "error", "no_error", "unknown"]

_MAX_LINES = 30
_ONE = ("expression_statement", "return_statement")
_CALLS = ("call", "call_expression", "method_invocation")
_COMPARED = ("comparison_operator", "binary_expression")
_EQUAL = re.compile(r"(?i)\w*equals?|assert_eq|is_?equal_?to")
_IN_COMPARING = re.compile(r": in __(eq|ne|lt|le|gt|ge|bool|len)__$", re.MULTILINE)
#: Such calls are values; so are those of classes.
_MAKERS = frozenset({"approx", "dict", "frozenset", "list", "range", "set", "tuple"})
_PLAIN = frozenset({
    "string", "integer", "float", "true", "false", "none", "unary_operator", "number",
    "concatenated_string", "null", "decimal_integer_literal", "string_literal", "character_literal",
    "integer_literal", "float_literal", "boolean_literal", "unary_expression",
})  # fmt: skip
_GATHERED = frozenset({
    "list", "tuple", "dictionary", "set", "array", "object", "pair", "argument_list", "arguments",
    "keyword_argument", "binary_operator", "parenthesized_expression",
    "property_identifier", "comment",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """What a test does where it fails; each is ``""`` where that is not clear.

    Attributes:
        code: The test's body up to there.
        held: The condition that it asserts there.
        ended: What ends in the error, if one is raised.
        compares: Whether it holds two sides against each other there, and nothing else.
        call: The side of a comparison that is not what should be.
        is_second: Whether that side stands second.
        subject: The function of the code under test whose result that is.
    """

    code: str = ""
    held: str = ""
    compares: bool = False
    ended: str = ""
    call: str = ""
    is_second: bool = False
    subject: str = ""


def asked(tree: Tree, language: str, test: str, message: str, nature: Nature) -> Asked:
    """What a test asks for in the statement that fails.

    Args:
        tree: All files.
        language: Of the test.
        test: Its id.
        message: What it said, with the places.
        nature: Of what it sees.
    """
    found = _place(tree, test, message, language)
    if found is None:
        return Asked()
    parsed, body, row = found
    statement = _statement(parsed, body, row, nature)
    code = _code(parsed, body, row, statement)
    if statement is None or statement.type in ("raise_statement", "throw_statement"):
        return Asked(code)
    tested = Tested(tree, parsed)
    condition = _condition(statement)
    raises = nature in ("error", "no_error")
    if not raises and not _is_own(message, test, statement):
        return Asked(code)  # a helper of the tests compares
    sides = _sides(parsed, statement if condition is None else condition)
    side, second = _side(parsed, body, statement, sides)
    about = side if sides else condition
    if raises and not _only(sides, side, message):
        about = _done(parsed, statement, row) if condition is None else condition
    return Asked(
        code=code,
        held="" if condition is None or raises else _text(parsed, condition),
        compares=bool(sides),
        ended="" if about is None or not raises else _text(parsed, about),
        call="" if side is None else _text(parsed, side),
        is_second=second,
        subject="" if about is None else tested.subject(about),
    )


def _text(parsed: Parsed, node: Node) -> str:
    """A node's source in one line, or ``""`` where it would not be the same."""
    source = parsed.text(node).decode(errors="replace").rstrip(";")
    rows = [line.strip().removesuffix("\\").rstrip() for line in source.splitlines()]
    strings = descendants(node, "string", "template_string")
    if len(rows) > 1 and (
        any(descendants(node, "comment"))
        or any(one.start_point.row < one.end_point.row for one in strings)
    ):
        return ""
    return re.sub(r"(?<=[(\[{])\n|,?\n(?=[)\]}])", "", "\n".join(rows)).replace("\n", " ")


def _place(tree: Tree, test: str, message: str, language: str) -> tuple[Parsed, Node, int] | None:
    """A test's module, its body, and the row of it that fails."""
    path, _, rest = test.partition("::")
    file = tree.get(path)
    rows = [int(line) - 1 for where, line in FRAME.findall(message) if where == path]
    if file is None or not rows:
        return None
    name = rest.partition("[")[0].rpartition("::")[2].encode()
    parsed = parse(file.data, language)
    for body in _bodies(parsed, name):
        row = next((row for row in rows if body.start_point.row <= row <= body.end_point.row), None)
        if row is not None:
            return parsed, body, row
    return None


def _bodies(parsed: Parsed, name: bytes) -> Iterator[Node]:
    """Bodies of the functions of a name."""
    functions = grammar(parsed.language).functions
    for node in walk(parsed.root):
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if node.type not in functions or named is None or body is None:
            continue
        if parsed.text(named) == name:
            yield body


def _statement(parsed: Parsed, body: Node, row: int, nature: Nature) -> Node | None:
    """The statement that begins in a row of a body, or goes on there; None if several may be it."""
    blocks = grammar(parsed.language).blocks
    here = [
        node
        for node in walk(body)
        if node.start_point.row == row and node.parent is not None and node.parent.type in blocks
        if node.type != "comment"
    ]
    if not here:
        lines = parsed.source.splitlines(keepends=True)
        column = len(lines[row]) - len(lines[row].lstrip())
        at = sum(map(len, lines[:row])) + column
        found = statement_at(parsed, at, at)
        return found if found is not None and found.start_byte >= body.start_byte else None
    if nature in ("value", "unknown"):
        here = [node for node in here if node.type == "assert_statement"] or here
    if nature == "no_error" and here[0].type == "with_statement":
        inside = here[0].child_by_field_name("body")
        here = [] if inside is None else inside.named_children
    return here[0] if len(here) == 1 else None


def _code(parsed: Parsed, body: Node, row: int, statement: Node | None) -> str:
    """A body up to a row, or to the end of the statement there."""
    end = row if statement is None else statement.end_point.row
    lines = parsed.source.decode(errors="replace").splitlines()[body.start_point.row : end + 1]
    if body.type == "block" and not parsed.text(body).startswith(b"{"):  # not what stands before it
        start = parsed.source[: body.start_byte].rpartition(b"\n")[2].decode(errors="replace")
        lines[0] = " " * len(start) + lines[0][len(start) :]
    return textwrap.dedent("\n".join(lines[-_MAX_LINES:]))


def _is_own(message: str, test: str, statement: Node) -> bool:
    """Whether no other code of the tests was under way: what was compared is compared here."""
    path = test.partition("::")[0]
    frames = [(where, int(line) - 1) for where, line in FRAME.findall(message)]
    where, row = next(one for one in reversed(frames) if one[0] == path or is_test_file(one[0]))
    return bool(where == path) and statement.start_point.row <= row <= statement.end_point.row


def _condition(statement: Node) -> Node | None:
    if statement.type != "assert_statement":
        return None
    found = next((one for one in statement.named_children if one.type != "comment"), None)
    while found is not None and found.type == "parenthesized_expression":
        found = found.named_children[0]
    return found


def _sides(parsed: Parsed, node: Node) -> tuple[Node, ...]:
    """The two that are compared by a condition, or by a call that says that it does that."""
    if node.type in _COMPARED:
        between = [child for child in node.children if not child.is_named]
        inside = [child for child in node.named_children if not child.is_extra]
        equal = len(between) == 1 and between[0].type in ("==", "is")
        return tuple(inside) if equal and len(inside) == 2 else ()
    while node.type == "expression_statement" and node.named_child_count == 1:
        node = node.named_children[0]
    called = node.child_by_field_name("function") or node.child_by_field_name("name")
    given = node.child_by_field_name("arguments")
    if node.type not in _CALLS or called is None or given is None or len(given.named_children) < 2:
        return ()
    name = re.split(r"[.:]", parsed.text(called).decode(errors="replace"))[-1]
    return tuple(given.named_children[:2]) if _EQUAL.fullmatch(name) else ()


def _side(
    parsed: Parsed, body: Node, statement: Node, sides: tuple[Node, ...]
) -> tuple[Node | None, bool]:
    """Which of two sides is not what should be, and whether it stands second."""
    if not sides:
        return None, False
    first, second = (_meant(parsed, body, statement, side) for side in sides)
    known = _known(parsed, first), _known(parsed, second)
    if known[0] < known[1]:
        return first, False
    return (second, True) if known[0] == _Known.VALUE else (None, False)


def _meant(parsed: Parsed, body: Node, statement: Node, side: Node) -> Node:
    """What a name stands for, where the test assigns it just for that, or the side itself."""
    if side.type != "identifier" or statement.parent is None or statement.parent.id != body.id:
        return side
    name = parsed.text(side)
    before = [one for one in body.named_children if one.end_byte <= statement.start_byte]
    for one in reversed(before):
        assignment = one.named_children[0] if one.type == "expression_statement" else one
        left, right = (assignment.child_by_field_name(field) for field in ("left", "right"))
        if assignment.type == "assignment" and left is not None and parsed.text(left) == name:
            return side if right is None else right
        changing = descendants(one, *_CALLS) if one.type == "assert_statement" else (one,)
        if any(parsed.text(each) == name for where in changing for each in walk(where)):
            break
    return side


class _Known(IntEnum):
    """How plainly code says what its value is."""

    ASKED = 0
    NAMED = 1
    VALUE = 2


def _known(parsed: Parsed, node: Node) -> _Known:
    if node.type in ("identifier", "attribute") and not any(descendants(node, *_CALLS)):
        return _Known.NAMED
    called = node.child_by_field_name("function")
    if node.type == "call" and called is not None:
        given = node.child_by_field_name("arguments")
        name = parsed.text(called).decode(errors="replace").rpartition(".")[2]
        makes = name[:1].isupper() or name in _MAKERS
        return _known(parsed, given) if makes and given is not None else _Known.ASKED
    if node.type in _PLAIN and not any(descendants(node, *_CALLS, "interpolation")):
        return _Known.VALUE
    if node.type not in _GATHERED:
        return _Known.ASKED
    inside = node.named_children
    if node.type == "keyword_argument":
        inside = inside[1:]
    if node.type == "binary_operator" and any(one.type in _CALLS for one in inside):
        return _Known.ASKED  # what an operator makes of objects
    return min((_known(parsed, one) for one in inside), default=_Known.VALUE)


def _only(sides: tuple[Node, ...], side: Node | None, message: str) -> bool:
    """Whether an error can but have come of that side: not of the other one, nor of comparing."""
    others = [one for one in sides if one.id != (side and side.id)]
    plain = len(others) == 1 and not any(descendants(others[0], *_CALLS))
    return plain and others[0].type not in _CALLS and not _IN_COMPARING.search(message)


def _done(parsed: Parsed, statement: Node, row: int) -> Node | None:
    """What a statement does, as far as it is one thing."""
    if statement.type == "decorated_definition":
        return next(
            (
                one.named_children[0]
                for one in statement.named_children
                if one.type == "decorator" and one.start_point.row == row
            ),
            None,
        )
    if any(descendants(statement, *grammar(parsed.language).blocks)):
        return None
    if statement.type in _ONE and statement.named_child_count == 1:
        inside = statement.named_children[0]
        left, right = (inside.child_by_field_name(field) for field in ("left", "right"))
        kept = inside.type == "assignment" and left is not None and left.type == "identifier"
        return right if kept else inside
    return statement
