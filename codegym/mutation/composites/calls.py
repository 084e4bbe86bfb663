"""Who calls whom, by name: enough to join edits, and to see who else needs a function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from codegym.syntax import Parsed, grammar, qualified_name, walk

#: Node types of calls, and the fields that may hold what is called.
_CALLS = frozenset({
    "call", "call_expression", "method_invocation", "new_expression", "object_creation_expression",
})  # fmt: skip
_CALLED = ("function", "name", "constructor", "type")
_NAMES = frozenset({
    "identifier", "property_identifier", "field_identifier", "type_identifier",
    "private_property_identifier",
})  # fmt: skip
#: A name that more functions have says nothing of which is called.
_MOST_NAMESAKES = 3


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a name.

    Attributes:
        path: Its file.
        name: Names of the classes and functions around it, and its own: ``A.b``.
        node: Its node.
    """

    path: str
    name: str
    node: Node

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others."""
        return self.path, self.name

    @property
    def simple(self) -> str:
        """Its own name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of something with a name."""

    path: str
    name: str
    node: Node


class Calls:
    """The functions of some files, and what they call.

    Args:
        files: Path to source.
    """

    def __init__(self, files: Mapping[str, Parsed]) -> None:
        self._files = files

    @cached_property
    def functions(self) -> Mapping[tuple[str, str], Function]:
        """All that have a name, in order; of two with one name, the first."""
        found: dict[tuple[str, str], Function] = {}
        for path, parsed in self._files.items():
            kinds = grammar(parsed.language).functions
            for node in walk(parsed.root):
                if node.type in kinds:
                    one = Function(path, qualified_name(parsed, node), node)
                    if "?" not in one.name and one.name:
                        found.setdefault(one.key, one)
        return found

    @cached_property
    def named(self) -> Mapping[str, tuple[Function, ...]]:
        """Functions by their own name."""
        found: dict[str, tuple[Function, ...]] = {}
        for one in self.functions.values():
            found[one.simple] = (*found.get(one.simple, ()), one)
        return found

    @cached_property
    def all(self) -> Mapping[str, tuple[Call, ...]]:
        """Every call, by the name that is called."""
        found: dict[str, list[Call]] = {}
        for path, parsed in self._files.items():
            for one in _calls(path, parsed, parsed.root):
                found.setdefault(one.name, []).append(one)
        return {name: tuple(calls) for name, calls in found.items()}

    @cached_property
    def edges(self) -> Mapping[tuple[str, str], frozenset[tuple[str, str]]]:
        """Each function to those that it calls, as far as names tell."""
        return {
            key: frozenset(
                other.key
                for call in _calls(one.path, self._files[one.path], one.node)
                if len(self.named.get(call.name, ())) <= _MOST_NAMESAKES
                for other in self.named.get(call.name, ())
                if other.key != key
            )
            for key, one in self.functions.items()
        }

    @cached_property
    def near(self) -> Mapping[tuple[str, str], frozenset[tuple[str, str]]]:
        """Each function to those that it calls and those that call it."""
        found = {key: set(others) for key, others in self.edges.items()}
        for key, others in self.edges.items():
            for other in others:
                found[other].add(key)
        return {key: frozenset(others) for key, others in found.items()}

    def within(self, function: Function) -> Iterator[Call]:
        """The calls in a function."""
        return _calls(function.path, self._files[function.path], function.node)

    def reached(self, start: tuple[str, str]) -> frozenset[tuple[str, str]]:
        """What a function calls, and what that calls, and so on; itself too."""
        seen, waiting = {start}, [start]
        while waiting:
            for other in sorted(self.edges.get(waiting.pop(), ())):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return frozenset(seen)


def _calls(path: str, parsed: Parsed, below: Node) -> Iterator[Call]:
    for node in walk(below):
        if node.type in _CALLS and (name := _called(parsed, node)):
            yield Call(path, name, node)


def _called(parsed: Parsed, call: Node) -> str:
    """The last name of what is called: ``c`` of ``a.b.c(1)``."""
    for field in _CALLED:
        called = call.child_by_field_name(field)
        if called is not None:
            break
    else:
        return ""
    if called.type in _NAMES:
        return parsed.text(called).decode(errors="replace")
    names = [child for child in called.named_children if child.type in _NAMES]
    return parsed.text(names[-1]).decode(errors="replace") if names else ""
