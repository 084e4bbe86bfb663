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
class Candidate:
    """One edit of one file, not tried yet.

    Attributes:
        path: The file, in the repository.
        source: The file as it is.
        edit: What an operator would change.
        operator: The operator's id.
        version: The operator's version.
        tier: The operator's tier.
        kind: The kind of task that it would be.
        function: Names of the classes and functions around the edit, or ``""``.
    """

    path: str
    source: Parsed
    edit: Edit
    operator: str
    version: str
    tier: int
    kind: Kind
    function: str

    @property
    def mutant(self) -> bytes:
        """The file after the edit."""
        return apply_edits(self.source.source, [self.edit])

    @property
    def digest(self) -> str:
        """Hash of what it changes and into what, whoever proposed it."""
        parts = (self.path.encode("utf-8", "surrogateescape"), self.source.source, self.mutant)
        total = hashlib.sha256()
        for part in parts:
            total.update(len(part).to_bytes(8, "big") + part)
        return total.hexdigest()


def sources(environment: Environment, tree: Tree) -> dict[str, Parsed]:
    """Parse the files that may be mutated: what a policy may edit, tests and links left out.

    A file that is not understood as a whole is left out too.

    Raises:
        NotFoundError: The environment's language cannot be parsed.
        UnavailableError: Its grammar is not installed.
    """
    sides = Sides(environment)
    suffixes = grammar(environment.language).suffixes
    found = {}
    for path in sorted(tree):
        file = tree[path]
        if not path.endswith(suffixes) or file.mode == "120000" or sides.side(path) != "source":
            continue
        parsed = parse(file.data, environment.language)
        if parsed.is_clean:
            found[path] = parsed
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
