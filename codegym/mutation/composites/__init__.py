"""Composites: faults of several edits, each of a kind that single edits cannot make."""

from codegym.mutation.composites.base import SINGLE, Attempt, Composite, Ground, Joining, Tried
from codegym.mutation.composites.calls import Calls
from codegym.mutation.composites.registry import COMPOSITES, is_composite, load_composites
from codegym.mutation.composites.rounds import Rounds

__all__ = [
    "COMPOSITES",
    "SINGLE",
    "Attempt",
    "Calls",
    "Composite",
    "Ground",
    "Joining",
    "Rounds",
    "Tried",
    "is_composite",
    "load_composites",
]
