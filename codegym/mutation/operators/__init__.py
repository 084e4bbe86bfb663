"""Operators: kinds of mutation, one for each way in which code goes wrong."""

from codegym.mutation.operators.base import NodeOperator, Operator, python
from codegym.mutation.operators.catalogue import CATALOGUE
from codegym.mutation.operators.registry import BUILTIN, kind_of, load_operators

__all__ = [
    "BUILTIN",
    "CATALOGUE",
    "NodeOperator",
    "Operator",
    "kind_of",
    "load_operators",
    "python",
]
