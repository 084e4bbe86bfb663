"""The options of a training are in their ranges, or it does not start."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from codegym.errors import UsageError


@dataclass(frozen=True, slots=True)
class Range:
    """What an option may be, in words and for a value."""

    wanted: str
    holds: Callable[[float], bool]


FINITE = Range("a finite number", math.isfinite)
ABOVE_0 = Range("a number above 0", lambda value: 0 < value < math.inf)
FROM_0 = Range("a number, at least 0", lambda value: 0 <= value < math.inf)
FROM_1 = Range("at least 1", lambda value: value >= 1)
SHARE = Range("from 0 to 1", lambda value: 0 <= value <= 1)
ABOVE_0_TO_1 = Range("above 0 and at most 1", lambda value: 0 < value <= 1)


def check(options: object, **ranges: Range) -> None:
    """Hold fields against their ranges.

    Raises:
        UsageError: One is not in it.
    """
    for name, one in ranges.items():
        value = getattr(options, name)
        if not one.holds(value):
            raise UsageError(f"{name}: must be {one.wanted}, got {value}")
