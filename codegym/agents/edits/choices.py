"""Edits to choose from: what mutation's operators would change in files that have a fault.

A fault that an operator made is undone by an edit only where some operator has the inverse; nothing
here knows which edit that is.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Mapping
from functools import cache

from codegym.mutation.candidates import Candidate, find_candidates
from codegym.mutation.coverage import lines_of
from codegym.mutation.operators import Operator, load_operators
from codegym.syntax import Edit, Parsed

#: How many failing and passing tests run a line: by path, by line from 1.
Counts = Mapping[str, Mapping[int, tuple[int, int]]]
#: How suspicious a line is, above 0 to 1, by path and line; lines that are not in it are not.
Heat = Mapping[str, Mapping[int, float]]
#: So often are operators asked that draw one of several replacements.
_DRAWS = 4
#: Compiled queries are shared by threads, and bear only one at a time.
_alone = threading.Lock()


def heat_of(counts: Counts, failing: int) -> Heat:
    """How suspicious lines are, from the tests that run them: Ochiai's coefficient.

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


def choices(files: Mapping[str, Parsed], heat: Heat, limit: int) -> tuple[Candidate, ...]:
    """Edits to choose from, the most suspicious first: the same for the same arguments.

    Args:
        files: Sources of one language, by path.
        heat: Says where to look first; where it is empty, all places are alike.
        limit: So many at most, >= 1.

    Returns:
        Edits of which no two make the same of a file. Where places are equally suspicious,
        operators take turns.
    """
    suspects = {path: parsed for path, parsed in files.items() if path in heat} or dict(files)
    if not suspects:
        return ()
    operators = _operators(next(iter(suspects.values())).language)
    found: dict[tuple[str, Edit], Candidate] = {}
    with _alone:
        for draw in range(_DRAWS):
            for one in find_candidates(suspects, operators, draw):
                found.setdefault((one.path, one.edit), one)
    turns: Counter[tuple[float, str]] = Counter()
    ranked = []
    for place, key in enumerate(sorted(found)):
        one = found[key]
        hot = hottest(one, heat)
        turns[hot, one.operator] += 1
        ranked.append((-hot, turns[hot, one.operator], place, one))
    ranked.sort(key=lambda each: each[:3])
    return tuple(each[-1] for each in ranked[:limit])


def hottest(candidate: Candidate, heat: Heat) -> float:
    """How suspicious the lines are that run where an edit has an effect."""
    lines = heat.get(candidate.path, {})
    where = lines_of(candidate.source, candidate.edit)
    return max((lines.get(line, 0.0) for line in where), default=0.0)


@cache
def _operators(language: str) -> tuple[Operator, ...]:
    """Those that change code, not those that take a whole function away."""
    return tuple(load_operators([], language, ["FixTests"]))
