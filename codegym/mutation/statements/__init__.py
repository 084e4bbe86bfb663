"""Problem statements: what a user of the code would see, and nothing of where the fault is."""

from codegym.mutation.statements.facts import Symptom, symptoms
from codegym.mutation.statements.leaks import Secrets
from codegym.mutation.statements.rewording import Reworded, Writer, reword
from codegym.mutation.statements.telling import retold, told
from codegym.mutation.statements.templates import DETAILS, Detail, statements

__all__ = [
    "DETAILS",
    "Detail",
    "Reworded",
    "Secrets",
    "Symptom",
    "Writer",
    "retold",
    "reword",
    "statements",
    "symptoms",
    "told",
]
