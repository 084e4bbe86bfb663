"""Which tests run which lines of an environment's sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from codegym.syntax import Edit, Parsed, ancestors, descendants, grammar, statement_at

#: The id under which lines are recorded that ran while tests were collected.
IMPORT = ""

_Lines = Mapping[str, frozenset[int]]


@dataclass(frozen=True)
class Coverage:
    """What was recorded.

    Attributes:
        tests: Test id to file, in the repository, to lines; ``""`` for what ran between tests.
    """

    tests: Mapping[str, _Lines]

    @cached_property
    def _by_line(self) -> Mapping[tuple[str, int], frozenset[str]]:
        found: dict[tuple[str, int], set[str]] = {}
        for test_id, files in self.tests.items():
            for path, lines in files.items():
                for line in lines:
                    found.setdefault((path, line), set()).add(test_id)
        return {place: frozenset(ids) for place, ids in found.items()}

    def tests_of(self, path: str, lines: Sequence[int]) -> frozenset[str]:
        """Tests that run any of some lines of a file.

        Lines that run only when the file is imported count as run by all tests that run any part of
        that file.
        """
        reached: set[str] = set()
        for line in lines:
            reached |= self._by_line.get((path, line), frozenset())
        tests = reached - {IMPORT}
        if not tests and IMPORT in reached:
            users = (one for one, files in self.tests.items() if files.get(path))
            tests = set(users) - {IMPORT}
        return frozenset(tests)


def lines_of(parsed: Parsed, edit: Edit) -> range:
    """The lines that run where an edit has an effect, from 1.

    Those of the statement that it is in, without the statements within that one; those of a
    function's body where the edit is of its parameters; the edit's own where it takes in several
    statements, or is in a later clause of one.
    """
    start, end = _trimmed(parsed.source, edit)
    statement = statement_at(parsed, start, end)
    node = parsed.root.descendant_for_byte_range(start, end)
    kinds = grammar(parsed.language)
    if statement is None or (node is not None and node.type in kinds.blocks):
        return _rows(parsed.source, start, end)
    inner = next(descendants(statement, *kinds.blocks), None)
    if inner is None:
        return _rows(parsed.source, statement.start_byte, statement.end_byte)
    function = _function(statement, kinds.functions)
    if function is not None and end <= inner.start_byte:
        return _rows(parsed.source, inner.start_byte, inner.end_byte)
    if start >= inner.end_byte:  # a clause of its own: elif, except
        return _rows(parsed.source, start, end)
    header = len(parsed.source[: inner.start_byte].rstrip())
    return _rows(parsed.source, statement.start_byte, header)


def _function(statement: Node, functions: frozenset[str]) -> Node | None:
    """A statement that is a function, below its decorators."""
    if statement.type in functions:
        return statement
    return next((child for child in statement.named_children if child.type in functions), None)


def _trimmed(source: bytes, edit: Edit) -> tuple[int, int]:
    """An edit's span without the blanks at its ends; for what is put in, the text before it."""
    start, end = edit.start, edit.end
    while start < end and source[start : start + 1].isspace():
        start += 1
    while end > start and source[end - 1 : end].isspace():
        end -= 1
    return (max(0, start - 1), start) if start == end else (start, end)


def _rows(source: bytes, start: int, end: int) -> range:
    first = source.count(b"\n", 0, start) + 1
    return range(first, first + source.count(b"\n", start, end) + 1)


def depth_of(parsed: Parsed, edit: Edit) -> int:
    """How many blocks an edit lies in, within its function."""
    kinds = grammar(parsed.language)
    node = parsed.root.descendant_for_byte_range(*_trimmed(parsed.source, edit))
    depth = 0
    for around in ancestors(node) if node is not None else ():
        if around.type in kinds.functions:
            break
        depth += around.type in kinds.blocks and around.parent is not None
    return depth
