"""Tasks found broken: ``quarantine.jsonl``, beside the rows. Sources skip and count them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from codegym.errors import DataError
from codegym.store import replacing
from codegym.tasks.edge import Strict, first_problem
from codegym.tasks.jsonl import dump_object, parse_object, read_lines

FILE_NAME = "quarantine.jsonl"


class _Entry(Strict):
    task_id: Annotated[str, Field(min_length=1)]
    reason: str


def read_quarantine(folder: Path) -> dict[str, str]:
    """Return why each quarantined task is, by id; empty where there is no such file.

    Raises:
        DataError: The file is wrong.
    """
    path = folder / FILE_NAME
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


def write_quarantine(folder: Path, reasons: Mapping[str, str]) -> None:
    """Replace the quarantine (task id to reason); without entries, there is no file."""
    path = folder / FILE_NAME
    if not reasons:
        path.unlink(missing_ok=True)
        return
    with replacing(path) as file:
        for task_id, reason in sorted(reasons.items()):
            file.write(dump_object({"task_id": task_id, "reason": reason}))
