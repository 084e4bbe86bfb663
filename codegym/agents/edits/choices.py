"""Edits to choose from: what mutation's operators would change in files that have a fault.

A fault that an operator made is undone by an edit only where some operator has the inverse; nothing
here knows which edit that is.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache

from codegym.mutation.candidates import Candidate, find_candidates
from codegym.mutation.operators import Operator, load_operators
from codegym.mutation.suspicion import Heat, hottest
from codegym.syntax import Edit, Parsed, parse

#: So often are operators asked that draw one of several replacements.
_DRAWS = 4
#: Compiled queries are shared by threads, and bear only one at a time.
_alone = threading.Lock()
#: Tasks of one repository have most of their files in common.
_FILES = 256


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
    with _alone:
        found = [
            one
            for path in sorted(suspects)
            for one in _edits(path, suspects[path].source, suspects[path].language)
        ]
    turns: Counter[tuple[float, str]] = Counter()
    ranked = []
    for place, one in enumerate(found):
        hot = hottest(one, heat)
        turns[hot, one.operator] += 1
        ranked.append((-hot, turns[hot, one.operator], place, one))
    ranked.sort(key=lambda each: each[:3])
    return tuple(each[-1] for each in ranked[:limit])


@lru_cache(_FILES)
def _edits(path: str, source: bytes, language: str) -> tuple[Candidate, ...]:
    """All edits of a file, in order, each once."""
    files, operators = {path: parse(source, language)}, _operators(language)
    found: dict[Edit, Candidate] = {}
    for draw in range(_DRAWS):
        for one in find_candidates(files, operators, draw):
            found.setdefault(one.edit, one)
    return tuple(found[edit] for edit in sorted(found))


@cache
def _operators(language: str) -> tuple[Operator, ...]:
    """Those that change code, not those that take a whole function away."""
    return tuple(load_operators([], language, ["FixTests"]))
