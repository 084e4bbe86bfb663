"""A feature goes with all that only it needed: what is left is its name, to be written anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from tree_sitter import Node

from codegym.mutation.candidates import Candidate, Spot
from codegym.mutation.composites.base import Ground
from codegym.mutation.composites.calls import Function
from codegym.mutation.composites.joining import alone
from codegym.mutation.operators import BUILTIN, Operator, load_operators
from codegym.mutation.trial import Reason, Trial
from codegym.syntax import Edit, Parsed, grammar, parse, walk
from codegym.types import Kind

_Key = tuple[str, str]
#: Types of functions that can be taken out whole.
_DEFINITIONS: Final = frozenset({
    "function_definition", "function_declaration", "generator_function_declaration",
    "method_definition", "function_item", "method_declaration",
})  # fmt: skip
_WORDS: Final = frozenset({"identifier", "property_identifier", "field_identifier",
                           "type_identifier"})  # fmt: skip
#: A feature that more than this share of the tests needs is the package itself.
_MOST_TESTS: Final = 0.5


class Subtree:
    """A function that others call is stubbed; the functions below it that no other test runs go."""

    id, version, tier = "composite.subtree", "1", 5
    kind: Kind = "ImplementFeature"
    of_singles = False
    says = "A function is stubbed, and what only its tests run below it goes as well."

    def propose(self, ground: Ground) -> Iterator[Candidate]:
        """Each public function with at least one function below it that is its own."""
        stub = _stubbing(ground.environment.language)
        if stub is None:
            return
        covered = _covered(ground)
        words = _words(ground)
        whole = sum(len(one.seconds) for one in ground.baselines)
        roots = [one for one in ground.calls.functions.values() if not one.simple.startswith("_")]
        for at in ground.chance(self.id).permutation(len(roots)):
            root = roots[int(at)]
            tests = covered.get(root.key, frozenset())
            if not 0 < len(tests) <= _MOST_TESTS * whole:
                continue
            below = [
                ground.calls.functions[key]
                for key in sorted(ground.calls.reached(root.key) - {root.key})
                if covered.get(key) and covered[key] <= tests
            ]
            if one := self._made(ground, root, below, stub, words):
                yield one

    def _made(
        self, ground: Ground, root: Function, below: list[Function], stub: Operator,
        words: Counter[str],
    ) -> Candidate | None:  # fmt: skip
        first = _stub(ground, root, stub)
        gone = _removable(ground, root, below, words)
        if first is None or not gone:
            return None
        edits = [(root, first), *((one, _whole(ground.files[one.path], one.node)) for one in gone)]
        return Candidate.of(
            [self._spot(ground, one, edit) for one, edit in edits],
            operator=self.id,
            version=self.version,
            tier=self.tier,
            order=2,
            kind=self.kind,
            why={"feature": f"{root.path}::{root.name}"},
        )

    def _spot(self, ground: Ground, function: Function, edit: Edit) -> Spot:
        parsed = ground.files[function.path]
        return Spot(function.path, parsed, edit, self.id, self.version, function.name)

    def parts(self, candidate: Candidate, /) -> Sequence[Candidate]:
        """The stub alone."""
        (stub,) = (one for one in candidate.spots if one.edit.replacement)
        return [alone([stub], candidate.kind)]

    def fault(self, _: Candidate, trial: Trial, parts: Sequence[Trial], /) -> Reason | None:
        """What only was below the feature must be missed by no other test."""
        (stub,) = parts
        return None if set(trial.failing) <= set(stub.failing) else "not_exclusive"


def _stubbing(language: str) -> Operator | None:
    """What leaves a function's signature alone in a language."""
    if f"{language}.remove_body" not in BUILTIN:
        return None
    return load_operators(["remove_body"], language, ["ImplementFeature"])[0]


def _stub(ground: Ground, function: Function, stub: Operator) -> Edit | None:
    parsed = ground.files[function.path]
    found = list(stub(function.node, parsed.source, np.random.default_rng(0)))
    return found[0] if found else None


def _covered(ground: Ground) -> dict[_Key, frozenset[str]]:
    """The tests that run each function's body."""
    found = {}
    for key, one in ground.calls.functions.items():
        body = one.node.child_by_field_name("body")
        if body is None:
            continue
        lines = range(body.start_point.row + 1, body.end_point.row + 2)
        tests: frozenset[str] = frozenset()
        for baseline in ground.baselines:
            if baseline.coverage is not None:
                tests |= baseline.coverage.tests_of(one.path, lines) & set(baseline.seconds)
        found[key] = tests
    return found


def _words(ground: Ground) -> Counter[str]:
    """How often each name occurs in all files of the language, tests among them."""
    found: Counter[str] = Counter()
    language = ground.environment.language
    for path, file in ground.tree.items():
        if path.endswith(grammar(language).suffixes) and file.mode != "120000":
            parsed = ground.files.get(path) or parse(file.data, language)
            found += _names(parsed, parsed.root)
    return found


def _names(parsed: Parsed, below: Node) -> Counter[str]:
    return Counter(
        parsed.text(node).decode(errors="replace") for node in walk(below) if node.type in _WORDS
    )


def _removable(
    ground: Ground, root: Function, below: list[Function], words: Counter[str]
) -> list[Function]:
    """Of the functions below, those that nothing names but the feature and each other."""
    gone = [one for one in below if _can_go(one) and not _within(one, root)]
    while True:
        named: Counter[str] = Counter()
        for one in (root, *gone):
            named += _names(ground.files[one.path], one.node)
        kept = [one for one in gone if named[one.simple] >= words[one.simple]]
        kept = _leaving_some(kept)
        if len(kept) == len(gone):
            return [one for one in gone if not any(_within(one, other) for other in gone)]
        gone = kept


def _leaving_some(gone: list[Function]) -> list[Function]:
    """Those of the functions that can go so that no block is left empty."""
    found = []
    left: dict[tuple[str, int], int] = {}
    for one in gone:
        block = _outer(one.node).parent
        if block is None:
            continue
        place = one.path, block.start_byte
        statements = sum(child.type != "comment" for child in block.named_children)
        left[place] = left.get(place, statements) - 1
        if left[place] > 0:
            found.append(one)
    return found


def _can_go(function: Function) -> bool:
    """Whether a function is a definition of its own."""
    return function.node.type in _DEFINITIONS


def _within(one: Function, other: Function) -> bool:
    return (
        one.path == other.path
        and other.node.start_byte < one.node.start_byte
        and one.node.end_byte <= other.node.end_byte
    )


def _outer(node: Node) -> Node:
    """A definition with its decorators."""
    parent = node.parent
    return parent if parent is not None and parent.type == "decorated_definition" else node


def _whole(parsed: Parsed, node: Node) -> Edit:
    """Takes out whole lines of a definition, and the comments right above it."""
    outer = _outer(node)
    start, source = outer.start_byte, parsed.source
    before = outer.prev_sibling
    row = outer.start_point.row
    while before is not None and before.type == "comment" and before.end_point.row == row - 1:
        start, row, before = before.start_byte, before.start_point.row, before.prev_sibling
    start = source.rfind(b"\n", 0, start) + 1
    end = source.find(b"\n", outer.end_byte)
    return Edit(start, len(source) if end < 0 else end + 1, b"")
