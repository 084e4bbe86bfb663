"""Copies of tests with other inputs, whose results only the original code tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from random import Random

from codegym.grading.observe.analysis import Function
from codegym.grading.observe.changes import changed
from codegym.grading.observe.inputs import Input, inputs
from codegym.grading.observe.modules import TestModule
from codegym.grading.observe.sites import Sibling
from codegym.grading.observe.text import Edit, apply

_TRIES = 12  # for each that is wanted


def siblings(module: TestModule, function: str, rng: Random, count: int) -> list[Sibling]:
    """Make candidates; whether they pass on the original code is for a run to say.

    Args:
        module: Where the test is.
        function: The test, as ``Site.test``.
        rng: The same state gives the same siblings.
        count: How many at most.

    Returns:
        Copies that differ from the test and from one another; none for a test without inputs, or
        without sites.
    """
    test = next((part for part in module.tests() if part.name == function), None)
    if test is None or not any(spot.function is test for spot in module.analysis.spots):
        return []
    groups = inputs(module.analysis, test, module.bare.dead)
    taken = {part.node.name for part in module.analysis.functions}
    names = (f"{test.node.name}_{number}" for number in range(2, 1000))
    free = (name for name in names if name not in taken)
    seen = {_text_of(module, test, ())}
    found: list[Sibling] = []
    for _ in range(count * _TRIES if groups else 0):
        edits = _edits(module, test, _choose(groups, module, rng))
        text = _text_of(module, test, edits)
        if text in seen:
            continue
        seen.add(text)
        found.append(Sibling(function, next(free), edits))
        if len(found) == count:
            break
    return found


def _text_of(module: TestModule, test: Function, edits: tuple[Edit, ...]) -> str:
    """What tells copies apart: their code, however it is written."""
    return ast.dump(ast.parse(_dedented(module.copy_of(test, "copy", edits))))


def _dedented(text: str) -> str:
    return "if True:\n" + text if text[:1].isspace() else text


def _choose(
    groups: list[list[Input]], module: TestModule, rng: Random
) -> Iterator[tuple[Input, str]]:
    """New literals: in one case, in about half of them, or in all; at least in one."""
    share = rng.choice([0.0, 0.5, 1.0])
    sure = rng.randrange(len(groups))
    together = rng.random() < 0.5  # what is the same stays the same
    for index, group in enumerate(groups):
        if index != sure and rng.random() >= share:
            continue
        for _ in range(rng.choice([1, 2, 4])):
            picked = rng.choices(group, [part.weight for part in group])[0]
            new = changed(picked.node, module.analysis.source, rng)
            if new is None:
                continue
            yield picked, new
            if together and isinstance(picked.node, ast.Constant):
                yield from ((part, new) for part in group if _same(part, picked))


def _same(one: Input, other: Input) -> bool:
    return ast.dump(one.node) == ast.dump(other.node)


def _edits(
    module: TestModule, test: Function, chosen: Iterator[tuple[Input, str]]
) -> tuple[Edit, ...]:
    """The changes as edits; a constant of the module is written out where the test names it."""
    source, analysis = module.analysis.source, module.analysis
    here: dict[tuple[int, int], str] = {}
    elsewhere: dict[str, list[Edit]] = {}
    for part, new in chosen:
        span = source.span(part.node)
        if part.home is None:
            here.setdefault(span, new)
        else:
            elsewhere.setdefault(part.home, []).append((*span, new))
    edits: list[Edit] = [(*span, new) for span, new in here.items()]
    for name, changes in elsewhere.items():
        value = analysis.define(name)
        if value is None:
            continue
        unlike = {(start, end): text for start, end, text in reversed(changes)}
        every = [*module.quiet, *module.bare.edits, *((*s, t) for s, t in unlike.items())]
        span = source.span(value)
        inside = [edit for edit in every if span[0] <= edit[0] and edit[1] <= span[1]]
        text = apply(source.data, inside, span).decode()
        edits += [
            (*source.span(node), f"({text})")
            for node in ast.walk(test.node)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        ]
    return tuple(edits)
