"""What of a test can be changed to ask code under test for something else."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from codegym.grading.observe.analysis import Analysis, Function
from codegym.grading.observe.claims import method, raising
from codegym.grading.observe.peers import peers
from codegym.grading.observe.rewriting import raising_here
from codegym.grading.observe.tables import last_name

_NAMING = frozenset({"getattr", "hasattr", "setattr", "delattr", "fixture", "skip", "importorskip"})

#: A call with more arguments, or fewer, seldom is one that works.
_ARITY = 0.15
#: Beside a literal: a step of a test that is left out, or taken again; another function.
_STEP, _FUNCTION = 0.4, 0.3


@dataclass(frozen=True)
class Input:
    """One literal of a test's inputs, or several in one, or a step on the way to its answers.

    Attributes:
        node: A constant, a display or call whose elements can be fewer or more, the name of a
            function, or a statement that can be left out or done again.
        home: The constant of the module that it is in, or None where it is in the test.
        weight: How likely a change is to make sense.
        row: Of a table that parametrizes the test: one of its parameters, and which row it is in.
        others: Of the name of a function: names of some that can be called like it.
    """

    node: ast.expr | ast.stmt
    home: str | None
    weight: float
    row: tuple[str, int] | None = None
    others: tuple[str, ...] = ()

    @cached_property
    def shape(self) -> str:
        """The same for what is written alike."""
        return ast.dump(self.node)


class _Collector:
    """Walks what is left of a test once its expected sides are gone."""

    def __init__(self, analysis: Analysis, function: Function, dead: set[int]) -> None:
        self.analysis, self.function, self.dead = analysis, function, dead
        self.groups: list[list[Input]] = [[]]
        self.homes: set[str] = set()
        self._row: tuple[str, int] | None = None
        self._spotted = {id(s.statement) for s in analysis.spots if s.function is function}

    def table(self, rows: ast.expr, home: str | None = None, parameter: str = "") -> None:
        """Each row is a group: each case is to differ."""
        if isinstance(rows, ast.Name):
            alone = parameter if self._reads(rows.id) == 1 else ""
            self._named(rows, lambda value, name: self.table(value, name, alone))
        elif isinstance(rows, ast.List | ast.Tuple) and id(rows) not in self.dead:
            counted = parameter and not any(isinstance(row, ast.Starred) for row in rows.elts)
            for place, row in enumerate(rows.elts):
                self.groups.append([])
                self._row = (parameter, place) if counted else None
                cells = row.elts if isinstance(row, ast.Tuple) else [row]
                self._each(cells, home, 1.0)
            self._row = None
            self.groups.append([])
        else:
            self.walk(rows, home, 1.0)

    def _reads(self, name: str) -> int:
        """How often the test reads it."""
        parts = (part for part in ast.walk(self.function.node) if isinstance(part, ast.Name))
        return sum(part.id == name for part in parts)

    def _add(
        self,
        node: ast.expr | ast.stmt,
        home: str | None,
        weight: float,
        others: tuple[str, ...] = (),
    ) -> None:
        self.groups[-1].append(Input(node, home, weight, self._row, others))

    def walk(self, node: ast.AST, home: str | None, weight: float) -> None:
        """Collect the literals in a part of the tree."""
        if id(node) in self.dead or weight <= 0 or self._stays(node):
            return
        match node:
            case ast.Constant(value=value):
                self._constant(node, value, home, weight)
            case ast.For():
                if home is None:
                    self.table(node.iter)
                self._each([*node.body, *node.orelse], home, weight)
            case ast.Call():
                self._call(node, home, weight)
            case ast.Subscript():
                self.walk(node.value, home, weight)
                self.walk(node.slice, home, weight * 0.2)
            case ast.Dict():
                self._each(node.keys, home, weight * 0.5)
                self._each(node.values, home, weight)
            case ast.Name(ctx=ast.Load()):
                self._function(node, home, weight)
                self._named(node, lambda value, name: self.walk(value, name, weight * 0.7))
            case ast.FunctionDef() | ast.Lambda():
                body = node.body if isinstance(node.body, list) else [node.body]
                self._each(body, home, weight * 0.3)
            case ast.List(ctx=ast.Load()) | ast.Set() | ast.Tuple(ctx=ast.Load()):
                whole = not any(id(part) in self.dead for part in ast.walk(node))
                if whole and len(node.elts) > 1:
                    likely = weight * (0.4 if isinstance(node, ast.Tuple) else 1)
                    self._add(node, home, likely)
                self._each(node.elts, home, weight)
            case _:
                self._step(node, weight)
                self._each(ast.iter_child_nodes(node), home, weight)

    def _stays(self, node: ast.AST) -> bool:
        """What still asserts would only be broken; notes and annotations say nothing."""
        if isinstance(node, ast.Assert):
            return id(node) not in self._spotted
        if isinstance(node, ast.Expr):
            return isinstance(node.value, ast.Constant)
        return isinstance(node, ast.JoinedStr | ast.arguments)

    def _step(self, node: ast.AST, weight: float) -> None:
        """A statement that changes something, has lines of its own, and binds and asserts nothing.

        It can be left out, or done again.
        """
        match node:
            case ast.Expr(value=ast.Call() as call):
                if raising(call, self.analysis.names) or last_name(call.func).startswith("assert"):
                    return
            case ast.Delete(targets=targets):
                if any(isinstance(target, ast.Name) for target in targets):
                    return
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]) | ast.AugAssign():
                pass
            case _:
                return
        source = self.analysis.source
        if not source.data[source.starts[node.lineno - 1] : source.span(node)[0]].strip():
            self._add(node, None, weight * _STEP)

    def _function(self, node: ast.Name, home: str | None, weight: float) -> None:
        if others := peers(node.id, self.analysis, self.function):
            self._add(node, home, weight * _FUNCTION, others)

    def _each(self, nodes: Iterable[ast.AST | None], home: str | None, weight: float) -> None:
        for node in nodes:
            if node is not None:
                self.walk(node, home, weight)

    def _constant(self, node: ast.Constant, value: object, home: str | None, weight: float) -> None:
        if isinstance(value, bool):
            self._add(node, home, weight * 0.1)
        elif isinstance(value, int | float | str | bytes) and value == value:
            self._add(node, home, weight)

    def _call(self, node: ast.Call, home: str | None, weight: float) -> None:
        if method(node) == "subTest" or raising_here(node, self.analysis.names):
            return
        arguments: list[ast.AST] = [*node.args, *node.keywords]
        naming = last_name(node.func) in _NAMING
        whole = not any(id(part) in self.dead for part in ast.walk(node))
        if whole and not naming and len(arguments) > 1:
            self._add(node, home, weight * _ARITY)
        if isinstance(node.func, ast.Attribute):
            self.walk(node.func.value, home, weight)
        self._each(arguments, home, 0 if naming else weight)

    def _named(self, node: ast.Name, go: Callable[[ast.expr, str], None]) -> None:
        """A constant of the module: its copy in the test may differ."""
        value = self.analysis.define(node.id)
        local = node.id in self.function.names.kinds
        if value is None or local or node.id in self.homes:
            return
        self.homes.add(node.id)
        row, self._row = self._row, self._row if self._reads(node.id) == 1 else None
        go(value, node.id)
        self._row = row


def inputs(analysis: Analysis, function: Function, dead: set[int]) -> list[list[Input]]:
    """The literals of a test's inputs, case by case.

    Args:
        analysis: Of its module.
        function: The test.
        dead: Ids of nodes that are gone where expected sides are.
    """
    collector = _Collector(analysis, function, dead)
    for table in function.tables[: len(function.tables) - function.shared]:
        if not table.indirect:
            collector.table(table.rows, parameter=table.names[0])
    for statement in function.node.body:
        collector.walk(statement, None, 1.0)
    return [group for group in collector.groups if group]
