"""Candidates: every edit that operators find in an environment's sources, in a drawn order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from codegym.mutation.operators import NodeOperator, Operator, kind_of
from codegym.syntax import (
    Edit,
    Parsed,
    apply_edits,
    changes,
    function_at,
    grammar,
    parse,
    qualified_name,
    walk,
)
from codegym.tasks import Environment
from codegym.tasks.sides import Sides
from codegym.types import Kind, Tree


@dataclass(frozen=True, slots=True)
class Spot:
    """One edit of one file.

    Attributes:
        path: The file, in the repository.
        source: The file as it is.
        edit: What an operator would change.
        operator: The operator's id.
        version: The operator's version.
        function: Names of the classes and functions around the edit, or ``""``.
    """

    path: str
    source: Parsed
    edit: Edit
    operator: str
    version: str
    function: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one task would change, not tried yet: an edit, or several edits of one or more files.

    Attributes:
        path: The file of the first edit, in the repository.
        source: That file as it is.
        edit: The first edit.
        operator: The id of the operator, or of the composite that joined the edits.
        version: Its version.
        tier: Its tier.
        kind: The kind of task that it would be.
        function: Names of the classes and functions around the first edit, or ``""``.
        joined: All edits, by path and place, where they were joined; else empty.
        order: How many single faults are in it.
        why: What else a composite knows of it, for the row's provenance: names to text.
        parts: What is left of it when a part is undone, where its edits alone do not tell that.
    """

    path: str
    source: Parsed
    edit: Edit
    operator: str
    version: str
    tier: int
    kind: Kind
    function: str
    joined: tuple[Spot, ...] = ()
    order: int = 1
    why: tuple[tuple[str, str], ...] = ()
    parts: tuple[Candidate, ...] = ()

    @classmethod
    def of(
        cls,
        spots: Iterable[Spot],
        *,
        operator: str,
        version: str,
        tier: int,
        order: int,
        kind: Kind = "FixTests",
        why: Mapping[str, str] | None = None,
    ) -> Candidate:
        """Join edits; those of one file must not overlap.

        Raises:
            ValueError: There is none.
        """
        joined = tuple(sorted(spots, key=lambda one: (one.path, one.edit)))
        if not joined:
            raise ValueError("a candidate of no edits")
        first = joined[0]
        return cls(
            path=first.path,
            source=first.source,
            edit=first.edit,
            operator=operator,
            version=version,
            tier=tier,
            kind=kind,
            function=first.function,
            joined=joined,
            order=order,
            why=tuple(sorted((why or {}).items())),
        )

    @property
    def spots(self) -> tuple[Spot, ...]:
        """All edits, by path and place."""
        if self.joined:
            return self.joined
        one = Spot(self.path, self.source, self.edit, self.operator, self.version, self.function)
        return (one,)

    @property
    def operators(self) -> Mapping[str, str]:
        """Version of every operator that had a part in it, by id."""
        parts = {one.operator: one.version for one in self.spots}
        return dict(sorted((parts | {self.operator: self.version}).items()))

    @property
    def files(self) -> Mapping[str, tuple[Parsed, tuple[Edit, ...]]]:
        """Each file that changes, in order: as it is, and its edits."""
        found: dict[str, tuple[Parsed, tuple[Edit, ...]]] = {}
        for one in self.spots:
            found[one.path] = (one.source, (*found.get(one.path, (None, ()))[1], one.edit))
        return found

    @property
    def mutants(self) -> Mapping[str, bytes]:
        """Each file that changes, after its edits."""
        return {
            path: apply_edits(parsed.source, edits) for path, (parsed, edits) in self.files.items()
        }

    @property
    def mutant(self) -> bytes:
        """The first file after its edits."""
        return self.mutants[self.path]

    @property
    def functions(self) -> tuple[tuple[str, str], ...]:
        """Path and name of each function that is edited, once."""
        return tuple(dict.fromkeys((one.path, one.function) for one in self.spots))

    @property
    def digest(self) -> str:
        """Hash of what it changes and into what, whoever proposed it."""
        total = hashlib.sha256()
        mutants = self.mutants
        for path, (parsed, _) in self.files.items():
            for part in (path.encode("utf-8", "surrogateescape"), parsed.source, mutants[path]):
                total.update(len(part).to_bytes(8, "big") + part)
        return total.hexdigest()


