"""A test module's functions, and where in them the values come from."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

from codegym.grading.observe.claims import SWAPPED, Assertion, Claim, Raising
from codegym.grading.observe.flow import Flow, Scope, Trail, column_kind
from codegym.grading.observe.kinds import Kind, Names, import_names, kind_of, parameters
from codegym.grading.observe.sites import Sides, Site
from codegym.grading.observe.tables import Parameters, cells, last_name, parametrized
from codegym.grading.observe.text import Source

MAX_TEXT_CHARS = 200
# Tests that run other than once to their end, or whose failing is what is expected.
_SET_APART = frozenset({"given", "fixture", "expectedFailure", "xfail", "yield_fixture"})
_MUTUAL = frozenset({"==", "almost", "count_equal"})
_LOOKS_AT_ITSELF = frozenset(
    {"getsource", "getsourcelines", "currentframe", "_getframe", "linecache", "f_lineno"}
)


@dataclass(frozen=True)
class Function:
    """One function of a test module.

    Attributes:
        scope: The classes around it, outermost first.
        tables: What gives its parameters values, its classes' tables last.
        shared: How many of ``tables``, from the end, are its classes'.
        open: Whether its assertions can become observations.
    """

    node: Scope
    scope: tuple[ast.ClassDef, ...]
    tables: tuple[Parameters, ...]
    shared: int
    open: bool
    trail: Trail
    names: Names

    @property
    def name(self) -> str:
        """As ``Site.test``, of a helper too."""
        return "::".join([*(part.name for part in self.scope), self.node.name])

    @property
    def is_test(self) -> bool:
        """Whether pytest would collect it."""
        return self.node.name.startswith("test")


@dataclass(frozen=True)
class Spot:
    """A site, and where in the tree it is.

    Attributes:
        actual: The value that is emitted; None for what a block raises.
        expected: What it is held against; None where nothing is written.
        claim: What is claimed.
        assertion: The statement as a whole; None for what has to be raised.
        mutual: Each side comes from code under test, and has to be what the other one is.
    """

    site: Site
    function: Function
    statement: ast.stmt
    claim: Claim | Raising
    actual: ast.expr | None = None
    expected: ast.expr | None = None
    assertion: Assertion | None = None
    mutual: bool = False

    @property
    def mirrored(self) -> Spot:
        """Where each side is held against the other, the same with sides exchanged."""
        if not self.mutual:
            return self
        return replace(self, actual=self.expected, expected=self.actual)


class Analysis:
    """What is known of a module.

    Attributes:
        functions: Tests and helpers: of the module, and of classes in it.
        spots: All sites, in order.
        names: What the module's names stand for.
    """

    def __init__(self, path: str, source: Source, packages: Collection[str]) -> None:
        self.source, self._packages = source, frozenset(packages)
        self._assigned = _assigned_once(source.tree)
        self._local: dict[int, dict[str, ast.expr]] = {}
        self.names = self._module_names()
        self.functions: tuple[Function, ...] = ()
        while True:  # ends: each time round, fewer of the module's values are its own
            self.functions = tuple(self._functions(source.tree, ()))
            spoiled = {name for part in self.functions for name in part.trail.spoiled}
            lost = {name for name in spoiled if self.names.kinds.get(name) is Kind.LOOSE}
            lost |= {name for name in _declared_global(source.tree) if name in self.names.kinds}
            lost = {name for name in lost if self.names.kinds[name] is not Kind.CODE}
            if not lost:
                break
            for name in lost:
                self.names.kinds[name] = Kind.CODE
        self.spots = _numbered(path, self._spots())

    def define(self, name: str) -> ast.expr | None:
        """What a name of the module stands for, where it is given one value."""
        return self._assigned.get(name)

    def define_in(self, function: Scope, name: str) -> ast.expr | None:
        """The same, looked up from within a function."""
        own = self._local.get(id(function))
        if own is None:
            own = self._local[id(function)] = _assigned_once(function)
        return own.get(name, self._assigned.get(name))

    def _module_names(self) -> Names:
        names = Names()
        for _ in range(2):  # the second time knows what is defined further down
            flow = Flow(names, self._packages, self.define, definitions_hold=False)
            flow.block(self.source.tree.body)
            names = flow.names
        for node in ast.walk(self.source.tree):  # in branches
            if isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
                import_names(node, self._packages, names)
        return names

    def _functions(self, node: ast.AST, scope: tuple[ast.ClassDef, ...]) -> Iterator[Function]:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.ClassDef):
                yield from self._functions(part, (*scope, part))
            elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                yield self._function(part, scope)
            elif isinstance(part, ast.If | ast.Try):
                yield from self._functions(part, scope)

    def _function(self, node: Scope, scope: tuple[ast.ClassDef, ...]) -> Function:
        own = parametrized(node.decorator_list)
        around = [table for part in scope for table in parametrized(part.decorator_list)]
        names = Names(self.names)
        for name in parameters(node):
            names.bind(name, Kind.CODE)
        for table in [*own, *around]:
            for name in table.names:
                names.bind(name, self._column(table, name))
        flow = Flow(names, self._packages, lambda name: self.define_in(node, name))
        flow.block(node.body)
        decorators = [*node.decorator_list, *(d for part in scope for d in part.decorator_list)]
        is_open = isinstance(node, ast.FunctionDef) and not _set_apart(node, decorators)
        return Function(node, scope, (*own, *around), len(around), is_open, flow.trail, flow.names)

    def _column(self, table: Parameters, name: str) -> Kind:
        if table.indirect:
            return Kind.CODE
        column = cells(table.rows, table.path(name), self.define)
        if column is not None:
            return column_kind(column, self.names)
        return max(Kind.LOOSE, kind_of(table.rows, self.names))

    def _spots(self) -> Iterator[Spot]:
        for function in self.functions:
            if function.open:
                yield from self._asserted(function)
                yield from self._raised(function)

    def _asserted(self, function: Function) -> Iterator[Spot]:
        for assertion, kinds, sure in function.trail.asserted.values():
            for claim, (left, right) in zip(assertion.claims, kinds, strict=True):
                found = _sides(claim, left, right)
                if found is None:
                    continue
                op, swapped, sides = found
                if not sure or not function.is_test:
                    sides = "both"
                actual, expected = claim.left, claim.right
                if swapped and claim.right is not None:
                    actual, expected = claim.right, claim.left
                site = self._site(function, claim.whole, claim, op, sides)
                mutual = left is right is Kind.CODE and op in _MUTUAL and expected is not None
                yield Spot(
                    site, function, assertion.statement, claim, actual, expected, assertion, mutual
                )

    def _raised(self, function: Function) -> Iterator[Spot]:
        for form, statement, kind, sure in function.trail.raised.values():
            if form.function is not None and not self._alone(statement):
                continue
            one = sure and function.is_test and kind is not Kind.CODE
            sides: Sides = "one" if one else "both"
            yield Spot(
                self._site(function, form.call, form, "raises", sides), function, statement, form
            )

    def _site(
        self, function: Function, node: ast.expr, claim: Claim | Raising, op: str, sides: Sides
    ) -> Site:
        form = claim.form if isinstance(claim, Claim) else "raises"
        options = claim.options if isinstance(claim, Claim) else ()
        text = re.sub(r"\s+", " ", self.source.text(node)).strip()
        if len(text) > MAX_TEXT_CHARS:
            text = text[: MAX_TEXT_CHARS - 1] + "…"
        test = function.name if function.is_test else ""
        return Site(0, test, node.lineno, text, form, op, options, sides)

    def _alone(self, statement: ast.stmt) -> bool:
        """Whether a statement has its lines for itself, so that a block may take its place."""
        start, end = self.source.span(statement)
        before = self.source.data[self.source.starts[statement.lineno - 1] : start]
        after = self.source.data[end : self.source.starts[statement.end_lineno or 1] - 1]
        return not before.strip() and (not after.strip() or after.strip().startswith(b"#"))


def _sides(claim: Claim, left: Kind, right: Kind) -> tuple[str, bool, Sides] | None:
    """What has to hold, whether the actual value is the right one, and who knows the other."""
    if isinstance(claim.left, ast.GeneratorExp) or isinstance(claim.right, ast.GeneratorExp):
        return None
    if left is not Kind.CODE and right is not Kind.CODE:
        return None
    if left is Kind.CODE and right is Kind.CODE:
        return claim.op, False, "both"
    if left is Kind.CODE:
        return claim.op, False, "one"
    if claim.op in SWAPPED:
        return SWAPPED[claim.op], True, "one"
    return claim.op, False, "both"


def _numbered(path: str, spots: Iterator[Spot]) -> tuple[Spot, ...]:
    """Give ids that no other file's sites have: a test may call helpers of another file."""
    base = (crc32(path.encode()) & 0xFFFFF) << 14
    ordered = sorted(spots, key=lambda spot: (spot.site.line, _place(spot)))
    return tuple(
        replace(spot, site=replace(spot.site, id=base + number))
        for number, spot in enumerate(ordered, 1)
    )


