"""One place that a query found, and what edits there are made of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tree_sitter import Node

from codegym.mutation.operators.dialect import Dialect
from codegym.syntax import Edit

_REFERENCE = re.compile(rb"@\((\w+)\)|@(\w+)")


@dataclass(frozen=True, slots=True)
class Match:
    """A match of one pattern.

    Attributes:
        captures: What the pattern names. ``at`` is what is edited.
        source: The whole text.
        dialect: Its language.
        rng: All chance comes from here.
    """

    captures: Mapping[str, Sequence[Node]]
    source: bytes
    dialect: Dialect
    rng: np.random.Generator

    @property
    def at(self) -> Node:
        """What is edited."""
        return self.captures["at"][0]

    def node(self, name: str) -> Node:
        """The first node of a capture."""
        return self.captures[name][0]

    def text(self, node: Node) -> bytes:
        """A node's source."""
        return self.source[node.start_byte : node.end_byte]

    def grouped(self, node: Node) -> bytes:
        """An expression's source, in parentheses where it needs some among operators."""
        text = self.text(node)
        plain = node.type in self.dialect.atoms and not re.match(self.dialect.awkward, text)
        return text if plain else b"(" + text + b")"

    def filled(self, template: str) -> bytes:
        """A template with captures in it: ``@a`` as they stand, ``@(a)`` fit for any expression."""

        def put(found: re.Match[bytes]) -> bytes:
            grouped, plain = found.groups()
            if grouped:
                return self.grouped(self.node(grouped.decode()))
            return self.text(self.node(plain.decode()))

        return _REFERENCE.sub(put, template.encode())

    def replaced(self, replacement: bytes, node: Node | None = None) -> Edit:
        """Something else in a node's place."""
        node = node or self.at
        return Edit(node.start_byte, node.end_byte, replacement)

    def beside(self) -> tuple[bytes, bytes]:
        """The bytes right before and after what is edited; empty at the ends of the text."""
        start, end = self.at.start_byte, self.at.end_byte
        return self.source[max(0, start - 1) : start], self.source[end : end + 1]

    def one_of(self, options: Sequence[bytes]) -> bytes:
        """Any of them."""
        return options[int(self.rng.integers(len(options)))]

    def indent(self, node: Node) -> bytes:
        """What the line of a node begins with."""
        start = self.source.rfind(b"\n", 0, node.start_byte) + 1
        line = self.source[start : node.start_byte]
        return line[: len(line) - len(line.lstrip())]

    @property
    def newline(self) -> bytes:
        """How the text ends its lines."""
        return b"\r\n" if b"\r\n" in self.source else b"\n"

    def own_lines(self, node: Node) -> tuple[int, int] | None:
        """The span of a node's lines, if nothing but a comment shares them with it."""
        start = self.source.rfind(b"\n", 0, node.start_byte) + 1
        end = self.source.find(b"\n", node.end_byte) + 1 or len(self.source)
        after = self.source[node.end_byte : end].strip()
        comment = after.startswith((b"//", b"#")) or (
            after[:2] == b"/*" and after.find(b"*/") == len(after) - 2
        )
        if self.source[start : node.start_byte].strip() or (after and not comment):
            return None
        return start, end