def sources(environment: Environment, tree: Tree) -> dict[str, Parsed]:
    """The files that may be mutated; one that is not understood as a whole is left out.

    Raises:
        NotFoundError: The environment's language cannot be parsed.
        UnavailableError: Its grammar is not installed.
    """
    found = parsed_sources(environment, tree)
    return {path: parsed for path, parsed in found.items() if parsed.is_clean}


def parsed_sources(environment: Environment, tree: Tree) -> dict[str, Parsed]:
    """Parse what a policy may edit, tests and links left out. Raises as ``sources`` does."""
    sides = Sides(environment)
    suffixes = grammar(environment.language).suffixes
    found = {}
    for path in sorted(tree):
        file = tree[path]
        if not path.endswith(suffixes) or file.mode == "120000" or sides.side(path) != "source":
            continue
        found[path] = parse(file.data, environment.language)
    return found


def find_candidates(
    files: Mapping[str, Parsed], operators: Sequence[Operator], seed: int
) -> list[Candidate]:
    """All edits that make a difference, files and places in order.

    Each operator has its own chance in each file, so that neither other operators nor changes of
    other files have a part in what it finds.
    """
    return [
        _candidate(path, parsed, edit, one)
        for path, parsed in files.items()
        for edit, one in _edits(path, parsed, operators, seed)
        if edit.end <= len(parsed.source) and changes(parsed.source, edit)
    ]


def _edits(
    path: str, parsed: Parsed, operators: Sequence[Operator], seed: int
) -> Iterator[tuple[Edit, Operator]]:
    by_type, always = _index(operators)
    chance = {one.id: _generator(seed, path, one.id) for one in operators}
    for node in walk(parsed.root, grammar(parsed.language).inert):
        for one in (*by_type.get(node.type, ()), *always):
            for edit in one(node, parsed.source, chance[one.id]):
                yield edit, one


def draw(candidates: Iterable[Candidate], seed: int) -> Iterator[Candidate]:
    """Candidates in a drawn order: kinds take turns, and so do the operators of one kind."""
    strata: dict[Kind, dict[str, list[Candidate]]] = {}
    for one in candidates:
        strata.setdefault(one.kind, {}).setdefault(one.operator, []).append(one)
    turns = [
        _in_turn([_shuffled(part, seed, name) for name, part in sorted(parts.items())])
        for _, parts in sorted(strata.items())
    ]
    yield from _in_turn(turns)


def _candidate(path: str, parsed: Parsed, edit: Edit, operator: Operator) -> Candidate:
    function = function_at(parsed, edit.start, edit.end)
    node = function or parsed.root.descendant_for_byte_range(edit.start, edit.end) or parsed.root
    return Candidate(
        path=path,
        source=parsed,
        edit=edit,
        operator=operator.id,
        version=operator.version,
        tier=operator.tier,
        kind=kind_of(operator),
        function=qualified_name(parsed, node),
    )


def _index(operators: Sequence[Operator]) -> tuple[dict[str, list[Operator]], list[Operator]]:
    """Operators by the node types that they look at, and those that look at all."""
    by_type: dict[str, list[Operator]] = {}
    for one in operators:
        for node_type in one.nodes if isinstance(one, NodeOperator) else ():
            by_type.setdefault(node_type, []).append(one)
    return by_type, [one for one in operators if not isinstance(one, NodeOperator)]


def _shuffled(candidates: Sequence[Candidate], seed: int, name: str) -> Iterator[Candidate]:
    order = _generator(seed, "order", name).permutation(len(candidates))
    return (candidates[int(at)] for at in order)


def _in_turn(parts: Sequence[Iterator[Candidate]]) -> Iterator[Candidate]:
    waiting = list(parts)
    while waiting:
        going = []
        for part in waiting:
            for one in part:
                yield one
                going.append(part)
                break
        waiting = going


def _generator(seed: int, *names: str) -> np.random.Generator:
    """Chance that depends on a seed and on names, and on nothing else."""
    text = "\0".join((str(seed), *names)).encode("utf-8", "surrogateescape")
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text).digest(), "big"))
