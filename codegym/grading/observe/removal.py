"""Takes out what only served the expected sides: local values, columns of tables, constants."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from codegym.grading.observe.analysis import Analysis, Function, Spot
from codegym.grading.observe.claims import Claim, Raising, method
from codegym.grading.observe.kinds import Kind, kind_of, parameters, reads, stored
from codegym.grading.observe.tables import cells, last_name, paths, sources
from codegym.grading.observe.text import Edit, Source, blank

_LOOKS_AT_NAMES = frozenset({"locals", "vars", "eval", "exec", "globals"})


@dataclass
class _Use:
    """A column that nothing but expected sides needs, as one loop or test sees it."""

    function: Function
    name: str
    column: list[ast.expr]
    needed: int  # so many uses of the table have to agree


@dataclass
class Removal:
    """What goes.

    Attributes:
        dead: Ids of nodes that are gone: expected sides, messages, statements, cells, constants.
        gone: By function, local names nothing is left of.
        constants: Names of the module nothing is left of.
        edits: What does it, but for the assertions themselves.
    """

    dead: set[int] = field(default_factory=set)
    gone: dict[int, set[str]] = field(default_factory=dict)
    constants: set[str] = field(default_factory=set)
    edits: list[Edit] = field(default_factory=list)

    def sealed(self, spot: Spot, analysis: Analysis) -> bool:
        """Whether nothing of a site's expected side is left."""
        parts = _removed_of(spot)
        local = set(stored(spot.function.node)) | set(parameters(spot.function.node))
        for part in parts:
            own = {name for inner in ast.walk(part) for name in _bound_inside(inner)}
            for name in reads(part) - own:
                if name in local:
                    if name not in self.gone.get(id(spot.function.node), set()):
                        return False
                elif name in analysis.names.kinds and name not in analysis.names.imports:
                    if name not in self.constants:
                        return False
                elif name in _definitions(spot.function.node):
                    return False
        return True


def remove(analysis: Analysis, emitted: Collection[Spot]) -> Removal:
    """Say what goes once the expected sides of some sites are taken out."""
    result = Removal()
    by_function: dict[int, list[Spot]] = {}
    for spot in emitted:
        by_function.setdefault(id(spot.function.node), []).append(spot)
        result.dead |= {id(part) for part in _removed_of(spot)}
        if spot.assertion is not None and spot.assertion.message is not None:
            result.dead.add(id(spot.assertion.message))
    uses: list[_Use] = []
    for function in analysis.functions:
        if spots := by_function.get(id(function.node)):
            uses += _in_function(analysis, function, spots, result)
    approved = _agreed(uses)
    for use in approved:
        result.dead |= {id(cell) for cell in use.column}
        result.edits += [_none(analysis.source, cell) for cell in use.column]
    for function in analysis.functions:
        if id(function.node) in by_function:
            _settle(analysis, function, [u for u in approved if u.function is function], result)
    _constants(analysis, result)
    return result


def _removed_of(spot: Spot) -> list[ast.expr]:
    """The expressions that go with a site's expected side."""
    if isinstance(spot.claim, Claim):
        return [spot.expected] if spot.expected is not None else []
    form: Raising = spot.claim
    before = form.call.args[: form.arguments] if form.function else form.call.args
    words = [] if form.function else [word.value for word in form.call.keywords]
    return [*before, *words]


def _in_function(
    analysis: Analysis, function: Function, spots: list[Spot], result: Removal
) -> Iterator[_Use]:
    """Mark the statements that go, and say which columns could."""
    node, trail = function.node, function.trail
    if any(
        isinstance(part, ast.Global | ast.Nonlocal)
        or (isinstance(part, ast.Name) and part.id in _LOOKS_AT_NAMES)
        for part in ast.walk(node)
    ):
        return
    served = {name for spot in spots for part in _removed_of(spot) for name in reads(part)}
    while True:
        unneeded = set(served)
        while True:
            dead = {key for key, (_, names) in trail.made.items() if names and names <= unneeded}
            live = unneeded & set(_live(node, result.dead | dead))
            if not live:
                break
            unneeded -= live
        more = {name for key in dead for name in reads(trail.made[key][0])} - served
        if not more:
            break
        served |= more
    result.dead |= dead
    result.gone[id(node)] = unneeded
    yield from _loop_uses(analysis, function, unneeded)
    yield from _parameter_uses(analysis, function, unneeded)


def _loop_uses(analysis: Analysis, function: Function, unneeded: set[str]) -> Iterator[_Use]:
    def define(name: str) -> ast.expr | None:
        return analysis.define_in(function.node, name)

    own = set(stored(function.node))
    for loop in function.trail.looped.values():
        places = paths(loop.target)
        local = any(source.id in own for source in sources(loop.iter))
        scope = function.node if local else analysis.source.tree
        for name in unneeded & set(places):
            column = cells(loop.iter, places[name], define)
            needed = _table(loop.iter, 1, define, scope)
            if column is not None and needed is not None and _free(column, function):
                yield _Use(function, name, column, needed)


