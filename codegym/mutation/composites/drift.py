"""An interface changes and only some of those who use it follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

import numpy as np
from tree_sitter import Node

from codegym.mutation.candidates import Candidate, Spot
from codegym.mutation.composites.base import Ground
from codegym.mutation.composites.calls import Call, Function
from codegym.mutation.composites.joining import alone
from codegym.mutation.composites.shapes import arguments, plain_parameters, returned
from codegym.mutation.trial import Reason, Trial
from codegym.syntax import Edit, Parsed, function_at, qualified_name, walk
from codegym.types import Kind

#: Of each function, so many ways in which some callers follow.
_VARIANTS: Final = 2
_FACTOR: Final = b"1000"
#: Languages where a field that is not there is found out only when it is asked for.
_LATE: Final = {"python": (b"self", "attribute", "object", "attribute"),
                "javascript": (b"this", "member_expression", "object", "property")}  # fmt: skip


T = TypeVar("T")
Place = tuple[str, Node]
Use = tuple[str, Edit]
#: The interface's edit, those of users that may follow, and what changes.
Change = tuple[Use, list[Use], str]


class Drift:
    """Parameters change places, a result changes its unit, a field its name; callers lag behind."""

    id, version, tier = "composite.drift", "1", 4
    kind: Kind = "FixTests"
    of_singles = False
    says = "A signature, a unit or a field changes, and only some of its users follow."

    def propose(self, ground: Ground) -> Iterator[Candidate]:
        """Each interface that sources use at least twice, some of the uses left as they are."""
        chance = ground.chance(self.id)
        found: list[Candidate] = []
        for namesakes in ground.calls.named.values():
            if len(namesakes) == 1:
                found += self._of_function(ground, namesakes[0], chance)
        found += self._fields(ground, chance)
        for at in chance.permutation(len(found)):
            yield found[int(at)]

    def _of_function(
        self, ground: Ground, function: Function, chance: np.random.Generator
    ) -> Iterator[Candidate]:
        source = ground.files[function.path]
        inside = range(function.node.start_byte, function.node.end_byte)
        calls = [
            one
            for one in ground.calls.all.get(function.simple, ())
            if one.path != function.path or one.node.start_byte not in inside
        ]
        what = f"{function.path}::{function.name}"
        for definition, users, change in (
            *_swaps(ground, source, function, calls),
            *_units(source, function, calls),
        ):
            for _ in range(_VARIANTS):
                if some := _some(users, chance):
                    yield self._made(ground, [definition, *some], change, what)

    def _fields(self, ground: Ground, chance: np.random.Generator) -> Iterator[Candidate]:
        for name, renamed, defined, used in _fields(ground):
            for _ in range(_VARIANTS):
                some = _some(used, chance)
                if not some:
                    continue
                places = [*defined, *(place for each in some for place in each)]
                edits = [
                    (path, Edit(node.start_byte, node.end_byte, renamed)) for path, node in places
                ]
                yield self._made(ground, edits, "field", name.decode(errors="replace"))

    def _made(
        self, ground: Ground, edits: Sequence[tuple[str, Edit]], change: str, of: str
    ) -> Candidate:
        spots = [
            Spot(path, parsed := ground.files[path], edit, self.id, self.version,
                 _function(parsed, edit))
            for path, edit in edits
        ]  # fmt: skip
        return Candidate.of(
            spots,
            operator=self.id,
            version=self.version,
            tier=self.tier,
            order=2,
            why={"drift": change, "drifted": of},
        )

    def parts(self, candidate: Candidate, /) -> Sequence[Candidate]:
        """The interface alone and its users alone; a field has no such halves."""
        path, _, name = dict(candidate.why)["drifted"].partition("::")
        if not name:
            return ()
        interface = [one for one in candidate.spots if (one.path, one.function) == (path, name)]
        users = [one for one in candidate.spots if one not in interface]
        return [alone(half, candidate.kind) for half in (interface, users) if half]

    def fault(self, _: Candidate, _trial: Trial, parts: Sequence[Trial], /) -> Reason | None:
        """To undo neither half alone may mend everything."""
        return None if all(one.failing for one in parts) else "not_needed"


def _some(users: Sequence[T], chance: np.random.Generator) -> list[T]:
    """At least one, and not all; nothing where there are not two."""
    if len(users) < 2:
        return []
    count = int(chance.integers(1, len(users)))
    return [users[int(at)] for at in sorted(chance.permutation(len(users))[:count])]


def _swaps(
    ground: Ground, source: Parsed, function: Function, calls: Sequence[Call]
) -> Iterator[Change]:
    """Two neighbouring parameters of one type change places; calls that follow do the same."""
    listed = plain_parameters(source, function.node)
    for at in range(len(listed) - 1):
        (one, kind), (other, other_kind) = listed[at], listed[at + 1]
        if kind != other_kind:
            continue
        users = []
        for call in calls:
            given, text = arguments(call.node), ground.files[call.path].text
            if len(given) == len(listed) and text(given[at]) != text(given[at + 1]):
                edit = _swapped(ground.files[call.path], given[at], given[at + 1])
                users.append((call.path, edit))
        yield (function.path, _swapped(source, one, other)), _apart(users), "parameters"


def _units(source: Parsed, function: Function, calls: Sequence[Call]) -> Iterator[Change]:
    """The result is in a unit a thousand times smaller; callers that follow divide."""
    value = returned(source, function.node)
    if value is None:
        return
    scaled = b"(" + source.text(value) + b") * " + _FACTOR
    users = [
        (call.path, Edit(call.node.start_byte, call.node.end_byte, b"(%s / %s)" % (text, _FACTOR)))
        for call in calls
        if (text := call.node.text) is not None and _is_value(call.node)
    ]
    yield (function.path, Edit(value.start_byte, value.end_byte, scaled)), _apart(users), "unit"


def _is_value(call: Node) -> bool:
    """Whether the result of a call is used where an expression may stand in brackets."""
    return call.parent is not None and call.parent.type not in {
        "await", "await_expression", "decorator", "expression_statement", "with_item",
        "defer_statement", "go_statement",
    }  # fmt: skip


def _apart(uses: Sequence[Use]) -> list[Use]:
    """Those that lie in no other."""
    return [
        (path, edit)
        for path, edit in uses
        if not any(
            path == where and edit != other and other.start <= edit.start and edit.end <= other.end
            for where, other in uses
        )
    ]


def _swapped(parsed: Parsed, one: Node, other: Node) -> Edit:
    between = parsed.source[one.end_byte : other.start_byte]
    text = parsed.text(other) + between + parsed.text(one)
    return Edit(one.start_byte, other.end_byte, text)


def _fields(ground: Ground) -> Iterator[tuple[bytes, bytes, list[Place], list[list[Place]]]]:
    """Fields that one class sets: name, new name, where set, and by function where else used."""
    for language, (owner, kind, holder, field) in _LATE.items():
        sets: dict[bytes, list[Place]] = {}
        uses: dict[bytes, dict[tuple[str, str], list[Place]]] = {}
        classes: dict[bytes, set[str]] = {}
        words: set[bytes] = set()
        declared: set[bytes] = set()
        for path, parsed in ground.files.items():
            if parsed.language != language:
                continue
            for node in walk(parsed.root):
                if node.type in {"identifier", "property_identifier"}:
                    words.add(parsed.text(node))
                    if _is_of_class(node):
                        declared.add(parsed.text(node))
                of, named = node.child_by_field_name(holder), node.child_by_field_name(field)
                if node.type != kind or of is None or named is None:
                    continue
                name, around = parsed.text(named), qualified_name(parsed, node)
                if parsed.text(of) == owner and _is_set(node):
                    sets.setdefault(name, []).append((path, named))
                    classes.setdefault(name, set()).add(f"{path}::{around.rpartition('.')[0]}")
                else:
                    uses.setdefault(name, {}).setdefault((path, around), []).append((path, named))
        for name, places in sets.items():
            renamed = name[1:] if name.startswith(b"_") else b"_" + name
            sole = len(classes[name]) == 1 and name not in declared
            if sole and renamed not in words and not name.startswith(b"__"):
                yield name, renamed, places, list(uses.get(name, {}).values())


def _is_of_class(name: Node) -> bool:
    """Whether a name is set in the body of a class, as a field of a dataclass is."""
    place = name.parent
    while place is not None and place.type in {"assignment", "expression_statement"}:
        place = place.parent
    return place is not None and place.parent is not None and "class" in place.parent.type


def _is_set(field: Node) -> bool:
    parent = field.parent
    return parent is not None and parent.child_by_field_name("left") == field


def _function(parsed: Parsed, edit: Edit) -> str:
    node = function_at(parsed, edit.start, edit.end)
    around = node or parsed.root.descendant_for_byte_range(edit.start, edit.end) or parsed.root
    return qualified_name(parsed, around)
