"""Hashes of function bodies that renaming, comments and layout do not change."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from codegym.syntax.python import parse_module

#: Smaller bodies (a returned attribute, a ``__repr__``) are alike without any relation. From this
#: size on, 19,000 functions of common packages shared none with the 12,000 of the standard library,
#: constructors that only keep their arguments apart.
MIN_NODES = 30
_MAX_DEPTH = 150
_SKIPPED = frozenset(
    {"annotation", "ctx", "decorator_list", "kind", "returns", "type_comment", "type_params"}
)
#: Where statements stand, and in what of those that can be in a body.
_HOLDERS = ("body", "handlers", "orelse", "finalbody", "cases")
_HOLDING = (ast.stmt, ast.ExceptHandler, ast.match_case)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """One function: its qualified name in its module, and the hash of its normalised body."""

    name: str
    digest: str


def fingerprints(source: bytes) -> list[Fingerprint]:
    """Fingerprint a module's functions, nested ones too; none where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # escapes of other times
            module = parse_module(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    for name, function in _functions(module, ""):
        body = _Body(function)
        if body.is_telling:
            found.append(Fingerprint(name, body.digest()))
    return found


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    for field in _HOLDERS:  # a definition is a statement, and stands among others
        for child in getattr(node, field, ()):
            inner = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{prefix}{child.name}."
            if isinstance(child, _Function):
                yield inner.removesuffix("."), child
            if isinstance(child, _HOLDING):
                yield from _functions(child, inner)


class _Body:
    """A function's body as a sequence of words."""

    def __init__(self, function: _Function) -> None:
        self._names = dict.fromkeys(_bound(function), "")
        self._numbered = 0
        self._nodes = 0
        self._words: list[str] = []
        body = _without_docstring(function.body)
        self._keeps_arguments = all(_keeps_argument(statement) for statement in body)
        self._add(function.args, 0)
        for statement in body:
            self._add(statement, 0)

    @property
    def is_telling(self) -> bool:
        """Whether it is large enough for equality to mean something."""
        return self._nodes >= MIN_NODES and not self._keeps_arguments

    def digest(self) -> str:
        """A short hash: 80 bits."""
        return hashlib.sha256("\0".join(self._words).encode(errors="replace")).hexdigest()[:20]

    def _add(self, node: ast.AST, depth: int) -> None:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            node = ast.Assign([node.target], node.value)
        self._nodes += 1
        kind, words = type(node).__name__, self._words
        words.append(kind)
        if depth > _MAX_DEPTH:
            return
        for field in _fields(kind):
            value = getattr(node, field, None)
            if value is None:
                continue
            if field == "body" and isinstance(node, _Function):
                value = _without_docstring(value)
            if isinstance(value, list):
                words.append(f"[{len(value)}")
                for item in value:
                    self._add_value(item, depth)
            else:
                self._add_value(value, depth)

    def _add_value(self, value: object, depth: int) -> None:
        if isinstance(value, ast.AST):
            self._add(value, depth + 1)
        elif isinstance(value, str) and value in self._names:
            self._words.append(self._renamed(value))
        else:
            self._words.append(repr(value))

    def _renamed(self, name: str) -> str:
        if not self._names[name]:
            self._names[name] = f"${self._numbered}"
            self._numbered += 1
        return self._names[name]


@cache
def _fields(kind: str) -> tuple[str, ...]:
    """What of a node of a type says what it does."""
    return tuple(name for name in getattr(ast, kind)._fields if name not in _SKIPPED)


def _bound(function: _Function) -> Iterator[str]:
    """Names that the function, or one inside it, binds."""
    waiting: list[ast.AST] = [function]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                yield node.id
            continue
        if isinstance(node, ast.Constant):
            continue
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ExceptHandler):
            if node.name:
                yield node.name
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [one for one in value if isinstance(one, ast.AST)]


def _keeps_argument(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Attribute()], value=ast.Name() | ast.Constant()):
            return True
    return False


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body
