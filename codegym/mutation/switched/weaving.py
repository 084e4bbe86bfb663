"""Weaves many edits into one set of files. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from codegym.mutation.candidates import Candidate, Spot
from codegym.mutation.switched.dialects import DIALECTS, Dialect, with_roots
from codegym.syntax import Edit, Parsed, ancestors, apply_edits

#: A function is known by its file and the place of its body.
_Place = tuple[str, int, int]
#: A number, and the first and last line of what it is of.
_Lines = tuple[int, int, int]
_MOST_FUNCTIONS = 65_000


@dataclass(frozen=True, slots=True)
class Woven:
    """Files that hold many edits.

    Attributes:
        files: Those that differ from the repository's.
        functions: Number of an edit to the numbers of the functions that it is in.
        arms: File to its variants, by number of the edit, with first and last line.
        switches: File to its functions that have variants, by number, with first and last line.
    """

    files: Mapping[str, bytes]
    functions: Mapping[int, frozenset[int]]
    arms: Mapping[str, tuple[_Lines, ...]] = field(default_factory=dict)
    switches: Mapping[str, tuple[_Lines, ...]] = field(default_factory=dict)

    def around(self, path: str, line: int) -> frozenset[int]:
        """Which edits are in the function that has a line."""
        which = {
            number for number, first, last in self.switches.get(path, ()) if first <= line <= last
        }
        return frozenset(one for one, found in self.functions.items() if found & which)

    def at(self, path: str, line: int) -> frozenset[int]:
        """Which edits' variants have a line."""
        return frozenset(
            number for number, first, last in self.arms.get(path, ()) if first <= line <= last
        )


def weave(language: str, candidates: Mapping[int, Candidate], files: Mapping[str, bytes]) -> Woven:
    """Weave candidates, each by a number above 0, into the files that they are of.

    A candidate that no switch can hold, as it edits more than bodies of functions, is left out.

    Args:
        language: One of ``DIALECTS``.
        candidates: Those to weave.
        files: All of the repository's files of that language that are no tests.
    """
    dialect = DIALECTS[language]
    variants: dict[_Place, dict[int, list[Edit]]] = {}
    hosts: dict[_Place, tuple[Spot, Node]] = {}
    functions: dict[int, set[_Place]] = {}
    for number, candidate in candidates.items():
        found = [(spot, _host(dialect, spot)) for spot in candidate.spots]
        if any(node is None for _, node in found):
            continue
        for spot, node in found:
            if node is not None:
                place = (spot.path, node.start_byte, node.end_byte)
                hosts.setdefault(place, (spot, node))
                variants.setdefault(place, {}).setdefault(number, []).append(spot.edit)
                functions.setdefault(number, set()).add(place)
    numbers = {place: at for at, place in enumerate(sorted(variants)[:_MOST_FUNCTIONS])}
    made: dict[str, bytes] = {}
    arms: dict[str, tuple[_Lines, ...]] = {}
    switches: dict[str, tuple[_Lines, ...]] = {}
    for path in dict.fromkeys(place[0] for place in numbers):
        mine = {place: variants[place] for place in numbers if place[0] == path}
        parsed = hosts[next(iter(mine))][0].source
        made[path], arms[path], switches[path] = _file(dialect, parsed, mine, numbers)
    return Woven(
        with_roots(made, files) if language == "rust" else made,
        {one: frozenset(numbers[at] for at in places) for one, places in functions.items()},
        arms,
        switches,
    )


def _host(dialect: Dialect, spot: Spot) -> Node | None:
    """The body of the outermost function that has an edit and can be switched, or None."""
    start, end = spot.edit.start, spot.edit.end
    node = spot.source.root.descendant_for_byte_range(start, end)
    found = None
    for around in (node, *ancestors(node)) if node is not None else ():
        body = around.child_by_field_name("body") if around.type in dialect.functions else None
        if body is None:
            continue
        inside = body.start_byte < start and end < body.end_byte
        block = body.type in ("compound_statement", "block", "statement_block")
        if inside and block:
            found = body if dialect.fits(around) else None
    return found


def _file(
    dialect: Dialect,
    parsed: Parsed,
    variants: Mapping[_Place, Mapping[int, Sequence[Edit]]],
    numbers: Mapping[_Place, int],
) -> tuple[bytes, tuple[_Lines, ...], tuple[_Lines, ...]]:
    """One file, where its variants are, and where the functions that have them."""
    source, out, at = parsed.source, bytearray(dialect.prelude), 0
    arms: list[_Lines] = []
    switches: list[_Lines] = []
    for place in sorted(variants):
        _, start, end = place
        body = source[start:end]
        out += source[at:start]
        begins = out.count(b"\n") + 1
        out += (dialect.opening % numbers[place]).encode()
        for number, edits in sorted(variants[place].items()):
            moved = [Edit(one.start - start, one.end - start, one.replacement) for one in edits]
            out += (dialect.arm % number).encode()
            first = out.count(b"\n") + 1
            out += apply_edits(body, moved)
            arms.append((number, first, out.count(b"\n") + 1))
            out += dialect.arm_end.encode()
        out += dialect.default.encode() + body + dialect.closing.encode()
        switches.append((numbers[place], begins, out.count(b"\n") + 1))
        at = end
    return bytes(out + source[at:]), tuple(arms), tuple(switches)
