"""Where values come from: the test itself, or code under test."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from codegym.grading.observe import purity


class Kind(IntEnum):
    """FIXED: the test's own and cannot be changed. LOOSE: its own, but can be changed in place.
    CODE: comes, or may come, from code under test or from the world outside.
    """  # noqa: D205

    FIXED = 0
    LOOSE = 1
    CODE = 2


@dataclass
class Names:
    """What the names of a scope stand for.

    Attributes:
        outer: The scope around it, or None for a module.
        kinds: By name. A name that is nowhere is looked up among builtins.
        roots: The names whose value a name may share parts with.
        imports: Dotted names of the standard library, by the name they are imported as.
        starred: Names may come from ``import *``: builtins may be something else.
    """

    outer: Names | None = None
    kinds: dict[str, Kind] = field(default_factory=dict)
    roots: dict[str, frozenset[str]] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    starred: bool = False

    def kind(self, name: str) -> Kind:
        """What a name stands for here."""
        if name in self.kinds:
            return self.kinds[name]
        if self.outer is not None:
            return self.outer.kind(name)
        known = purity.EXCEPTIONS if self.starred else purity.PURE_BUILTINS
        return Kind.FIXED if name in known else Kind.CODE

    def builtin(self, name: str) -> bool:
        """Whether no scope has the name."""
        if name in self.kinds:
            return False
        return self.outer.builtin(name) if self.outer is not None else not self.starred

    def dotted(self, node: ast.expr) -> str | None:
        """What of the standard library an expression names."""
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return None if base is None else f"{base}.{node.attr}"
        if not isinstance(node, ast.Name):
            return None
        scope: Names | None = self
        while scope is not None:
            if node.id in scope.imports:
                return scope.imports[node.id]
            scope = None if node.id in scope.kinds else scope.outer
        return None

    def bind(self, name: str, kind: Kind, parts: Iterable[str] = ()) -> None:
        """Give a name a value made of other names'."""
        self.imports.pop(name, None)
        self.kinds[name] = kind
        shared = frozenset().union(*(self.roots.get(part, frozenset({part})) for part in parts))
        self.roots[name] = shared | {name}

    def share(self, names: Iterable[str], parts: Iterable[str]) -> None:
        """Values of some names came to hold others'."""
        found = [self.roots.get(part, frozenset({part})) for part in parts]
        for name in names:
            self.roots[name] = self.roots.get(name, frozenset({name})).union(*found)

    def spoil(self, names: Iterable[str]) -> set[str]:
        """Code under test got hold of these: what can change, and shares parts, is no longer ours.

        Returns:
            The names that are of an outer scope.
        """
        outer = set()
        for name in names:
            mine = self.roots.get(name, frozenset({name}))
            for other, roots in self.roots.items():
                if roots & mine and self.kinds.get(other) is Kind.LOOSE:
                    self.kinds[other] = Kind.CODE
            outer |= {root for root in mine if root not in self.kinds}
        return outer

    def merge(self, other: Names) -> None:
        """What holds after either of two ways through."""
        for name, kind in other.kinds.items():
            self.kinds[name] = max(kind, self.kinds.get(name, kind))
            self.roots[name] = self.roots.get(name, frozenset()) | other.roots.get(
                name, frozenset({name})
            )

    def fork(self) -> Names:
        """A copy, for one way through."""
        return Names(
            self.outer, dict(self.kinds), dict(self.roots), dict(self.imports), self.starred
        )


def kind_of(node: ast.AST | None, names: Names) -> Kind:
    """Where an expression's value comes from; CODE too where evaluating it has an effect."""
    match node:
        case None | ast.Constant():
            return Kind.FIXED
        case ast.Name(id=name):
            return names.kind(name)
        case ast.Attribute(value=value):
            dotted = names.dotted(node)
            if dotted is not None:
                return Kind.FIXED if purity.pure(dotted) else Kind.CODE
            return kind_of(value, names)
        case ast.Call():
            return _of_call(node, names)
        case ast.Lambda(args=args, body=body):
            inner = Names(names)
            _bind_all(inner, (a.arg for a in _arguments(args)))
            return max(_worst([*args.defaults, *args.kw_defaults], names), kind_of(body, inner))
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return _of_comprehension(node, names)
        case ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
            return Kind.CODE
        case ast.List() | ast.Set() | ast.Dict():
            return max(Kind.LOOSE, _worst(ast.iter_child_nodes(node), names))
        case ast.expr() | ast.keyword() | ast.FormattedValue():
            return _worst(ast.iter_child_nodes(node), names)
        case _:
            return Kind.FIXED  # operators and contexts


