"""Source text as trees: parsing, places in them, and edits of bytes. Never string offsets."""

from codegym.syntax.edits import Edit, apply_edits, changes
from codegym.syntax.languages import GRAMMARS, Grammar, grammar, language_of, load_language
from codegym.syntax.parsing import Parsed, parse, reparse
from codegym.syntax.places import (
    ancestors,
    descendants,
    function_at,
    is_inert,
    qualified_name,
    statement_at,
    walk,
)

__all__ = [
    "GRAMMARS",
    "Edit",
    "Grammar",
    "Parsed",
    "ancestors",
    "apply_edits",
    "changes",
    "descendants",
    "function_at",
    "grammar",
    "is_inert",
    "language_of",
    "load_language",
    "parse",
    "qualified_name",
    "reparse",
    "statement_at",
    "walk",
]
