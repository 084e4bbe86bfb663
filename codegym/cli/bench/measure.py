"""Figures, and how they are taken."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    Attributes:
        name: Its name, unit last.
        p50: Median.
        p95: 95th percentile.
        floor: Median of the least that the machine needs for it, taken in the same run.
        target: What it is to stay below; None where nothing is set.
        what: One line: what was measured.
        against: One line: what the floor is.
        n: How many times it was measured.
    """

    name: str
    p50: float
    p95: float
    floor: float | None
    target: float | None
    what: str
    against: str
    n: int

    @property
    def ratio(self) -> float | None:
        """How many times the floor the median is."""
        return self.p50 / self.floor if self.floor else None


def quantile(values: Sequence[float], share: float) -> float:
    """A quantile, between the nearest values."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def figure(
    name: str,
    values: Sequence[float],
    floors: Sequence[float],
    *,
    target: float | None,
    what: str,
    against: str,
) -> Figure:
    """A figure from its measurements and its floor's."""
    return Figure(
        name=name,
        p50=quantile(values, 0.5),
        p95=quantile(values, 0.95),
        floor=quantile(floors, 0.5) if floors else None,
        target=target,
        what=what,
        against=against,
        n=len(values),
    )


def timed(action: Callable[[], object], times: int) -> list[float]:
    """Seconds of each of so many calls."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        action()
        taken.append(time.perf_counter() - began)
    return taken


async def seconds_of(action: Awaitable[object]) -> float:
    """Seconds until it is done."""
    began = time.perf_counter()
    await action
    return time.perf_counter() - began


async def timed_async(action: Callable[[], Awaitable[object]], times: int) -> list[float]:
    """Seconds of each of so many calls, one after another."""
    return [await seconds_of(action()) for _ in range(times)]
