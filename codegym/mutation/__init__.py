"""Mutation: from a repository whose tests pass to tasks, each proved by running it."""

from codegym.mutation.composites import (
    COMPOSITES,
    Attempt,
    Composite,
    Joining,
    is_composite,
    load_composites,
)
from codegym.mutation.generate import Generated, generate
from codegym.mutation.operators import NodeOperator, Operator, load_operators, python
from codegym.mutation.packing import made_otherwise, pack, place_for, tasks_in
from codegym.mutation.trial import REASONS, Reason

__all__ = [
    "COMPOSITES",
    "REASONS",
    "Attempt",
    "Composite",
    "Generated",
    "Joining",
    "NodeOperator",
    "Operator",
    "Reason",
    "generate",
    "is_composite",
    "load_composites",
    "load_operators",
    "made_otherwise",
    "pack",
    "place_for",
    "python",
    "tasks_in",
]
