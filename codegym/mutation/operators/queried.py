"""Operators that are written as queries: a section of a language's ``.scm`` file each.

Each pattern of a section says with ``#set!`` what is made of a match: the name of a recipe (see
``recipes``) and what it takes. ``@at`` is what is edited. Besides the predicates of tree-sitter
there are those of ``predicates``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from tree_sitter import Node, QueryCursor

from codegym.mutation.operators.base import Find, NodeOperator
from codegym.mutation.operators.catalogue import CATALOGUE
from codegym.mutation.operators.dialect import Dialect
from codegym.mutation.operators.matches import Match
from codegym.mutation.operators.names import Fields, Variables
from codegym.mutation.operators.predicates import holds
from codegym.mutation.operators.recipes import RECIPES
from codegym.mutation.operators.sections import compiled, sections
from codegym.syntax import Edit, changes, is_inert

#: Sections whose patterns say what there is, and not what is made of it.
_NAMES: Mapping[str, Callable[[Dialect, str], Find]] = {
    "wrong_variable": Variables,
    "wrong_attribute": Fields,
}


@dataclass(frozen=True, slots=True)
class Section:
    """The patterns of an operator, as what finds its edits in a file."""

    dialect: Dialect
    patterns: str

    def __call__(self, root: Node, source: bytes, rng: np.random.Generator) -> Iterator[Edit]:
        """All edits, in the order of the places."""
        query = compiled(self.dialect.language, self.patterns)
        for pattern, captures in QueryCursor(query).matches(root, holds):
            match = Match(captures, source, self.dialect, rng)
            if is_inert(match.at.parent or root, self.dialect.language):
                continue
            if any("comment" in one.type for held in captures.values() for one in held):
                continue  # `(_)` is anything, this too
            for recipe, argument in query.pattern_settings(pattern).items():
                for edit in RECIPES[recipe](match, argument or ""):
                    if changes(source, edit):
                        yield edit


def from_queries(dialect: Dialect, *files: str) -> SimpleNamespace:
    """The operators of a language; attributes are their names without it.

    Args:
        dialect: The language.
        files: Its query files, in ``queries``.
    """
    found = sorted(sections(files).items())
    return SimpleNamespace(**{name: _operator(dialect, name, text) for name, text in found})


def _operator(dialect: Dialect, name: str, patterns: str) -> NodeOperator:
    find: Find = _NAMES.get(name, Section)(dialect, patterns)
    return NodeOperator(
        id=f"{dialect.language}.{name}",
        version="1",
        languages=(dialect.language,),
        tier=CATALOGUE[name].tier,
        kind=CATALOGUE[name].kind,
        nodes=frozenset({dialect.root}),
        find=find,
    )
