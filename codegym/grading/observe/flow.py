"""Follows a function's statements, to say which values code under test had a hand in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from codegym.grading.observe.claims import Assertion, Raising, assertion, method, raising
from codegym.grading.observe.kinds import (
    Kind,
    Names,
    harmless,
    import_names,
    kind_of,
    lazy,
    parameters,
    reads,
    stored,
)
from codegym.grading.observe.tables import cells, last_name, paths

Scope = ast.FunctionDef | ast.AsyncFunctionDef
# Calls that look at their arguments and keep nothing of them.
_ONLOOKERS = frozenset({"print", "subTest", "raises", "warns", "param", "skip", "fail", "approx"})


@dataclass
class Trail:
    """What was found on the way through a function.

    Attributes:
        asserted: Assertions with the kinds of their claims' two sides, and whether they are
            certain to be reached as often as on any correct code.
        raised: The same for what blocks have to raise: the kind of the exception and its match.
        made: Statements that only give local names values, without asking code under test.
        looped: Loops over what comes from the test alone.
        touched: Something came from code under test, or had an effect outside.
        spoiled: Names of outer scopes that code under test got hold of.
    """

    asserted: dict[int, tuple[Assertion, list[tuple[Kind, Kind]], bool]] = field(
        default_factory=dict
    )
    raised: dict[int, tuple[Raising, ast.stmt, Kind, bool]] = field(default_factory=dict)
    made: dict[int, tuple[ast.stmt, frozenset[str]]] = field(default_factory=dict)
    looped: dict[int, ast.For] = field(default_factory=dict)
    touched: bool = False
    spoiled: set[str] = field(default_factory=set)


class Flow:
    """One way through one function, both branches of each choice taken."""

    def __init__(
        self,
        names: Names,
        packages: Iterable[str],
        definitions: Callable[[str], ast.expr | None],
        own: Iterable[str] = (),
        *,
        definitions_hold: bool = True,
    ) -> None:
        self._definitions_hold = definitions_hold  # a module's are followed one by one
        self.names, self.trail = names, Trail()
        self._packages, self._definitions = frozenset(packages), definitions
        self._own = frozenset(own)  # parameters: what is theirs is not ours to change
        self._uncertain, self._silent = False, 0

    def block(self, body: Iterable[ast.stmt], sure: bool = True) -> None:
        """Follow statements; ``sure`` says that no choice of code under test leads here."""
        for statement in body:
            self._statement(statement, sure and not self._uncertain)

    def _statement(self, node: ast.stmt, sure: bool) -> None:
        match node:
            case ast.Assert() | ast.Expr():
                self._simple(node, sure)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self._assign(node, sure)
            case ast.If():
                self._choice(node, sure)
            case ast.For() | ast.While():
                self._loop(node, sure)
            case ast.With():
                self._with(node, sure)
            case ast.Try() | ast.TryStar():
                self._try(node, sure)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._definition(node)
            case ast.Import() | ast.ImportFrom():
                import_names(node, self._packages, self.names)
            case ast.Return() | ast.Raise() | ast.Delete():
                self._effects(node)
                values = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
                self._look(*(part for part in values if not isinstance(node, ast.Delete)))
                self._uncertain |= not sure and isinstance(node, ast.Return)
            case ast.Break() | ast.Continue():
                self._uncertain |= not sure
            case ast.Pass():
                pass
            case _:  # async blocks, match, global, nonlocal
                self._anything(node)

    def _simple(self, node: ast.Assert | ast.Expr, sure: bool) -> None:
        self._effects(node)
        found = assertion(node)
        if found is not None and not self._silent:
            kinds = [
                (kind_of(claim.left, self.names), kind_of(claim.right, self.names))
                for claim in found.claims
            ]
            self.trail.asserted[id(node)] = (found, kinds, sure)
        self.trail.made.pop(id(node), None)  # a loop's second round may know better
        if isinstance(node, ast.Expr):
            form = raising(node.value, self.names)
            if form is not None and form.function is not None and not self._silent:
                self._note_raising(form, node, sure)
            elif sure and self._is_making(node.value):
                self.trail.made[id(node)] = (node, frozenset(_receiver(node.value)))
            else:
                self._look(node.value)
        else:
            self._look(node.test)

    def _note_raising(self, form: Raising, node: ast.stmt, sure: bool) -> None:
        kind = max(kind_of(form.exception, self.names), kind_of(form.match, self.names))
        self.trail.raised[id(form.call)] = (form, node, kind, sure)

    def _is_making(self, value: ast.expr) -> bool:
        """Whether it only changes a local value of the test's own, by values of its own."""
        receiver = _receiver(value)
        if not isinstance(value, ast.Call) or not receiver or receiver & self._own - {"self"}:
            return False
        arguments = [*value.args, *(word.value for word in value.keywords)]
        return self.names.kinds.get(next(iter(receiver))) is Kind.LOOSE and all(
            kind_of(argument, self.names) is not Kind.CODE for argument in arguments
        )

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, sure: bool) -> None:
        self.trail.made.pop(id(node), None)
        if node.value is None:
            return
        self._effects(node)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        kind = kind_of(node.value, self.names)
        own = kind is not Kind.CODE and sure
        self._look(node.value)
        if isinstance(node, ast.AugAssign):
            kind = max(kind, kind_of(_loaded(node.target), self.names))
        bound = frozenset(name for target in targets for name in stored(target))
        plain = all(_only_names(target) for target in targets)
        if own and (bound or len(targets) == 1) and not lazy(node.value, self.names):
            changed = bound if plain else frozenset(_changed(targets))
            if changed and all(self._local(name, plain) for name in changed):
                self.trail.made[id(node)] = (node, changed)
        for target in targets:
            self._bind(target, node.value, kind, sure)

    def _local(self, name: str, binds: bool) -> bool:
        return binds or self.names.kinds.get(name, Kind.CODE) is Kind.LOOSE

    def _bind(self, target: ast.expr, value: ast.expr | None, kind: Kind, sure: bool) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            same = len(parts) == len(target.elts)
            for index, part in enumerate(target.elts):
                inner = parts[index] if same else value
                self._bind(part, inner, kind_of(inner, self.names) if same else kind, sure)
        elif isinstance(target, ast.Name):
            own = sure and not lazy(value, self.names)
            self.names.bind(target.id, kind if own else Kind.CODE, reads(value))
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, kind, sure)
        else:
            self._change(target, value, kind, sure)

    def _change(self, target: ast.expr, value: ast.expr | None, kind: Kind, sure: bool) -> None:
        """An attribute or an element is set."""
        names = set(_changed([target]))
        if kind is Kind.CODE or not sure:
            self._spoil(names)
        elif any(self.names.kind(name) is Kind.CODE for name in names) or not names:
            self._spoil(reads(value))
            self.trail.touched |= not names <= {"self"}
        else:
            self.names.share(names, reads(value))
            self.trail.touched |= bool(names & self._own - {"self"})

    def _choice(self, node: ast.If, sure: bool) -> None:
        self._effects(node.test)
        self._look(node.test)
        sure = sure and kind_of(node.test, self.names) is not Kind.CODE
        self._ways([node.body, node.orelse], sure)

    def _ways(self, ways: list[list[ast.stmt]], sure: bool) -> None:
        before, after = self.names, None
        for way in ways:
            self.names = before.fork()
            self.block(way, sure)
            if after is None:
                after = self.names
            else:
                after.merge(self.names)
        self.names = after or before

    def _loop(self, node: ast.For | ast.While, sure: bool) -> None:
        head = node.iter if isinstance(node, ast.For) else node.test
        self._effects(head)
        self._look(head)
        if isinstance(node, ast.For):
            known = self._columns(node)
            sure = sure and (known or kind_of(head, self.names) is not Kind.CODE)
            self.trail.looped.pop(id(node), None)
            if sure:
                self.trail.looped[id(node)] = node
        else:
            sure = sure and kind_of(head, self.names) is not Kind.CODE
        for _ in range(2):  # what the body leaves behind is there when it begins again
            if isinstance(node, ast.For):
                self._columns(node, bind=True, sure=sure)
            self._ways([node.body, []], sure)
        self.block(node.orelse, sure)

    def _columns(self, node: ast.For, bind: bool = False, sure: bool = False) -> bool:
        """Bind a loop's names, each by its own column; say whether all rows are written out."""
        places = paths(node.target)
        known = bool(places)
        whole = kind_of(node.iter, self.names)
        for name in set(stored(node.target)):
            column = None
            if name in places:
                column = cells(node.iter, places[name], self._definitions)
            known = known and column is not None
            if bind:
                kind = whole if column is None else column_kind(column, self.names)
                self.names.bind(name, kind if sure else Kind.CODE)
        if bind and not sure:
            self._spoil(reads(node.iter))
        return known

    def _with(self, node: ast.With, sure: bool) -> None:
        catching = False
        for item in node.items:
            self._effects(item.context_expr)
            form = raising(item.context_expr, self.names)
            if form is not None and form.function is None:
                catching = True
                if not self._silent:
                    self._note_raising(form, node, sure)
            elif method(item.context_expr) != "subTest":
                self.trail.touched = True
            if item.optional_vars is not None:
                self._bind(item.optional_vars, None, Kind.CODE, sure)
        self._silent += catching
        self.block(node.body, sure and not catching)
        self._silent -= catching

    def _try(self, node: ast.Try | ast.TryStar, sure: bool) -> None:
        caught = bool(node.handlers)
        self._silent += caught
        self.block(node.body, sure and not caught)
        self._silent -= caught
        self._ways([*(handler.body for handler in node.handlers), node.orelse], sure and not caught)
        self.block(node.finalbody, sure)

    def _definition(self, node: Scope | ast.ClassDef) -> None:
        """A function or class in a function: what it holds on to may change when it is called."""
        own = independent(node, self.names, self._packages, self._definitions)
        if not own:
            self.trail.touched = True
            if self._definitions_hold:
                self._spoil(reads(node))
        self.names.bind(node.name, Kind.FIXED if own else Kind.CODE)

    def _anything(self, node: ast.stmt) -> None:
        self.trail.touched = True
        self._spoil(reads(node))
        found: list[str] = list(stored(node))
        if isinstance(node, ast.Global | ast.Nonlocal):
            found += node.names
            self.trail.spoiled |= set(node.names)
        for name in found:
            self.names.bind(name, Kind.CODE)

    def _effects(self, node: ast.AST) -> None:
        """What calls in a statement may do to the values they are given."""
        for part in ast.walk(node):
            if isinstance(part, ast.NamedExpr):
                self.names.bind(part.target.id, Kind.CODE)
            elif isinstance(part, ast.Lambda) and kind_of(part, self.names) is Kind.CODE:
                self._spoil(reads(part))
            elif isinstance(part, ast.Call) and not harmless(part.func, self.names):
                self._call(part)

    def _call(self, node: ast.Call) -> None:
        if last_name(node.func) in _ONLOOKERS or (method(node) or "").startswith("assert"):
            return
        arguments = [*node.args, *(word.value for word in node.keywords)]
        receiver = set() if self.names.dotted(node.func) else _receiver(node)
        if receiver and self.names.kind(*receiver) is not Kind.CODE:
            self.names.share(receiver, {name for part in arguments for name in reads(part)})
            if any(kind_of(argument, self.names) is Kind.CODE for argument in arguments):
                self._spoil(receiver)
            if receiver & self._own - {"self"} or receiver - self.names.kinds.keys():
                self.trail.touched = True
                self.trail.spoiled |= receiver - self.names.kinds.keys()
            return
        for argument in arguments:
            if kind_of(argument, self.names) is not Kind.FIXED:
                self._spoil(reads(argument))

    def _spoil(self, names: Iterable[str]) -> None:
        self.trail.spoiled |= self.names.spoil(names)

    def _look(self, *values: ast.expr | None) -> None:
        self.trail.touched |= any(kind_of(value, self.names) is Kind.CODE for value in values)


