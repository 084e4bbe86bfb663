"""Two edits of one function that fewer tests notice than notice either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from codegym.mutation.candidates import Candidate
from codegym.mutation.composites.base import Ground, Tried
from codegym.mutation.composites.joining import apart, each_alone, join
from codegym.mutation.trial import Reason, Trial
from codegym.types import Kind

#: Of each function, so many pairs are proposed.
_MOST_OF_ONE = 24


class Pair:
    """Strongly subsuming pairs: what fails is strictly inside what fails with each edit alone."""

    id, version, tier = "composite.pair", "1", 4
    kind: Kind = "FixTests"
    of_singles = True
    says = "Two edits of a function; fewer tests notice them together than notice either."

    def propose(self, ground: Ground) -> Iterator[Candidate]:
        """Pairs that at least two tests notice both of; those first that the same tests notice."""
        of_function: dict[tuple[str, str], list[Tried]] = {}
        for one in ground.singles:
            if one.candidate.kind == "FixTests" and one.candidate.function:
                place = one.candidate.path, one.candidate.function
                of_function.setdefault(place, []).append(one)
        found = []
        for (path, name), singles in of_function.items():
            pairs = [two for two in combinations(singles, 2) if _may_hide(two)]
            order = ground.chance(f"{self.id}\0{path}\0{name}").permutation(len(pairs))
            drawn = sorted((pairs[int(at)] for at in order), key=_alike, reverse=True)
            found += drawn[:_MOST_OF_ONE]
        mixed = [found[int(at)] for at in ground.chance(self.id).permutation(len(found))]
        for two in sorted(mixed, key=_alike, reverse=True):
            yield join(self, two)

    def parts(self, candidate: Candidate, /) -> Sequence[Candidate]:
        """Each edit alone."""
        return tuple(each_alone(candidate))

    def fault(self, _: Candidate, trial: Trial, parts: Sequence[Trial], /) -> Reason | None:
        """It must be harder to notice than each of its parts."""
        both = frozenset(trial.failing)
        harder = all(both < frozenset(one.failing) for one in parts)
        return None if harder else "not_harder"


def _may_hide(two: Sequence[Tried]) -> bool:
    one, other = two
    return len(one.failing & other.failing) > 1 and apart([one.candidate, other.candidate])


def _alike(two: Sequence[Tried]) -> float:
    """How much the tests that fail are the same: such edits hide each other more often."""
    one, other = two
    return round(len(one.failing & other.failing) / len(one.failing | other.failing), 1)
