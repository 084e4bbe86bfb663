"""Commits of the history, taken back in the code as it is today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from codegym.mutation.candidates import Candidate
from codegym.mutation.composites.base import Ground
from codegym.mutation.composites.joining import unneeded
from codegym.mutation.composites.lines import spots, taken_back
from codegym.mutation.trial import Reason, Trial
from codegym.types import Kind, Tree
from codegym.workspace.history import Commit, Repository, open_history

#: Of a long history, only the newest commits are looked at.
_MOST_COMMITS: Final = 200
#: Taken back together with one of its next ones.
_NEXT: Final = 6
#: What changes more is a rewrite, not a fault.
_MOST_EDITS: Final = 24

_Texts = Mapping[str, bytes]


class Revert:
    """One to four commits that today's code can do without, as far as it still parses."""

    id, version, tier = "composite.revert", "2", 4
    kind: Kind = "FixTests"
    of_singles = False
    says = (
        "Commits of the history are taken back, where later ones left their lines alone; of "
        "several, each is needed."
    )

    def propose(self, ground: Ground) -> Iterator[Candidate]:
        """Each commit alone, then several that change the same files, newest first."""
        repository = open_history(ground.environment)
        commits = _main_line(repository, ground.environment.head)[:_MOST_COMMITS]
        now = {path: parsed.source for path, parsed in ground.files.items()}
        good = [one for one in commits if _without(repository, now, [one]) is not None]
        chance = ground.chance(self.id)
        alone = [[good[int(at)]] for at in chance.permutation(len(good))]
        several = [
            list(group)
            for count in range(2, min(ground.most, 4) + 1)
            for first in range(len(good))
            for group in combinations(good[first : first + _NEXT], count)
            if group[0] is good[first] and _share(repository, group)
        ]
        order = [several[int(at)] for at in chance.permutation(len(several))]
        for group in (*alone, *order):
            one = self._made(ground, repository, now, group)
            fewer = combinations(group, len(group) - 1) if len(group) > 1 else ()
            parts = [self._made(ground, repository, now, each) for each in fewer]
            if one is not None and None not in parts:
                yield replace(one, parts=tuple(part for part in parts if part is not None))

    def parts(self, candidate: Candidate, /) -> Sequence[Candidate]:
        """What is left when each of several commits is there again."""
        return candidate.parts

    def fault(self, _: Candidate, trial: Trial, parts: Sequence[Trial], /) -> Reason | None:
        """Each of several commits must be missed."""
        return unneeded(trial, parts)

    def _made(
        self, ground: Ground, repository: Repository, now: _Texts, group: Sequence[Commit]
    ) -> Candidate | None:
        left = _without(repository, now, group)
        if left is None:
            return None
        changed = [
            spot
            for path, text in left.items()
            for spot in spots(path, ground.files[path], text, self.id, self.version)
        ]
        if not 0 < len(changed) <= _MOST_EDITS:
            return None
        return Candidate.of(
            changed,
            operator=self.id,
            version=self.version,
            tier=self.tier + (len(group) > 1),
            order=max(2, len(group)),
            why={"commits": " ".join(one.hash for one in group)},
        )


def _main_line(repository: Repository, head: str) -> list[Commit]:
    """First parents, newest first, without the root."""
    known = {one.hash: one for one in repository.commits(head)}
    line = []
    at = known.get(head)
    while at is not None and at.parents:
        line.append(at)
        at = known.get(at.parents[0])
    return line


def _without(repository: Repository, now: _Texts, group: Sequence[Commit]) -> _Texts | None:
    """The files that change when commits are taken back, newest first; None where one cannot be."""
    left = dict(now)
    for commit in group:
        before = repository.tree_at(commit.parents[0])
        after = repository.tree_at(commit.hash)
        touched = [path for path in left if before.get(path) != after.get(path)]
        for path in touched:
            text = _taken_back(before, after, path, left[path])
            if text is None:
                return None
            left[path] = text
    changed = {path: text for path, text in left.items() if text != now[path]}
    return changed or None


def _taken_back(before: Tree, after: Tree, path: str, now: bytes) -> bytes | None:
    if path not in before or path not in after:
        return None  # a file came or went with it: others import it
    return taken_back(before[path].data, after[path].data, now)


def _share(repository: Repository, group: Sequence[Commit]) -> bool:
    """Whether commits change a file that another one of them changes, too."""
    changed = [set(repository.changed(one.parents[0], one.hash)) for one in group]
    return all(any(one & other for other in changed if other is not one) for one in changed)
