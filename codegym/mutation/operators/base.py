"""What an operator is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from tree_sitter import Node

from codegym.syntax import Edit
from codegym.types import Kind

Find = Callable[[Node, bytes, np.random.Generator], Iterable[Edit]]


class Operator(Protocol):
    """One kind of mutation: for a place in a source text, the edits that it could make there.

    Each edit stands for itself: applied alone it makes one mutant. An operator sees every named
    node of a file, in order, and answers most with nothing. It is pure: all chance comes from
    ``rng``. One that makes features to implement, and not faults, says so with an attribute
    ``kind = "ImplementFeature"``.

    Attributes:
        id: Unique, for example ``"python.comparison"``.
        version: Changes whenever the same source would be edited differently.
        languages: Names of the languages whose trees it understands.
        tier: How hard its faults are thought to be to find, from 1 (easy) to 5.
    """

    @property
    def id(self) -> str:
        """Its name."""
        ...

    @property
    def version(self) -> str:
        """Its version."""
        ...

    @property
    def languages(self) -> tuple[str, ...]:
        """Its languages."""
        ...

    @property
    def tier(self) -> int:
        """Its tier."""
        ...

    def __call__(self, node: Node, source: bytes, rng: np.random.Generator) -> Iterable[Edit]:
        """Find edits at one node; spans are bytes of ``source``."""
        ...


@dataclass(frozen=True, slots=True)
class NodeOperator:
    """An operator that looks at nodes of certain types only; made by a decorator."""

    id: str
    version: str
    languages: tuple[str, ...]
    tier: int
    kind: Kind
    nodes: frozenset[str]
    find: Find

    def __call__(self, node: Node, source: bytes, rng: np.random.Generator) -> Iterable[Edit]:
        """See ``Operator``."""
        return self.find(node, source, rng) if node.type in self.nodes else ()


def python(
    name: str, *nodes: str, tier: int, version: str = "1", kind: Kind = "FixTests"
) -> Callable[[Find], NodeOperator]:
    """Make an operator for Python of a function that finds edits at nodes of some types."""

    def made(find: Find) -> NodeOperator:
        return NodeOperator(
            f"python.{name}", version, ("python",), tier, kind, frozenset(nodes), find
        )

    return made
