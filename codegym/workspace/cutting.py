"""Taking functions out of Python source text, line by line, and what only they used."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from codegym.syntax.python import parse_module

Names = tuple[str, ...]
#: What is used without being named: hooks and set-up; and tests, which nothing has to use.
_KEPT = ("pytest", "__", "setup", "teardown", "setUp", "tearDown", "test", "Test")
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left of a source text.

    Attributes:
        source: The text.
        cut: How many functions were taken out.
        missing: Names that were not found.
        tests_left: Whether any function or method that looks like a test is left.
    """

    source: bytes
    cut: int
    missing: frozenset[Names]
    tests_left: bool


def cut(
    source: bytes, names: Collection[Names], *, anywhere: bool = False, orphans: bool = False
) -> Cut | None:
    """Take functions out, with their decorators and the comments above them.

    Args:
        source: Python source text.
        names: Each the names of the classes around a function, and its own.
        anywhere: Go by a function's own name alone, in whatever class it is.
        orphans: Also take out definitions of the module that only these functions used.

    Returns:
        None where the text cannot be read as Python.
    """
    tree = _parse(source)
    if tree is None:
        return None
    wanted = {each[-1:] for each in names} if anywhere else set(names)
    found: dict[Names, list[ast.stmt]] = {}
    for name, node in _functions(tree.body, ()):
        key = name[-1:] if anywhere else name
        if key in wanted:
            found.setdefault(key, []).append(node)
    gone = {node for nodes in found.values() for node in nodes}
    gone |= _emptied(tree, gone)
    if orphans and gone:
        gone |= _orphans(tree, gone)
    text = _without(source, tree, gone)
    left = any(
        name[-1].startswith("test") and node not in gone for name, node in _functions(tree.body, ())
    )
    missing = frozenset(each for each in names if (each[-1:] if anywhere else each) not in found)
    return Cut(text, sum(map(len, found.values())), missing, left)


def functions_of(source: bytes) -> dict[str, ast.stmt] | None:
    """Functions of a module and its classes, by qualified name; None where it cannot be read."""
    tree = _parse(source)
    return (
        None if tree is None else {".".join(name): node for name, node in _functions(tree.body, ())}
    )


def _parse(source: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that are no good style
            return parse_module(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _functions(body: list[ast.stmt], around: Names) -> Iterator[tuple[Names, ast.stmt]]:
    """Functions of a module and of its classes, in branches too; not those within functions."""
    for node in body:
        if isinstance(node, _Function):
            yield (*around, node.name), node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, (*around, node.name))
        else:
            for inner in _blocks(node):
                yield from _functions(inner, around)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The bodies of a compound statement."""
    for field in ("body", "orelse", "finalbody"):
        inner = getattr(node, field, None)
        if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
            yield inner
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _emptied(tree: ast.Module, gone: set[ast.stmt]) -> set[ast.stmt]:
    """Classes that lose all their functions, and that nothing else needs."""
    emptied: set[ast.stmt] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node not in gone:
            functions = [inner for _, inner in _functions(node.body, ())]
            if functions and gone.issuperset(functions):
                emptied.add(node)
    if not emptied:
        return emptied
    needed = {name for one in tree.body for name in _mentioned(one, gone | emptied)}
    return {node for node in emptied if not _defined(node) & needed}


def _orphans(tree: ast.Module, gone: set[ast.stmt]) -> set[ast.stmt]:
    """Definitions of the module that ``gone`` used and nothing else does, and theirs in turn."""
    more: set[ast.stmt] = set()
    while True:
        out = gone | more
        suspects = {name for node in out for name in _used(node)}
        mentions = {node: set(_mentioned(node, out)) for node in tree.body if node not in out}
        users = Counter(name for names in mentions.values() for name in names)
        fresh = {
            node
            for node, names in mentions.items()
            if isinstance(node, _Definition)
            and (defined := _defined(node))
            and defined <= suspects
            and not any(name.startswith(_KEPT) for name in defined)
            and not any(users[name] > (name in names) for name in defined)
        }
        if not fresh:
            return more
        more |= fresh


def _mentioned(node: ast.AST, out: set[ast.stmt]) -> Iterator[str]:
    """Names used in what is left of a statement."""
    pending: list[ast.AST] = [node]
    while pending:
        current = pending.pop()
        if current in out:
            continue
        yield from _names_of(current)
        pending += ast.iter_child_nodes(current)


def _used(node: ast.AST) -> set[str]:
    return {name for part in ast.walk(node) for name in _names_of(part)}


def _names_of(node: ast.AST) -> Iterator[str]:
    """Names that one node uses; a fixture is used by a parameter, or in a string."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from node.value.replace(",", " ").split()
    elif isinstance(node, ast.keyword) and node.arg == "autouse":
        yield "*"


def _defined(node: ast.stmt) -> frozenset[str]:
    """The names that a definition makes; none where it makes anything else, or acts by itself."""
    if isinstance(node, (*_Function, ast.ClassDef)):
        return frozenset() if "*" in _used(node) else frozenset({node.name})
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return frozenset(names) if len(names) == len(targets) else frozenset()


def _without(source: bytes, tree: ast.Module, gone: set[ast.stmt]) -> bytes:
    """The lines that stay; a body that loses all its statements gets ``pass``."""
    lines: list[bytes | None] = list(source.splitlines(keepends=True))
    for body in _bodies(tree, gone):
        taken = [node for node in body if node in gone]
        for node in taken:
            _blank(lines, node)
        docstring_only = all(node in gone or _is_text(node) for node in body)
        if taken and docstring_only and body is not tree.body:
            first = taken[0]
            lines[first.lineno - 1] = b" " * first.col_offset + b"pass\n"
    return b"".join(line for line in lines if line is not None)


def _bodies(node: ast.AST, gone: set[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """All bodies of statements that stay; functions are taken out whole or not at all."""
    for body in _blocks(node):
        yield body
        for inner in body:
            if inner not in gone and not isinstance(inner, _Function):
                yield from _bodies(inner, gone)


def _blank(lines: list[bytes | None], node: ast.stmt) -> None:
    decorators = getattr(node, "decorator_list", ())
    first = min([node.lineno, *(each.lineno for each in decorators)])
    while first > 1 and (lines[first - 2] or b"").lstrip().startswith(b"#"):
        first -= 1
    if first <= 2 and (lines[0] or b"").startswith(b"#!"):
        first = 2
    for number in range(first, (node.end_lineno or node.lineno) + 1):
        lines[number - 1] = None


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
