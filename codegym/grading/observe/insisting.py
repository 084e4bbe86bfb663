"""Copies of tests that go on whatever becomes of a statement: what unsolved code gives is seen.

Not all that a test asserts can be observed. What stays an assertion in the process is in the hands
of the code under test there; so what such code gives *after* it counts as given.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable
from functools import lru_cache

from codegym.grading.observe.rewriting import NAME
from codegym.grading.observe.tables import last_name
from codegym.syntax.python import parse_expression, parse_module

_ON = "_cg_on"
#: Blocks that look at what is raised in them.
_LOOKING = frozenset({"raises", "raised", "assertRaises", "assertRaisesRegex", "suppress"})
_KEPT = (ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)
_BLOCKS = (ast.For, ast.While, ast.If, ast.With)


@lru_cache(maxsize=4096)  # tasks that share a pool ask for the same
def insistent(text: str) -> str:
    """The source of a function, each statement in a block that goes on after what it raises.

    Args:
        text: The function with its decorators, indented as it stands in a class.
    """
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    body = parse_module(f"if 1:\n{text}" if indent else text).body
    found = body[0].body[0] if isinstance(body[0], ast.If) else body[0]
    if not isinstance(found, ast.FunctionDef):
        return text
    found.body = [_with(f"{NAME}.onward()", _each(found.body), _ON)]
    return textwrap.indent(ast.unparse(ast.fix_missing_locations(found)), indent)


def _each(body: Iterable[ast.stmt]) -> list[ast.stmt]:
    return [_one(statement) for statement in body]


def _one(node: ast.stmt) -> ast.stmt:
    if isinstance(node, _KEPT):
        return node
    looks = isinstance(node, ast.With) and any(
        isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) in _LOOKING
        for item in node.items
    )
    if isinstance(node, _BLOCKS) and not looks:
        node.body = _each(node.body)
    if isinstance(node, ast.For | ast.While | ast.If):
        node.orelse = _each(node.orelse)
    return _with(_ON, [node])


def _with(context: str, body: list[ast.stmt], name: str = "") -> ast.With:
    target = ast.Name(name, ast.Store()) if name else None
    return ast.With([ast.withitem(parse_expression(context), target)], body)
