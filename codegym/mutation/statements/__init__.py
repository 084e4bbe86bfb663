"""Problem statements: what a user of the code would see, and nothing of where the fault is."""

from codegym.mutation.statements.facts import Symptom, symptoms
from codegym.mutation.statements.leaks import Secrets
from codegym.mutation.statements.telling import retold, told
from codegym.mutation.statements.templates import DETAILS, Detail, statements

__all__ = ["DETAILS", "Detail", "Secrets", "Symptom", "retold", "statements", "symptoms", "told"]
