"""The languages that can be parsed, and what their grammars call things."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tree_sitter import Language

from codegym.errors import NotFoundError, UnavailableError


@dataclass(frozen=True, slots=True)
class Grammar:
    """What a language's grammar calls the nodes that all languages have.

    Attributes:
        module: Package that has the grammar.
        suffixes: How names of its files end.
        functions: Node types of functions, with a field ``name`` where they have one.
        classes: Node types of classes, likewise.
        blocks: Node types whose children are statements.
        inert: Node types of what does nothing when it runs, or only names things (types, imports).
    """

    module: str
    suffixes: tuple[str, ...]
    functions: frozenset[str]
    classes: frozenset[str]
    blocks: frozenset[str]
    inert: frozenset[str]


GRAMMARS: Mapping[str, Grammar] = {
    "python": Grammar(
        module="tree_sitter_python",
        suffixes=(".py",),
        functions=frozenset({"function_definition"}),
        classes=frozenset({"class_definition"}),
        blocks=frozenset({"module", "block"}),
        inert=frozenset(
            {
                "type",
                "import_statement",
                "import_from_statement",
                "future_import_statement",
                "type_alias_statement",
                "global_statement",
                "nonlocal_statement",
            }
        ),
    ),
}


def grammar(name: str) -> Grammar:
    """A language's grammar.

    Raises:
        NotFoundError: There is none of that name.
    """
    if name not in GRAMMARS:
        raise NotFoundError("language", name, GRAMMARS, f"there are: {', '.join(GRAMMARS)}")
    return GRAMMARS[name]


def language_of(path: str) -> str | None:
    """The language that a file's name tells, or None."""
    for name, one in GRAMMARS.items():
        if path.endswith(one.suffixes):
            return name
    return None


@cache
def load_language(name: str) -> Language:
    """Load a language's parser tables.

    Raises:
        NotFoundError: There is no such language.
        UnavailableError: Its package is not installed.
    """
    module = grammar(name).module
    try:
        tables = importlib.import_module(module)
    except ImportError as error:
        raise UnavailableError(
            f"{name} cannot be parsed: {module.replace('_', '-')} is not installed",
            "Install it: pip install 'codegym[langs]'",
        ) from error
    return Language(tables.language())