def independent(
    node: Scope | ast.ClassDef,
    names: Names,
    packages: Iterable[str],
    definitions: Callable[[str], ast.expr | None],
) -> bool:
    """Whether a function or class needs nothing but what it is given, and changes nothing else."""
    if any(kind_of(part, names) is Kind.CODE for part in node.decorator_list):
        return False
    inner = Names(names)
    inner.bind(node.name, Kind.FIXED)
    if isinstance(node, ast.ClassDef):
        own: list[str] = []
        if any(kind_of(base, names) is Kind.CODE for base in node.bases) or node.keywords:
            return False
    else:
        own = parameters(node)
        yields = (ast.Yield, ast.YieldFrom, ast.Await)
        if isinstance(node, ast.AsyncFunctionDef) or any(
            isinstance(part, yields) for part in ast.walk(node)
        ):
            return False
    for name in own:
        inner.bind(name, Kind.LOOSE)
    flow = Flow(inner, packages, definitions, own)
    flow.block(node.body)
    return not flow.trail.touched


def column_kind(column: Iterable[ast.expr], names: Names) -> Kind:
    """The worst of a column's cells."""
    return max(
        (Kind.CODE if lazy(cell, names) else kind_of(cell, names) for cell in column),
        default=Kind.FIXED,
    )


def _receiver(node: ast.expr) -> set[str]:
    """The name whose method is called."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        return {owner.id} if isinstance(owner, ast.Name) else set()
    return set()


def _changed(targets: Iterable[ast.expr]) -> Iterable[str]:
    """The names whose values a target changes in place."""
    for target in targets:
        part: ast.expr = target
        while isinstance(part, ast.Attribute | ast.Subscript):
            part = part.value
        if isinstance(part, ast.Name):
            yield part.id


def _only_names(target: ast.expr) -> bool:
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return all(isinstance(part, ast.Name) for part in parts)


def _loaded(target: ast.expr) -> ast.expr:
    """A target, read as a value."""
    return ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target
