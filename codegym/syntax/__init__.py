"""Source text as trees: parsing, places in them, and edits of bytes. Never string offsets."""

from codegym.syntax.edits import Edit, apply_edits, changes
from codegym.syntax.languages import Grammar, grammar, language_of
from codegym.syntax.parsing import Parsed, parse, reparse
from codegym.syntax.places import (
    ancestors,
    descendants,
    function_at,
    qualified_name,
    statement_at,
    walk,
)

__all__ = [
    "Edit",
    "Grammar",
    "Parsed",
    "ancestors",
    "apply_edits",
    "changes",
    "descendants",
    "function_at",
    "grammar",
    "language_of",
    "parse",
    "qualified_name",
    "reparse",
    "statement_at",
    "walk",
]
