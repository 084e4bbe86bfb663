"""What is seen of a fault from outside: what was done, what came of it, what should have."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tree_sitter import Node

from codegym.mutation.trial import FRAME, Trial, raised
from codegym.syntax import Parsed, descendants, grammar, parse, statement_at, walk
from codegym.types import Tree

Nature = Literal["value", "error", "no_error", "unknown"]

_MAX_LINES = 30
_MAX_SAID = 12
_MAX_VALUE_CHARS = 200
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
#: What test tools write of two values, first and second, in their order.
_PAIRS = (
    re.compile(r"(?:AssertionError: )?assert (?P<first>.+?) == (?P<second>.+)"),
    re.compile(r"(?P<first>.+?) !== (?P<second>.+)"),
    re.compile(r".*expected:? ?<(?P<second>.*)> but was:? ?<(?P<first>.*)>"),
)
_SIDES = re.compile(r"(left|right): (.*)")
_WHERE = re.compile(r"\+\s+where (?P<got>.+?) = (?P<call>[\w.]+\(.*\))")
_ERROR = re.compile(r"(?P<type>[A-Z]\w*(?:Error|Exception|Warning)|[A-Z]\w*Exit|StopIteration)\b")
_NONE_RAISED = re.compile(r".*(DID NOT RAISE|not raised|Missing expected exception)")
_LITERALS = frozenset({
    "string", "integer", "float", "true", "false", "none", "list", "tuple", "dictionary", "set",
    "unary_operator", "concatenated_string", "number", "array", "object",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Symptom:
    """What one failing test sees.

    Attributes:
        nature: Two values that differ, an error, an error that does not come, or something else.
        code: The test's body up to where it fails, or ``""``.
        call: What was asked for there, or ``""``.
        subject: The name of what is called there, or ``""``.
        got: What came of it, or ``""``.
        expected: What should have, or ``""``.
        error: The class of the error, or ``""``.
        said: What was raised, line by line.
    """

    nature: Nature = "unknown"
    code: str = ""
    call: str = ""
    subject: str = ""
    got: str = ""
    expected: str = ""
    error: str = ""
    said: tuple[str, ...] = ()


def symptoms(tree: Tree, language: str, trial: Trial) -> tuple[Symptom, ...]:
    """What the examples of a trial saw, the plainest first."""
    seen = ((trial.example, trial.message), *trial.others)
    return tuple(_symptom(tree, language, test, message) for test, message in seen if test)


def said_of(message: str) -> tuple[str, ...]:
    """What was raised, without what differs each time and what is said of the test runner."""
    lines = (_ADDRESS.sub("0x...", line) for line in raised(message))
    return tuple(line for line in lines if line and not line.startswith("Use -v"))[:_MAX_SAID]


def _symptom(tree: Tree, language: str, test: str, message: str) -> Symptom:
    said = said_of(message)
    where = _failing_statement(tree, language, test, message)
    code = call = subject = ""
    literal_first = False
    if where is not None:
        parsed, body, statement, row = where
        code = _code(parsed, body, row)
        asked = statement and _asked(statement)
        if asked:
            call, literal_first = parsed.text(asked[0]).decode(errors="replace"), asked[1]
            subject = _subject(parsed, asked[0])
    nature, error = _nature(said)
    got, expected = _values(said, literal_first) if nature == "value" else ("", "")
    found = next((_WHERE.search(line) for line in said if _WHERE.search(line)), None)
    if found is not None and found["got"] == got and call:
        call = found["call"]  # with the values that names stand for
    return Symptom(nature, code, _in_one_line(call), subject, got, expected, error, said)


def _in_one_line(code: str) -> str:
    return re.sub(r",? \)", ")", " ".join(code.split()).replace("( ", "("))


def _nature(said: tuple[str, ...]) -> tuple[Nature, str]:
    if not said:
        return "unknown", ""
    if any(_NONE_RAISED.match(line) for line in said[:2]):
        return "no_error", ""
    if any(_values(said, literal_first=False)):
        return "value", ""
    error = _ERROR.match(said[0])
    if error is not None and error["type"] != "AssertionError":
        return "error", error["type"]
    return "unknown", ""


def _values(said: tuple[str, ...], literal_first: bool) -> tuple[str, str]:
    """What came and what should have, as they are written; empty where that is not to be told."""
    sides = {one[1]: one[2] for line in said if (one := _SIDES.fullmatch(line))}
    written = (one.fullmatch(line) for line in said for one in _PAIRS)
    found = next((one for one in written if one is not None), None)
    pair = (sides["left"], sides["right"]) if len(sides) == 2 else None
    if pair is None and found is not None:
        pair = found["first"], found["second"]
    if pair is None or max(map(len, pair)) > _MAX_VALUE_CHARS:
        return "", ""
    return (pair[1], pair[0]) if literal_first else pair


def _failing_statement(
    tree: Tree, language: str, test: str, message: str
) -> tuple[Parsed, Node, Node | None, int] | None:
    """A test's module, its body, the statement of it that fails, and that one's row."""
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
            return parsed, body, _statement(parsed, row), row
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


def _statement(parsed: Parsed, row: int) -> Node | None:
    """The statement that begins in a row, or goes on there."""
    lines = parsed.source.splitlines(keepends=True)
    column = len(lines[row]) - len(lines[row].lstrip())
    at = sum(map(len, lines[:row])) + column
    return statement_at(parsed, at, at)


def _code(parsed: Parsed, body: Node, row: int) -> str:
    lines = parsed.source.decode(errors="replace").splitlines()
    statement = _statement(parsed, row)
    end = row if statement is None else statement.end_point.row
    shown = lines[body.start_point.row : end + 1]
    return textwrap.dedent("\n".join(shown[-_MAX_LINES:]))


def _asked(statement: Node) -> tuple[Node, bool] | None:
    """What a comparison asks for, and whether what it is held against stands before it.

    Of another statement: the call that it is, or that it keeps the result of.
    """
    comparison = next(descendants(statement, "comparison_operator", "binary_expression"), None)
    if statement.type == "assert_statement" and comparison is not None:
        sides = comparison.named_children
        if len(sides) == 2:
            first, second = sides
            if second.type in _LITERALS:
                return first, False
            if first.type in _LITERALS:
                return second, True
            return first, False
    call = next(descendants(statement, "call", "call_expression", "method_invocation"), None)
    return None if call is None or statement.type == "with_statement" else (call, False)


def _subject(parsed: Parsed, asked: Node) -> str:
    """The name of what is called: ``total`` of ``basket.total()``."""
    called = asked.child_by_field_name("function") or asked.child_by_field_name("name")
    if called is None:
        return ""
    return parsed.text(called).decode(errors="replace").rpartition(".")[2]
