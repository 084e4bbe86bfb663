"""Joining single edits, and taking them apart again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from codegym.mutation.candidates import Candidate, Spot
from codegym.mutation.trial import Reason, Trial
from codegym.types import Kind

if TYPE_CHECKING:
    from codegym.mutation.composites.base import Composite, Tried

#: Tier of a part that stands alone; a part is only run, and no row is made of it.
_ALONE = 1


def join(composite: Composite, singles: Sequence[Tried]) -> Candidate:
    """The candidate of single edits that do not overlap."""
    return Candidate.of(
        [spot for one in singles for spot in one.candidate.spots],
        operator=composite.id,
        version=composite.version,
        tier=composite.tier,
        order=len(singles),
        kind=composite.kind,
    )


def apart(candidates: Sequence[Candidate]) -> bool:
    """Whether no two edits overlap or touch, so that each stays what it is alone."""
    places = sorted(
        (spot.path, spot.edit.start, spot.edit.end) for one in candidates for spot in one.spots
    )
    return all(a[0] != b[0] or a[2] < b[1] for a, b in pairwise(places))


def each_alone(candidate: Candidate) -> Iterator[Candidate]:
    """Each edit of a candidate alone."""
    for spot in candidate.spots:
        yield alone([spot], candidate.kind)


def without_each(candidate: Candidate) -> Iterator[Candidate]:
    """What is left of a candidate when one of its edits is undone, for each."""
    spots = candidate.spots
    for at in range(len(spots)):
        yield alone([*spots[:at], *spots[at + 1 :]], candidate.kind)


def unneeded(trial: Trial, parts: Sequence[Trial]) -> Reason | None:
    """Whether one of several may stay: undoing each must mend a test, and leave one that fails."""
    failing = frozenset(trial.failing)
    for left in parts:
        if left.reason is not None or failing <= frozenset(left.failing):
            return "not_needed"
    return None


def alone(spots: Sequence[Spot], kind: Kind) -> Candidate:
    """Some edits as a candidate; of one, just as its operator gave it."""
    if len(spots) > 1:
        return Candidate.of(
            spots, operator="part", version="1", tier=_ALONE, order=len(spots), kind=kind
        )
    (one,) = spots
    return Candidate(
        path=one.path,
        source=one.source,
        edit=one.edit,
        operator=one.operator,
        version=one.version,
        tier=_ALONE,
        kind=kind,
        function=one.function,
    )
