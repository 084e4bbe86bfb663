"""Python as its own parser reads it."""

from __future__ import annotations

import ast
import threading

#: Before Python 3.11.8 and 3.12.2, two threads that parse at once may both end in a `SystemError`
#: ("AST constructor recursion depth mismatch", python/cpython#106905).
_ONE = threading.Lock()


def parse_module(source: str | bytes) -> ast.Module:
    """A module's tree.

    Raises:
        SyntaxError: It is not Python of this version.
        ValueError: It holds what no source may, or says another encoding than it has.
        RecursionError: It is nested too deeply; so does ``MemoryError``.
    """
    with _ONE:
        return ast.parse(source)


def parse_expression(source: str | bytes) -> ast.expr:
    """The tree of one expression; raises as ``parse_module`` does."""
    with _ONE:
        return ast.parse(source, mode="eval").body
