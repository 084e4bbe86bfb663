"""Hashes of function bodies that renaming, comments and layout do not change."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

#: Smaller bodies (a returned attribute, a ``__repr__``) are alike without any relation. From this
#: size on, 19,000 functions of common packages shared none with the 12,000 of the standard library,
#: constructors that only keep their arguments apart.
MIN_NODES = 30
_MAX_DEPTH = 150
_SKIPPED = frozenset(
    {"annotation", "ctx", "decorator_list", "kind", "returns", "type_comment", "type_params"}
)
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
            module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    for name, function in _functions(module, ""):
        body = _Body(function)
        if body.is_telling:
            found.append(Fingerprint(name, body.digest()))
    return found


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    for child in ast.iter_child_nodes(node):
        inner = prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{prefix}{child.name}."
        if isinstance(child, _Function):
            yield inner.removesuffix("."), child
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
        self._words.append(type(node).__name__)
        if depth > _MAX_DEPTH:
            return
        for field, value in ast.iter_fields(node):
            if field in _SKIPPED or value is None:
                continue
            if field == "body" and isinstance(node, _Function):
                value = _without_docstring(value)
            if isinstance(value, list):
                self._words.append(f"[{len(value)}")
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


def _bound(function: _Function) -> Iterator[str]:
    """Names that the function, or one inside it, binds."""
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name


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
