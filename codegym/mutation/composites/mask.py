"""A fault whose error is swallowed before anyone sees where it was raised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from codegym.mutation.candidates import Candidate, Spot
from codegym.mutation.composites.base import Ground, Tried
from codegym.mutation.composites.calls import Function
from codegym.mutation.composites.joining import alone
from codegym.mutation.trial import Reason, Trial
from codegym.syntax import Edit, Parsed, parse, qualified_name, statement_at, walk
from codegym.types import Kind

#: Of each fault, so many statements are tried.
_MOST_OF_ONE = 4
#: What tests raise when they do not see what they should.
_OF_TESTS = frozenset({"", "AssertionError", "Failed"})


class Mask:
    """A fault that raises, and a statement above it that goes on with nothing when that happens."""

    id, version, tier = "composite.mask", "1", 4
    kind: Kind = "FixTests"
    of_singles = True
    says = "A fault, and a second edit that swallows its error: no failure shows the place."

    def propose(self, ground: Ground) -> Iterator[Candidate]:
        """Faults of Python whose failures show their place, and what could hide it."""
        chance = ground.chance(self.id)
        for at in chance.permutation(len(ground.singles)):
            one = ground.singles[int(at)]
            if one.candidate.source.language != "python" or not _shows(one.candidate, one.trial):
                continue
            found = list(_around(ground, one))
            for place in chance.permutation(len(found))[:_MOST_OF_ONE]:
                yield self._made(one, *found[int(place)])

    def _made(self, fault: Tried, path: str, parsed: Parsed, statement: Node) -> Candidate:
        function = qualified_name(parsed, statement)
        spots = [
            Spot(path, parsed, edit, self.id, self.version, function)
            for edit in _swallowing(parsed, statement)
        ]
        return Candidate.of(
            [*fault.candidate.spots, *spots],
            operator=self.id,
            version=self.version,
            tier=self.tier,
            order=2,
        )

    def parts(self, candidate: Candidate, /) -> Sequence[Candidate]:
        """What swallows the error, and the fault, each alone."""
        masks = self._masks(candidate)
        (fault,) = (one for one in candidate.spots if one not in masks)
        return [alone(masks, candidate.kind), alone([fault], candidate.kind)]

    def fault(self, candidate: Candidate, trial: Trial, parts: Sequence[Trial], /) -> Reason | None:
        """An error that the fault raises must be swallowed, no failure show the fault's function.

        And the failures must be the fault's.
        """
        left, single = parts
        errors, now = _errors(single), dict(trial.raised)
        swallowed = any(now.get(test) != error for test, error in errors.items() if test in now)
        masks = self._masks(candidate)
        (fault,) = (one for one in candidate.spots if one not in masks)
        if not errors or (now and not swallowed) or _shows_in(candidate, fault, trial):
            return "not_hidden"
        return "not_needed" if frozenset(trial.failing) <= frozenset(left.failing) else None

    def _masks(self, candidate: Candidate) -> list[Spot]:
        return [one for one in candidate.spots if one.operator == self.id]


def _errors(trial: Trial) -> dict[str, str]:
    """The failing tests that end in an error of the code, to its class."""
    return {test: error for test, error in trial.raised if error not in _OF_TESTS}


def _shows(candidate: Candidate, trial: Trial) -> bool:
    """Whether a fault raises errors that show its place, as far as is known."""
    if not candidate.function or not _errors(trial):
        return False
    return not trial.frames or _shows_in(candidate, candidate.spots[0], trial)


def _shows_in(candidate: Candidate, fault: Spot, trial: Trial) -> bool:
    """Whether failures name a line of the function that a fault is in, as edited."""
    after = parse(candidate.mutants[fault.path], fault.source.language)
    lines: set[int] = set()
    for node in walk(after.root):
        if node.type == "function_definition" and qualified_name(after, node) == fault.function:
            lines.update(range(node.start_point.row + 1, node.end_point.row + 2))
    return any(f"{fault.path}:{line}" in trial.frames for line in lines)


def _around(ground: Ground, one: Tried) -> Iterator[tuple[str, Parsed, Node]]:
    """The fault's own statement, and those that call its function."""
    candidate = one.candidate
    places = [(candidate.path, candidate.edit)]
    function = ground.calls.functions.get((candidate.path, candidate.function))
    if function is not None and len(ground.calls.named[function.simple]) == 1:
        places += list(_callers(ground, function))
    for path, edit in places:
        parsed = ground.files[path]
        statement = statement_at(parsed, edit.start, edit.end)
        if statement is None or not _fallback(parsed, statement):
            continue
        if path != candidate.path or _leaves_room(candidate.edit, statement):
            yield path, parsed, statement


def _leaves_room(edit: Edit, statement: Node) -> bool:
    """Whether something can be put before and after a statement beside an edit."""
    start, end = statement.start_byte, statement.end_byte
    inside = start < edit.start and edit.end <= end and edit.start < edit.end
    return inside or edit.end < start or end < edit.start


def _callers(ground: Ground, function: Function) -> Iterator[tuple[str, Edit]]:
    for call in ground.calls.all.get(function.simple, ()):
        yield call.path, Edit(call.node.start_byte, call.node.end_byte, b"")


def _swallowing(parsed: Parsed, statement: Node) -> tuple[Edit, Edit]:
    """What is put before and after a statement; lines within it stay as they are."""
    start, end = statement.start_byte, statement.end_byte
    line = parsed.source.rfind(b"\n", 0, start) + 1
    indent = parsed.source[line:start]
    newline = b"\r\n" if b"\r\n" in parsed.source else b"\n"
    step = b"\t" if b"\t" in indent else b"    "
    before = b"try:" + newline + indent + step
    handler = newline + indent + b"except Exception:" + newline + indent + step
    return Edit(start, start, before), Edit(end, end, handler + _fallback(parsed, statement))


def _fallback(parsed: Parsed, statement: Node) -> bytes:
    """What is done instead where a statement fails; nothing where that cannot be said."""
    line = parsed.source.rfind(b"\n", 0, statement.start_byte) + 1
    if parsed.source[line : statement.start_byte].strip():
        return b""  # not the first on its line
    if statement.type == "return_statement" and statement.named_children:
        return b"return None"
    if statement.type != "expression_statement":
        return b""
    inner = statement.named_children[0]
    if inner.type == "call":
        return b"pass"
    left = inner.child_by_field_name("left")
    if inner.type == "assignment" and left is not None and left.type == "identifier":
        return parsed.text(left) + b" = None"
    return b"pass" if inner.type == "augmented_assignment" else b""
