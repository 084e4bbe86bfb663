"""Several faults that were tried alone, in functions that call each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codegym.mutation.candidates import Candidate
from codegym.mutation.composites.base import Ground, Tried
from codegym.mutation.composites.joining import apart, join, unneeded, without_each
from codegym.mutation.trial import Reason, Trial
from codegym.types import Kind

_MOST = 4
#: So many groups are begun at each fault.
_MOST_FROM_ONE = 6


class Linked:
    """Two to four faults along calls, within a file or across files; each has to be repaired."""

    id, version, tier = "composite.linked", "1", 4
    kind: Kind = "FixTests"
    of_singles = True
    says = "Two to four faults in functions that call each other; each is needed for some failure."

    def propose(self, ground: Ground) -> Iterator[Candidate]:
        """Groups that calls connect; those that cross files and those that do not take turns."""
        singles = [one for one in ground.singles if one.candidate.kind == "FixTests"]
        across: list[tuple[Tried, ...]] = []
        within: list[tuple[Tried, ...]] = []
        for group in self._groups(ground, singles):
            paths = {one.candidate.path for one in group}
            (across if len(paths) > 1 else within).append(group)
        for turn in range(max(len(across), len(within))):
            for groups in (across, within):
                if turn < len(groups):
                    yield join(self, groups[turn])

    def _groups(self, ground: Ground, singles: list[Tried]) -> Iterator[tuple[Tried, ...]]:
        """Walks along calls from each fault, of two and more steps, none twice."""
        chance, most = ground.chance(self.id), min(_MOST, ground.most)
        places = [(one.candidate.path, one.candidate.function) for one in singles]
        at_place: dict[tuple[str, str], list[int]] = {}
        for at, place in enumerate(places):
            at_place.setdefault(place, []).append(at)
        seen: set[frozenset[int]] = set()
        for start in chance.permutation(len(singles)):
            for turn in range(_MOST_FROM_ONE):
                group = [int(start)]
                while len(group) < 2 + turn % (most - 1):
                    near = {
                        other for at in group for other in ground.calls.near.get(places[at], ())
                    } - {places[at] for at in group}
                    fitting = [at for place in sorted(near) for at in at_place.get(place, ())]
                    if not fitting:
                        break
                    group.append(fitting[int(chance.integers(len(fitting)))])
                chosen = tuple(singles[at] for at in group)
                fits = len(group) > 1 and apart([one.candidate for one in chosen])
                if fits and frozenset(group) not in seen:
                    seen.add(frozenset(group))
                    yield chosen

    def parts(self, candidate: Candidate, /) -> Sequence[Candidate]:
        """What is left when each edit in turn is undone."""
        return tuple(without_each(candidate))

    def fault(self, _: Candidate, trial: Trial, parts: Sequence[Trial], /) -> Reason | None:
        """Undoing any one edit must mend a test, and must leave one that fails."""
        return unneeded(trial, parts)
