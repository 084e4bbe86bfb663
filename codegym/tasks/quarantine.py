"""Tasks found broken: a file beside the rows. Sources skip and count them.

A pack has ``quarantine.jsonl``; another file of rows, ``NAME.jsonl``, has one of its own,
``NAME.quarantine.jsonl``: ids are unique in a file of rows only, not in a folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from codegym.errors import DataError
from codegym.store import replacing
from codegym.tasks.edge import Strict, first_problem
from codegym.tasks.jsonl import dump_object, parse_object, read_lines

_OF_PACK = {"tasks.jsonl": "quarantine.jsonl"}


class _Entry(Strict):
    task_id: Annotated[str, Field(min_length=1)]
    reason: str


def quarantine_file(rows: Path) -> Path:
    """Where the quarantine of a file of rows is."""
    return rows.with_name(_OF_PACK.get(rows.name, f"{rows.stem}.quarantine.jsonl"))


def read_quarantine(rows: Path) -> dict[str, str]:
    """Return why each quarantined task of a file of rows is, by id; empty where none is.

    Raises:
        DataError: The file is wrong.
    """
    path = quarantine_file(rows)
    if not path.exists():
        return {}
    found: dict[str, str] = {}
    for line in read_lines(path):
        try:
            entry = _Entry.model_validate(parse_object(line.raw, path, line.number))
        except ValidationError as error:
            field, problem = first_problem(error, {(): _Entry})
            raise DataError(path, problem, line=line.number, field=field) from None
        found[entry.task_id] = entry.reason
    return found


def write_quarantine(rows: Path, reasons: Mapping[str, str]) -> None:
    """Replace a file of rows' quarantine (id to reason); without entries, there is no file."""
    path = quarantine_file(rows)
    if not reasons:
        path.unlink(missing_ok=True)
        return
    with replacing(path) as file:
        for task_id, reason in sorted(reasons.items()):
            file.write(dump_object({"task_id": task_id, "reason": reason}))