def lazy(node: ast.AST | None, names: Names) -> bool:
    """Whether a value is used up by looking at it."""
    if isinstance(node, ast.GeneratorExp):
        return True
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name) and names.builtin(node.func.id):
        return node.func.id in purity.LAZY_RESULTS
    return (names.dotted(node.func) or "").startswith("itertools.")


def reads(node: ast.AST | None) -> set[str]:
    """Every name that is looked up in a part of the tree."""
    if node is None:
        return set()
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    }


def _worst(nodes: Iterable[ast.AST | None], names: Names) -> Kind:
    return max((kind_of(part, names) for part in nodes), default=Kind.FIXED)


def _of_call(node: ast.Call, names: Names) -> Kind:
    arguments = max(_worst(node.args, names), _worst(node.keywords, names))
    if arguments is Kind.CODE or not harmless(node.func, names):
        return Kind.CODE
    if isinstance(node.func, ast.Name) and names.builtin(node.func.id):
        fixed = purity.FIXED_RESULTS | purity.EXCEPTIONS
        return Kind.FIXED if node.func.id in fixed else Kind.LOOSE
    dotted = names.dotted(node.func)
    if isinstance(node.func, ast.Attribute) and dotted is None:
        return kind_of(node.func.value, names)
    unchangeable = (dotted or "").partition(".")[0] in purity.FIXED_MODULES
    return Kind.FIXED if unchangeable else Kind.LOOSE


def harmless(function: ast.expr, names: Names) -> bool:
    """Whether calling it neither asks code under test nor changes anything."""
    if isinstance(function, ast.Name):
        return kind_of(function, names) is Kind.FIXED
    if not isinstance(function, ast.Attribute):
        return False
    if names.dotted(function) is not None:
        return kind_of(function, names) is Kind.FIXED
    owner = kind_of(function.value, names)
    of_class = isinstance(function.value, ast.Name) and function.value.id[:1].isupper()
    if owner is Kind.FIXED and of_class:
        return True  # a class of the test's own, all of whose methods are harmless
    return owner is not Kind.CODE and function.attr in purity.READING_METHODS


def _of_comprehension(
    node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, names: Names
) -> Kind:
    inner, worst = Names(names), Kind.LOOSE
    for part in node.generators:
        kind = kind_of(part.iter, inner)
        for name in stored(part.target):
            inner.bind(name, kind)
        worst = max(worst, kind, _worst(part.ifs, inner))
    values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    return max(worst, _worst(values, inner))


def stored(target: ast.AST) -> Iterator[str]:
    """Names that a target binds."""
    for part in ast.walk(target):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id


def defined(scope: ast.ClassDef) -> set[str]:
    """Names that a class's own statements bind, but for those of branches and loops."""
    found: set[str] = set()
    for part in scope.body:
        match part:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign() | ast.AnnAssign():
                found |= set(stored(part))
    return found


def _arguments(args: ast.arguments) -> list[ast.arg]:
    extra = [part for part in (args.vararg, args.kwarg) if part is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *extra]


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Names of all parameters, in order."""
    return [part.arg for part in _arguments(function.args)]


def _bind_all(names: Names, found: Iterable[str]) -> None:
    for name in found:
        names.bind(name, Kind.FIXED)


def import_names(
    node: ast.Import | ast.ImportFrom, packages: Collection[str], names: Names
) -> None:
    """Bind what an import binds."""
    relative = isinstance(node, ast.ImportFrom) and bool(node.level)
    for alias in node.names:
        if alias.name == "*":
            names.starred = True
            continue
        if isinstance(node, ast.ImportFrom):
            dotted, bound = f"{node.module or ''}.{alias.name}", alias.asname or alias.name
        else:
            dotted = alias.name if alias.asname else alias.name.partition(".")[0]
            bound = alias.asname or dotted
        top = dotted.partition(".")[0]
        ours = relative or top in packages
        pure = not ours and purity.pure(dotted)
        names.bind(bound, Kind.FIXED if pure else Kind.CODE)
        if not ours:
            names.imports[bound] = dotted
