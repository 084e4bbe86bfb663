"""A task with its statement: one level is told, the others are kept with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from codegym.mutation.statements.templates import DETAILS, Detail
from codegym.types import Task

#: In a row's provenance: every level's text, and who wrote them.
TEXTS, WRITER = "statements", "statement_by"


def told(task: Task, texts: Mapping[Detail, str], detail: Detail, by: str = "template") -> Task:
    """A task with the statement of a level of detail; all levels are kept in its provenance."""
    task = replace(task, provenance={**task.provenance, TEXTS: dict(texts), WRITER: by})
    return retold(task, detail)


def retold(task: Task, detail: Detail) -> Task:
    """A task with another of its statements. Raises ``KeyError`` where it has none of a level."""
    text = task.provenance[TEXTS][detail]
    features = {**task.features, "detail": DETAILS.index(detail) + 1, "statement_chars": len(text)}
    return replace(task, problem_statement=text, features=features)