def _place(spot: Spot) -> int:
    node = spot.claim.whole if isinstance(spot.claim, Claim) else spot.claim.call
    return node.col_offset


def _assigned_once(scope: ast.Module | Scope) -> dict[str, ast.expr]:
    """Names that a scope gives one value, by one statement of its own."""
    counts: dict[str, int] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            counts[node.id] = counts.get(node.id, 0) + 1
        elif isinstance(node, ast.arg):
            counts[node.arg] = counts.get(node.arg, 0) + 1
    found = {}
    for statement in scope.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
    return {name: value for name, value in found.items() if counts[name] == 1}


def _declared_global(tree: ast.Module) -> set[str]:
    found = (node.names for node in ast.walk(tree) if isinstance(node, ast.Global))
    return {name for names in found for name in names}


def _set_apart(node: Scope, decorators: Sequence[ast.expr]) -> bool:
    """Whether what a function asserts has to stay as it is."""
    for decorator in decorators:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if last_name(called) in _SET_APART:
            return True
    if any(isinstance(part, ast.Yield | ast.YieldFrom | ast.Await) for part in _own(node)):
        return True
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute))
    return any(last_name(name) in _LOOKS_AT_ITSELF for name in names)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a function, and in no function in it."""
    for part in ast.iter_child_nodes(node):
        yield part
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _own(part)
