"""Turns assertions into observations, statement by statement, as edits of the source."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from codegym.grading.observe.analysis import Spot
from codegym.grading.observe.claims import Assertion, Claim, Raising, method, raising
from codegym.grading.observe.kinds import Names
from codegym.grading.observe.text import Edit, Source, Span, compose

MODULE = "_cg_observer"
NAME = "__cg__"
IMPORT = f"import {MODULE} as {NAME}"
# plain: as it was. both: asserts, and emits all sides. actual: emits the value alone, asserts
# nothing. mute: works the value out, no more.
Mode = Literal["plain", "both", "actual", "mute"]
_KEEP_CALL = "lambda f, /, *a, **k: lambda: f(*a, **k)"


def rewrite(source: Source, spots: Iterable[Spot], mode: Callable[[Spot], Mode]) -> list[Edit]:
    """Edits of all the statements that some sites are in."""
    edits: list[Edit] = []
    asserted: dict[int, dict[int, Spot]] = {}
    for spot in spots:
        if isinstance(spot.claim, Raising):
            edits += _raises(source, spot, spot.claim, mode(spot))
        else:
            asserted.setdefault(id(spot.statement), {})[id(spot.claim)] = spot
    for found in asserted.values():
        assertion = next(iter(found.values())).assertion
        if assertion is not None:
            edits += _asserts(source, assertion, found, mode)
    return edits


def _asserts(
    source: Source, assertion: Assertion, spots: dict[int, Spot], mode: Callable[[Spot], Mode]
) -> Iterator[Edit]:
    modes = {key: mode(spot) for key, spot in spots.items()}
    for key, spot in spots.items():
        if modes[key] == "both":
            yield from _both(source, spot)
    if not {"actual", "mute"} & set(modes.values()):
        return
    pieces: list[str | Span] = []
    for part in assertion.parts:
        part_spot, kept = spots.get(id(part)), modes.get(id(part), "plain")
        before = "; " if pieces else ""
        if part_spot is None or part_spot.actual is None or kept in {"plain", "both"}:
            whole = part.whole if isinstance(part, Claim) else part
            pieces += [f"{before}assert (", source.span(whole), ")"]
        else:
            opening = f"{NAME}.saw({part_spot.site.id}, " if kept == "actual" else "("
            pieces += [before + opening, source.span(part_spot.actual), ")"]
    yield from compose(source, source.span(assertion.statement), pieces)


def _both(source: Source, spot: Spot) -> Iterator[Edit]:
    """Wrap both sides where they are."""
    claim, site = spot.claim, spot.site.id
    if spot.actual is None or not isinstance(claim, Claim):
        return
    start, end = source.span(spot.actual)
    yield start, start, f"{NAME}.saw({site}, "
    if claim.none_unwritten and isinstance(claim.whole, ast.Call):
        name = "assertIs" if claim.op == "is" else "assertIsNot"
        yield (*source.span(claim.whole.func), f"self.{name}")
        yield end, end, f"), {NAME}.meant({site}, None)"
        return
    yield end, end, ")"
    if spot.expected is not None:
        start, end = source.span(spot.expected)
        yield start, start, f"{NAME}.meant({site}, "
        yield end, end, ")"


def _raises(source: Source, spot: Spot, form: Raising, mode: Mode) -> list[Edit]:
    if mode == "plain":
        return []
    if form.function is not None:
        return _raises_call(source, spot, form, mode)
    start, end = source.span(form.call)
    if mode in {"actual", "mute"}:
        return [(start, end, f"{NAME}.raised({spot.site.id}{source.newlines(start, end)})")]
    edits, texts = [], []
    for letter, part in (("e", form.exception), ("m", form.match)):
        if part is None:
            continue
        if any(isinstance(inner, ast.Call) for inner in ast.walk(part)):  # once, not twice
            first, last = source.span(part)
            name = f"_cg_{letter}{spot.site.id}"
            edits += [(first, first, f"({name} := "), (last, last, ")")]
            texts.append(name)
        else:
            texts.append(ast.unparse(part))
    opening = f"{NAME}.raises({spot.site.id}, "
    return [(start, start, opening), *edits, (end, end, f", {', '.join(texts)})")]


def _raises_call(source: Source, spot: Spot, form: Raising, mode: Mode) -> list[Edit]:
    """``pytest.raises(E, f, x)`` becomes a block; its arguments are worked out before it."""
    if form.function is None:
        return []
    call, kept, site = form.call, f"_cg_f{spot.site.id}", spot.site.id
    arguments = (source.span(form.function)[0], source.span(call)[1] - 1)
    if mode == "both":
        texts = [ast.unparse(part) for part in (form.exception, form.match) if part is not None]
        inner = f"{ast.unparse(call.func)}({', '.join(texts)})"
        context = f"{NAME}.raises({site}, {inner}, {', '.join(texts)})"
    else:
        context = f"{NAME}.raised({site})"
    pieces: list[str | Span] = [f"with ({kept} := ({_KEEP_CALL})(", arguments]
    pieces.append(f")) and {context}: {kept}()")
    edits = compose(source, source.span(call), pieces)
    start, end, text = edits[-1]  # the bracket closes after the lines
    return [*edits[:-1], (start, end, text)]


def invert(source: Source, function: ast.AST, names: Names) -> list[Edit]:
    """Edits that make a test's assertions demand the opposite."""
    edits: list[Edit] = []
    for node in _own_statements(function, names):
        if isinstance(node, ast.Assert):
            start, end = source.span(node.test)
            edits += [(start, start, "not ("), (end, end, ")")]
        elif isinstance(node, ast.Expr):
            edits += _invert_call(source, node, names)
        elif isinstance(node, ast.With):
            for item in node.items:
                if raising_here(item.context_expr, names):
                    first, last = source.span(item.context_expr)
                    lines = source.newlines(first, last)
                    nothing = f'__import__("contextlib").nullcontext({lines})'
                    edits.append((first, last, nothing))
    return edits


def raising_here(call: ast.expr, names: Names) -> bool:
    """Whether a block has to raise something."""
    form = raising(call, names)
    return form is not None and form.function is None


def _invert_call(source: Source, node: ast.Expr, names: Names) -> list[Edit]:
    form = raising(node.value, names)
    start, end = source.span(node)
    if form is not None and form.function is not None:
        last = source.span(form.function)[1]
        rest = [*form.call.args[form.arguments + 1 :], *form.call.keywords]
        pieces: list[str | Span] = ["(", source.span(form.function), ")("]
        if rest:
            pieces.append((min(source.span(part)[0] for part in rest), end - 1))
        else:
            pieces.append((last, last))
        return compose(source, (start, end), [*pieces, ")"])
    name = method(node.value) or ""
    column = source.data[source.starts[node.lineno - 1] : start]
    if name.startswith("assert") and not column.strip():
        return [(start, start, "with self.assertRaises(self.failureException): ")]
    return []


def _own_statements(node: ast.AST, names: Names) -> Iterator[ast.stmt]:
    """A function's statements, but for those of functions in it and of blocks that must raise."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.stmt):
            yield part
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(part, ast.With) and any(
            raising_here(i.context_expr, names) for i in part.items
        ):
            continue
        yield from _own_statements(part, names)
