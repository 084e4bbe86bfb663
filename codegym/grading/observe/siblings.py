"""Copies of tests with other inputs, whose results only the original code tells."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random

from codegym.grading.observe.analysis import Function
from codegym.grading.observe.changes import changed
from codegym.grading.observe.inputs import Input, inputs
from codegym.grading.observe.modules import TestModule
from codegym.grading.observe.removal import Removal
from codegym.grading.observe.sites import Sibling
from codegym.grading.observe.text import Edit, Source, Span, apply
from codegym.syntax.python import parse_expression

_TRIES = 12  # for each that is wanted
_UNWRITABLE = (math.inf,)
_TOGETHER, _OTHER = 0.75, 0.2
_PHRASE = 3  # so many characters of a text are no coincidence in another
Row = tuple[str, int]


def siblings(
    module: TestModule,
    function: str,
    rng: Random,
    count: int,
    mark: str = "",
    weigh: Callable[[Input], float] | None = None,
) -> list[Sibling]:
    """Make candidates; whether they pass on the original code is for a run to say.

    Args:
        module: Where the test is.
        function: The test, as ``Site.test``.
        rng: The same state gives the same siblings.
        count: How many at most.
        mark: What is in all of their names.
        weigh: How likely a change of each input is, beside others.

    Returns:
        Copies that differ from the test and from one another; none for a test without inputs, or
        without sites.
    """
    test = next((part for part in module.tests() if part.name == function), None)
    if test is None or not any(spot.function is test for spot in module.analysis.spots):
        return []
    choosers = list(_choosers(module, test, rng, weigh))
    free = _free_names(module, f"{test.node.name}{mark}", ())
    seen: set[tuple[bool, frozenset[Edit]]] = set()
    found: list[Sibling] = []
    for turn in range(count * _TRIES if choosers else 0):
        mirrored, chooser = choosers[turn % len(choosers)]
        chosen = list(chooser.choose())
        edits = _edits(module, test, chosen, module.removal(mirrored))
        if not edits or (mirrored, frozenset(edits)) in seen:
            continue
        seen.add((mirrored, frozenset(edits)))
        rows = _rows(part.row for part, _ in chosen)
        found.append(Sibling(function, next(free), edits, rows, mirrored))
        if len(found) == count:
            break
    return found


def _choosers(
    module: TestModule, test: Function, rng: Random, weigh: Callable[[Input], float] | None
) -> Iterator[tuple[bool, _Chooser]]:
    """Of siblings as the test is, and where it holds both sides against each other, mirrored."""
    mutual = any(spot.mutual for spot in module.analysis.spots if spot.function is test)
    for mirrored in (False, True) if mutual else (False,):
        groups = inputs(module.analysis, test, module.removal(mirrored).dead)
        if weigh is not None:
            groups = [[replace(p, weight=p.weight * weigh(p)) for p in group] for group in groups]
        if groups:
            yield mirrored, _Chooser(groups, module, rng)


def joined(
    module: TestModule, parts: Sequence[Sibling], rng: Random, count: int, mark: str = ""
) -> list[Sibling]:
    """Siblings that differ in all that several others differ in.

    Args:
        module: Where their test is.
        parts: Others, of one test.
        rng: The same state gives the same siblings.
        count: How many at most.
        mark: What is in all of their names.
    """
    found: list[Sibling] = []
    if not parts:
        return found
    name, taken = parts[0].test.rpartition("::")[2], {part.name for part in parts}
    free = _free_names(module, f"{name}{mark}", taken)
    mirrored = rng.choice(parts).mirrored
    parts = [part for part in parts if part.mirrored == mirrored]
    seen = {frozenset(part.edits) for part in parts}
    for number in range(2 * count):
        size = len(parts) if number % 2 else rng.randint(2, max(2, len(parts) // 2))
        edits: tuple[Edit, ...] = ()
        rows: list[frozenset[Row] | None] = []
        for part in rng.sample(parts, min(size, len(parts))):
            if not any(_overlap(one, other) for one in part.edits for other in edits):
                edits += part.edits
                rows.append(part.rows)
        if frozenset(edits) not in seen and len(found) < count:
            seen.add(frozenset(edits))
            known = [each for each in rows if each is not None]
            all_known = frozenset().union(*known) if len(known) == len(rows) else None
            found.append(Sibling(parts[0].test, next(free), edits, all_known, mirrored))
    return found


def _rows(found: Iterable[Row | None]) -> frozenset[Row] | None:
    """The rows; None where something differs that is in none."""
    rows = set(found)
    return None if None in rows else frozenset(row for row in rows if row is not None)


def _overlap(one: Edit, other: Edit) -> bool:
    return one[:2] == other[:2] or (one[0] < other[1] and other[0] < one[1])


def _free_names(module: TestModule, name: str, taken: Collection[str]) -> Iterator[str]:
    known = {part.node.name for part in module.analysis.functions}
    names = (f"{name}_{number}" for number in range(2, 1000))
    return (one for one in names if one not in known and one not in taken)


class _Chooser:
    """Which literals change: by turns each alone, and several at once.

    Alone, a change is more likely to leave a test that passes; at once, they are harder to guess.
    """

    def __init__(self, groups: list[list[Input]], module: TestModule, rng: Random) -> None:
        self._groups, self._source, self._rng = groups, module.analysis.source, rng
        self._alone: list[tuple[list[Input], Input]] = []
        self._turn = 0

    def choose(self) -> Iterator[tuple[Input, str]]:
        """Inputs and what they become."""
        self._turn += 1
        if self._turn % 2:
            return self._several()
        if not self._alone:  # the likelier ones come first, as pops are from the end
            every = [(group, part) for group in self._groups for part in group]
            most = max(part.weight for _, part in every)
            some = [at for at in every if self._rng.random() * most <= at[1].weight]
            self._alone = sorted(some, key=lambda at: at[1].weight * self._rng.random())
        group, part = self._alone.pop()
        return self._change(part, group, self._rng.random() < _TOGETHER)

    def _other(self, part: Input) -> str | None:
        """Now and then, another of the test's own values: what is there may be asked for."""
        if part.others:
            return self._rng.choice(part.others)
        if not isinstance(part.node, ast.Constant) or self._rng.random() >= _OTHER:
            return None
        kind, old = type(part.node.value), part.node.value
        known = [p.node.value for g in self._groups for p in g if isinstance(p.node, ast.Constant)]
        fit = [v for v in known if type(v) is kind and v != old and v not in _UNWRITABLE]
        return repr(self._rng.choice(fit)) if fit else None

    def _several(self) -> Iterator[tuple[Input, str]]:
        """In one case, in about half of them, or in all; at least in one."""
        rng = self._rng
        share, weights = (
            rng.choice([0.0, 0.5, 1.0]),
            [max(p.weight for p in g) for g in self._groups],
        )
        (sure,) = rng.choices(range(len(weights)), weights)
        together = rng.random() < _TOGETHER
        for index, group in enumerate(self._groups):
            if index == sure or rng.random() < share:
                for part in rng.choices(group, [p.weight for p in group], k=rng.choice([1, 2, 4])):
                    yield from self._change(part, group, together)

    def _change(
        self, part: Input, group: list[Input], together: bool
    ) -> Iterator[tuple[Input, str]]:
        """Another value; ``together``, what is the same stays the same."""
        new = self._other(part) or changed(part.node, self._source, self._rng)
        if new is not None:
            yield part, new
            if together and isinstance(part.node, ast.Constant):
                for other in group:
                    if (like := _likewise(other, part, new)) is not None:
                        yield other, like


