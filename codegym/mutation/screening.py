"""What can be said of candidates without running them: most of the bad ones fall here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate, Spot
from codegym.mutation.coverage import lines_of
from codegym.mutation.equivalence import Compiled, compiled
from codegym.mutation.trial import Reason
from codegym.syntax import reparse
from codegym.types import Tree
from codegym.workspace.features import is_built

#: Shorter pieces of code are in many places without being copies.
_DISTINCTIVE_CHARS = 60


class Screen:
    """Looks at candidates in order; remembers which files they made.

    Args:
        baselines: Of each suite; they say which tests run an edit.
        tree: The repository as it is.
        held: Functions, by path and name, whose bodies every sandbox has from elsewhere.
    """

    def __init__(
        self,
        baselines: Sequence[Baseline],
        tree: Tree,
        held: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        self._held = held
        self.baselines = tuple(baselines)
        self._tree = tree
        self._made: set[str] = set()
        self._pressed: dict[str, bytes] = {}

    def anew(self) -> Screen:
        """Another one, which remembers nothing."""
        return Screen(self.baselines, self._tree, self._held)

    def fault(self, candidate: Candidate) -> Reason | None:
        """Why a candidate is not worth running, or None."""
        files = candidate.files
        if not all(reparse(parsed, edits).is_clean for parsed, edits in files.values()):
            return "does_not_parse"
        try:
            for path, (parsed, _) in files.items():
                parsed.source.decode()
                path.encode()
        except UnicodeError:
            return "not_text"
        if candidate.digest in self._made:
            return "duplicate"
        self._made.add(candidate.digest)
        if candidate.source.language == "python":
            codes = {path: compiled(*changed) for path, changed in files.items()}
            if any(one.same is None for one in codes.values()):
                return "does_not_parse"
            if all(one.same for one in codes.values()):
                return "equivalent"
            if self._is_known(codes):
                return "duplicate"
        if not self.tests_for(candidate)[1]:
            return "uncovered"
        in_image = not self._held.isdisjoint(candidate.functions)
        return "copied" if in_image or self._is_elsewhere(candidate) else None

    def _is_known(self, codes: Mapping[str, Compiled]) -> bool:
        """Whether another candidate came to the same code."""
        if not all(one.digest for one in codes.values()):
            return False
        made = "\0".join(f"{path}\0{one.digest}" for path, one in codes.items())
        known = made in self._made
        self._made.add(made)
        return known

    def tests_for(self, candidate: Candidate) -> tuple[Baseline, frozenset[str]]:
        """The first suite with tests that pass and run an edit, and those tests.

        Where it is not known what tests run, all of them do; where none does, there are none.
        """
        for baseline in self.baselines:
            tests = frozenset(baseline.seconds)
            if baseline.coverage is not None:
                run = (
                    baseline.coverage.tests_of(one.path, lines_of(one.source, one.edit))
                    for one in candidate.spots
                )
                tests &= frozenset().union(*run)
            if tests:
                return baseline, tests
        return self.baselines[0], frozenset()

    def _is_elsewhere(self, candidate: Candidate) -> bool:
        """Whether a feature that was taken away stands in the repository a second time."""
        if candidate.kind != "ImplementFeature":
            return False
        return any(self._stands_twice(one) for one in candidate.spots)

    def _stands_twice(self, spot: Spot) -> bool:
        gone = _pressed(spot.source.source[spot.edit.start : spot.edit.end])
        if len(gone) < _DISTINCTIVE_CHARS:
            return False
        return self._count(spot.path, gone) > 1 or any(
            self._count(path, gone)
            for path in self._tree
            if path != spot.path and not is_built(path)  # a workspace is without those
        )

    def _count(self, path: str, gone: bytes) -> int:
        if path not in self._pressed:
            self._pressed[path] = _pressed(self._tree[path].data)
        return self._pressed[path].count(gone)


def _pressed(data: bytes) -> bytes:
    """Text without what differs between copies that are indented otherwise."""
    return b"".join(data.split())


def effect_of(candidate: Candidate, failing: Iterable[str]) -> str:
    """What makes two tasks the same to a solver: the statements, and the tests that fail."""
    found = {(one.path, lines_of(one.source, one.edit)) for one in candidate.spots}
    places = "\0".join(f"{path}\0{lines}" for path, lines in sorted(found, key=repr))
    parts = "\0".join((places, candidate.kind, *sorted(failing)))
    return hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()[:16]
