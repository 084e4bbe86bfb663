"""Problem statements: what a user of the code would see, and nothing of where the fault is."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from tree_sitter import Node

from codegym.mutation.candidates import Candidate
from codegym.mutation.trial import FRAME, raised
from codegym.syntax import Parsed, grammar, parse, statement_at, walk
from codegym.types import Tree

_MAX_LINES = 30
_MAX_SAID = 12
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def statement_of(candidate: Candidate, tree: Tree, example: str, message: str) -> str:
    """Write the statement of a task.

    Args:
        candidate: The edit that it comes from; only a feature is named.
        tree: The repository.
        example: One test that fails.
        message: What it said.
    """
    if candidate.kind == "ImplementFeature":
        return _feature(candidate)
    said = "\n".join(_said(message))
    shown = _reproduction(candidate.source.language, tree, example, message)
    parts = ["Something that used to work gives a wrong result."]
    if shown:
        parts += ["To reproduce it:", textwrap.indent(shown, "    ")]
    if said:
        parts += ["This is what happens:", textwrap.indent(said, "    ")]
    return "\n\n".join(parts)


def _feature(candidate: Candidate) -> str:
    return (
        f"`{candidate.function}` in `{candidate.path}` is not implemented. Write it: its "
        "signature, its description, the code that uses it and the tests say what it is to do."
    )


def _said(message: str) -> list[str]:
    """What was raised, without what differs each time and what is said of the test runner."""
    lines = (_ADDRESS.sub("0x...", line) for line in raised(message))
    return [line for line in lines if line and not line.startswith("Use -v")][:_MAX_SAID]


def _reproduction(language: str, tree: Tree, example: str, message: str) -> str:
    """The body of the test up to where it fails, or ``""`` where that is not to be found."""
    path, _, rest = example.partition("::")
    file = tree.get(path)
    rows = [int(line) - 1 for where, line in FRAME.findall(message) if where == path]
    if file is None or not rows:
        return ""
    name = rest.partition("[")[0].rpartition("::")[2].encode()
    parsed = parse(file.data, language)
    for body in _bodies(parsed, name):
        row = next((row for row in rows if body.start_point.row <= row <= body.end_point.row), None)
        if row is not None:
            lines = file.data.decode(errors="replace").splitlines()
            shown = lines[body.start_point.row : _end_row(parsed, lines, row) + 1]
            return textwrap.dedent("\n".join(shown[-_MAX_LINES:]))
    return ""


def _bodies(parsed: Parsed, name: bytes) -> Iterator[Node]:
    """Bodies of the functions of a name."""
    functions = grammar(parsed.language).functions
    for node in walk(parsed.root):
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if node.type not in functions or named is None or body is None:
            continue
        if parsed.text(named) == name:
            yield body


def _end_row(parsed: Parsed, lines: list[str], row: int) -> int:
    """The last row of the statement that begins in a row, or goes on there."""
    column = len(lines[row].encode()) - len(lines[row].lstrip().encode())
    at = sum(len(line) for line in parsed.source.splitlines(keepends=True)[:row]) + column
    statement = statement_at(parsed, at, at)
    return row if statement is None else statement.end_point.row
