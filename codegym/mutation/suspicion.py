"""How suspicious lines are, from the tests that run them: Ochiai's coefficient.

It ranks lines best of the formulas compared by Abreu, Zoeteweij and van Gemund (TAICPART 2007).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from codegym.mutation.candidates import Candidate, Spot
from codegym.mutation.coverage import Coverage, lines_of

#: How many failing and passing tests run a line: by path, by line from 1.
Counts = Mapping[str, Mapping[int, tuple[int, int]]]
#: How suspicious a line is, above 0 to 1, by path and line; lines that are not in it are not.
Heat = Mapping[str, Mapping[int, float]]


def heat_of(counts: Counts, failing: int) -> Heat:
    """How suspicious lines are.

    Args:
        counts: Which tests run which lines.
        failing: How many tests fail in all.

    Returns:
        The lines that a failing test runs.
    """
    return {
        path: hot
        for path, lines in counts.items()
        if (hot := {line: f / math.sqrt(failing * (f + p)) for line, (f, p) in lines.items() if f})
    }


def hottest(spot: Candidate | Spot, heat: Heat) -> float:
    """How suspicious the lines are that run where an edit has an effect."""
    lines = heat.get(spot.path, {})
    where = lines_of(spot.source, spot.edit)
    return max((lines.get(line, 0.0) for line in where), default=0.0)


def suspects(candidate: Candidate, coverage: Coverage, failing: Collection[str]) -> int:
    """How many lines are no less suspicious than the least suspicious place of a fault, >= 1.

    Who looks where failing tests go, the most suspicious line first, has to look at so many: the
    EXAM score (Wong et al., ICST 2008), as a count.

    Args:
        candidate: The fault.
        coverage: Which tests run which lines.
        failing: The tests that fail for it.
    """
    heat = heat_of(_counts(coverage, frozenset(failing)), len(failing))
    least = min(hottest(spot, heat) for spot in candidate.spots)
    bar = least * (1.0 - 1e-9)  # what is equal may differ in the last digit
    return max(sum(hot >= bar for lines in heat.values() for hot in lines.values()), 1)


def _counts(coverage: Coverage, failing: frozenset[str]) -> Counts:
    """All lines that a failing test runs, with how many failing and passing tests do."""
    run: dict[str, set[int]] = {}
    for test in failing:
        for path, lines in coverage.tests.get(test, {}).items():
            run.setdefault(path, set()).update(lines)
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for path, reached in run.items():
        for line in reached:
            tests = coverage.tests_of(path, [line])
            fail = len(tests & failing)
            found.setdefault(path, {})[line] = (fail, len(tests) - fail)
    return found
