"""Parsing bytes, anew or after edits."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node, Parser, Tree

from codegym.syntax.edits import Edit, apply_edits
from codegym.syntax.languages import load_language


@dataclass(frozen=True, slots=True)
class Parsed:
    """Source text with its tree."""

    source: bytes
    language: str
    tree: Tree

    @property
    def root(self) -> Node:
        """The tree's root."""
        return self.tree.root_node

    @property
    def is_clean(self) -> bool:
        """Whether all of it was understood: no part is an error, or missing."""
        return not self.tree.root_node.has_error

    def text(self, node: Node) -> bytes:
        """A node's source."""
        return self.source[node.start_byte : node.end_byte]


def parse(source: bytes, language: str) -> Parsed:
    """Parse source text, whatever it holds.

    Raises:
        NotFoundError: There is no such language.
        UnavailableError: Its grammar is not installed.
    """
    return Parsed(source, language, Parser(load_language(language)).parse(source))


def reparse(parsed: Parsed, edits: Sequence[Edit]) -> Parsed:
    """Parse what edits make of a text, in the time that the change takes and not the whole.

    Raises:
        ValueError: Edits overlap, or lie beyond the end.
    """
    after = apply_edits(parsed.source, edits)
    tree = copy.copy(parsed.tree)  # nodes of the old one stay as they are
    source = parsed.source
    for edit in sorted(edits, reverse=True):  # from the end, so that the spans stay true
        source = source[: edit.start] + edit.replacement + source[edit.end :]
        new_end = edit.start + len(edit.replacement)
        tree.edit(
            edit.start,
            edit.end,
            new_end,
            point(parsed.source, edit.start),
            point(parsed.source, edit.end),
            point(source, new_end),
        )
    return Parsed(after, parsed.language, Parser(load_language(parsed.language)).parse(after, tree))


def point(source: bytes, at: int) -> tuple[int, int]:
    """Row and column of a byte, both from 0 and in bytes."""
    return source.count(b"\n", 0, at), at - (source.rfind(b"\n", 0, at) + 1)