def _parameter_uses(analysis: Analysis, function: Function, unneeded: set[str]) -> Iterator[_Use]:
    own = len(function.tables) - function.shared
    for index, table in enumerate(function.tables):
        sharing = sum(table.call is t.call for f in analysis.functions for t in f.tables)
        for name in unneeded & set(table.names):
            column = cells(table.rows, table.path(name), analysis.define)
            needed = _table(table.rows, sharing, analysis.define, analysis.source.tree)
            if column is None or needed is None or table.indirect or not _free(column, function):
                continue
            if index < own or not sources(table.rows):
                yield _Use(function, name, column, needed)


def _table(
    head: ast.expr, uses: int, define: Callable[[str], ast.expr | None], scope: ast.AST
) -> int | None:
    """How many uses of a table have to agree; None where that cannot be said.

    Args:
        head: What is looped over.
        uses: How many there are of a table that is written where it is used.
        define: Looks up names.
        scope: Where a table that has a name is known.
    """
    found = sources(head)
    if not found:
        return uses
    name = found[0].id
    known = define(name)
    if len(found) > 1 or known is None or isinstance(known, ast.Name):
        return None
    return sum(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load)
        for part in ast.walk(scope)
    )


def _agreed(uses: list[_Use]) -> list[_Use]:
    """Those whose table is used by nobody who needs the column."""
    votes = Counter(id(cell) for use in uses for cell in use.column)
    return [use for use in uses if all(votes[id(cell)] == use.needed for cell in use.column)]


def _free(column: list[ast.expr], function: Function) -> bool:
    """Whether a column can go: working it out asks nobody."""
    return all(kind_of(cell, function.names) is not Kind.CODE for cell in column)


def _settle(analysis: Analysis, function: Function, approved: list[_Use], result: Removal) -> None:
    """Keep, of the names that nobody needs, those of which nothing is left; write the edits."""
    node, trail = function.node, function.trail
    bound: Counter[str] = Counter(stored(node))
    bound.update(parameters(node))
    removed: Counter[str] = Counter()
    for key, (statement, _) in trail.made.items():
        if key in result.dead:
            removed.update(stored(statement))
            result.edits.append(blank(analysis.source, statement))
    for use in approved:
        removed[use.name] += 1
    unneeded = result.gone.get(id(node), set())
    result.gone[id(node)] = {name for name in unneeded if bound[name] <= removed[name]}
    for part in ast.walk(node):
        if isinstance(part, ast.With):
            for item in part.items:
                call = item.context_expr
                mentions = reads(call) & unneeded
                if isinstance(call, ast.Call) and method(call) == "subTest" and mentions:
                    start, end = analysis.source.span(call.func)[1], analysis.source.span(call)[1]
                    result.edits.append((start, end, f"({analysis.source.newlines(start, end)})"))
    for label in _labels(analysis, function):
        result.dead.add(id(label))
        result.edits.append(_none(analysis.source, label))


def _labels(analysis: Analysis, function: Function) -> Iterator[ast.expr]:
    """Cases are known by their numbers: what they are called may tell what is expected."""
    for table in function.tables[: len(function.tables) - function.shared]:
        yield from (word.value for word in table.call.keywords if word.arg == "ids")
        known = [analysis.define(source.id) for source in sources(table.rows)]
        for rows in (table.rows, *(value for value in known if value is not None)):
            for call in ast.walk(rows):
                if isinstance(call, ast.Call) and last_name(call.func) == "param":
                    yield from (word.value for word in call.keywords if word.arg == "id")


def _constants(analysis: Analysis, result: Removal) -> None:
    """Constants of the module that nothing is left to read."""
    tree, source = analysis.source.tree, analysis.source
    gone_reads = {
        name for node in ast.walk(tree) if id(node) in result.dead for name in reads(node)
    }
    statements = {
        id(statement): (statement, value)
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and (value := statement.value)
    }
    while True:
        live = set(_live(tree, result.dead))
        found = False
        for key, (statement, value) in statements.items():
            names = set(stored(statement))
            single = len(names) == 1 and analysis.define(*names) is value
            if key in result.dead or not single or not names <= gone_reads - live:
                continue
            if analysis.names.kind(*names) is Kind.CODE:
                continue
            result.dead.add(id(value))
            result.dead.add(key)
            result.constants |= names
            result.edits.append(_none(source, value))
            gone_reads |= reads(value)
            found = True
        if not found:
            return


def _live(node: ast.AST, dead: set[int]) -> Iterator[str]:
    """Names that are still looked up."""
    for part in ast.iter_child_nodes(node):
        if id(part) in dead:
            continue
        if isinstance(part, ast.withitem) and method(part.context_expr) == "subTest":
            continue
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load | ast.Del):
            yield part.id
        if isinstance(part, ast.AugAssign):
            yield from stored(part.target)
        yield from _live(part, dead)


def _none(source: Source, node: ast.expr) -> Edit:
    start, end = source.span(node)
    lines = source.newlines(start, end)
    return start, end, f"({lines}None)" if lines else "None"


def _bound_inside(node: ast.AST) -> set[str]:
    """Names that an expression binds for itself."""
    if isinstance(node, ast.comprehension):
        return set(stored(node.target))
    if isinstance(node, ast.Lambda):
        return {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
    return set()


def _definitions(function: ast.AST) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {
        part.name for part in ast.walk(function) if isinstance(part, kinds) and part is not function
    }
