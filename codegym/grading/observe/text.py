"""Python source as bytes, changed in places; lines keep their numbers."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from codegym.syntax.python import parse_module

Span = tuple[int, int]
Edit = tuple[int, int, str]


@dataclass(frozen=True)
class Source:
    """A parsed module; offsets are those of its UTF-8 bytes, lines ended by line feeds."""

    data: bytes
    tree: ast.Module
    starts: tuple[int, ...]

    def span(self, node: ast.AST) -> Span:
        """Where a node (that has a place) begins and ends."""
        first, column = getattr(node, "lineno"), getattr(node, "col_offset")  # noqa: B009
        last, end = getattr(node, "end_lineno"), getattr(node, "end_col_offset")  # noqa: B009
        return self.starts[first - 1] + column, self.starts[last - 1] + end

    def text(self, node: ast.AST) -> str:
        """A node's source."""
        start, end = self.span(node)
        return self.data[start:end].decode()

    def newlines(self, start: int, end: int) -> str:
        """As many line ends as there are in a part."""
        return "\n" * self.data.count(b"\n", start, end)

    def comments(self) -> list[Edit]:
        """Edits that empty every comment."""
        edits = []
        lines = self.data.decode().split("\n")
        for token in tokenize.generate_tokens(io.StringIO(self.data.decode()).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                start = self.starts[row - 1] + len(lines[row - 1][:column].encode())
                edits.append((start, start + len(token.string.encode()), ""))
        return edits


def read(source: bytes) -> Source | None:
    """Parse; None for what is not Python of this version, or not UTF-8."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        text = source.decode("utf-8-sig")
        if encoding not in {"utf-8", "utf-8-sig"} and not text.isascii():
            return None
        data = text.replace("\r\n", "\n").replace("\r", "\n").encode()
        tree = parse_module(data)
        list(tokenize.generate_tokens(io.StringIO(data.decode()).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return None
    starts = [0]
    for line in data.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return Source(data, tree, tuple(starts))


def compose(source: Source, whole: Span, pieces: Sequence[str | Span]) -> list[Edit]:
    """Edits that leave, of a part, the given spans with text between, before and after them.

    Text before a span ends inside a bracket, and so does text after the last one begin: there the
    line ends of what goes are kept.
    """
    edits: list[Edit] = []
    at, text = whole[0], ""
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
        else:
            edits.append((at, piece[0], text + source.newlines(at, piece[0])))
            at, text = piece[1], ""
    edits.append((at, whole[1], source.newlines(at, whole[1]) + text))
    return edits


def blank(source: Source, statement: ast.stmt) -> Edit:
    """An edit that makes a statement do nothing."""
    start, end = source.span(statement)
    lines = source.newlines(start, end)
    return start, end, f"({lines})" if lines else "pass"


def apply(data: bytes, edits: Iterable[Edit], within: Span | None = None) -> bytes:
    """Carry out edits. One inside another that replaces more is dropped.

    Args:
        data: What to change.
        edits: Insertions (``start == end``) at one place are carried out in the order given.
        within: Give back this part alone; edits outside it are left out.
    """
    first, last = within or (0, len(data))
    done, at = [], first
    ordered = sorted(edits, key=lambda edit: (edit[0], edit[0] != edit[1], -edit[1]))
    for start, end, text in ordered:
        if start < at or end > last:
            continue
        done += [data[at:start], text.encode()]
        at = end
    return b"".join([*done, data[at:last]])
