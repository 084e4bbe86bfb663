"""Where unsolved code fails a test: the inputs that are worth changing."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.inputs import Input
from codegym.grading.observe.recording import TestRecord
from codegym.grading.observe.sites import Site
from codegym.grading.observe.variants import failing_lines

#: Values had their turn in the pool that is not aimed: here it is more often the rest that changes.
_ELSEWHERE, _OTHERWISE = 0.1, 3.0


@dataclass(frozen=True, slots=True)
class Aim:
    """What of a function to change.

    Attributes:
        lines: From the first line on, up to the last.
        rows: ``name=place`` of each parameter that it fails with.
    """

    lines: frozenset[tuple[int, float]]
    rows: frozenset[str]

    def weight(self, part: Input) -> float:
        """How much likelier than others an input is to matter."""
        if part.row is not None:
            name, place = part.row
            return 1.0 if f"{name}={place}" in self.rows else _ELSEWHERE
        line = part.node.lineno
        is_step = isinstance(part.node, ast.stmt)  # one that comes before matters, too
        near = any((is_step or first <= line) and line < last for first, last in self.lines)
        likely = 1.0 if near or part.home is not None else _ELSEWHERE
        return likely if isinstance(part.node, ast.Constant) else likely * _OTHERWISE


def aim(originals: Sequence[TestRecord], sites: Mapping[int, Site], start: Sight) -> Aim:
    """Say where a function fails.

    Args:
        originals: What it saw when solved, for each of its parameters.
        sites: All that are observed.
        start: A run of it on the unsolved tree.
    """
    lines: set[tuple[int, float]] = set()
    rows: set[str] = set()
    for test in originals:
        found = set(failing_lines(test, test, sites, start))
        if found:
            lines |= found
            rows |= set(test.key.partition("{")[2].rstrip("}").split(","))
    return Aim(frozenset(lines), frozenset(rows))