def _likewise(other: Input, part: Input, new: str) -> str | None:
    """What an input becomes where it is the same as one that changed, or a text that holds it."""
    if other.shape == part.shape:
        return new
    if not isinstance(other.node, ast.Constant) or not isinstance(part.node, ast.Constant):
        return None
    old, whole = part.node.value, other.node.value
    if isinstance(old, str) and isinstance(whole, str) and len(old) >= _PHRASE and old in whole:
        return repr(whole.replace(old, ast.literal_eval(parse_expression(new))))
    return None


def _edits(
    module: TestModule, test: Function, chosen: Iterable[tuple[Input, str]], removal: Removal
) -> tuple[Edit, ...]:
    """The changes as edits; a constant of the module is written out where the test names it."""
    source, analysis = module.analysis.source, module.analysis
    here: dict[tuple[int, int], str] = {}
    elsewhere: dict[str, list[Edit]] = {}
    for part, new in chosen:
        span = _place(source, part.node)
        if part.home is None:
            here.setdefault(span, new)
        else:
            elsewhere.setdefault(part.home, []).append((*span, new))
    edits: list[Edit] = [
        (*span, new) for span, new in here.items() if not any(_within(span, o) for o in here)
    ]
    for name, changes in elsewhere.items():
        value = analysis.define(name)
        if value is None:
            continue
        unlike = {(start, end): text for start, end, text in reversed(changes)}
        every = [*module.quiet, *removal.edits, *((*s, t) for s, t in unlike.items())]
        span = source.span(value)
        inside = [edit for edit in every if span[0] <= edit[0] and edit[1] <= span[1]]
        text = apply(source.data, inside, span).decode()
        edits += [(*source.span(node), f"({text})") for node in _loads(test.node, name)]
    return tuple(edits)


def _place(source: Source, node: ast.AST) -> Span:
    """What is replaced; what is said of a statement comes before it."""
    start, end = source.span(node)
    return (start, start if isinstance(node, ast.stmt) else end)


def _within(span: Span, other: Span) -> bool:
    """Whether a part lies in another, which is replaced as a whole."""
    return span != other and other[0] <= span[0] and span[1] <= other[1]


def _loads(node: ast.AST, name: str) -> Iterator[ast.Name]:
    """Where a name is looked up, but for f-strings: Python 3.11 does not know places in them."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load):
            yield part
        if not isinstance(part, ast.JoinedStr):
            yield from _loads(part, name)
