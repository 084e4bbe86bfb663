"""Splits: tasks chosen from bundled environments, each pinned, so that numbers compare anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from codegym.errors import DataError, NotFoundError
from codegym.tasks.edge import Strict, first_problem
from codegym.tasks.environment_file import Name
from codegym.tasks.joined import Joined
from codegym.tasks.jsonl import dump_object, parse_object
from codegym.tasks.pack import Pack, Sha256
from codegym.tasks.rows import to_row
from codegym.types import Task

SPLIT = "split.json"


@dataclass(frozen=True, slots=True)
class Split:
    """What ``split.json`` says.

    Attributes:
        name: The split's name: that of its folder.
        summary: What it is for, in a sentence.
        environments: Digest of each environment.
        tasks: Digest of each task's row, by id.
    """

    name: str
    summary: str
    environments: Mapping[str, str]
    tasks: Mapping[str, str]


class _File(Strict):
    name: Name
    summary: str
    environments: Annotated[dict[str, Sha256], Field(min_length=1)]
    tasks: Annotated[dict[str, Sha256], Field(min_length=1)]


def open_split(folder: Path, find: Callable[[str], Pack]) -> Joined:
    """The tasks of a split, as one source.

    Args:
        folder: Holds ``split.json``.
        find: The pack of an environment, by its name.

    Raises:
        DataError: The file is wrong, or a task or an environment is not what it pins.
    """
    path, split = folder / SPLIT, read_split(folder)
    parts = []
    for name, digest in split.environments.items():
        try:
            pack = find(name)
        except NotFoundError as error:
            raise DataError(path, str(error), field="environments") from error
        _same(path, f"environments.{name}", pack.info.environments.get(name, ""), digest)
        parts.append(pack.restricted(split.tasks, f"{split.name}/{name}"))
    found = {task.instance_id: row_digest(task) for part in parts for task in part.all_tasks()}
    for task_id, digest in split.tasks.items():
        _same(path, f"tasks.{task_id}", found.get(task_id, ""), digest)
    return Joined(split.name, parts)


def read_split(folder: Path) -> Split:
    """Read ``split.json``. Raises ``DataError``."""
    path = folder / SPLIT
    try:
        parsed = _File.model_validate(parse_object(path.read_bytes(), path, 1))
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error
    except ValidationError as error:
        field, problem = first_problem(error, {(): _File})
        raise DataError(path, problem, field=field) from None
    return Split(**parsed.model_dump())


def row_digest(task: Task) -> str:
    """SHA-256 of a task's row."""
    return hashlib.sha256(dump_object(to_row(task))).hexdigest()


def chosen(name: str, task_ids: Iterable[str]) -> list[str]:
    """Which of one environment's tasks a new split takes: a half that only their ids decide."""

    def place(task_id: str) -> bytes:
        return hashlib.sha256(f"{name}:{task_id}".encode()).digest()

    ordered = sorted(task_ids, key=place)
    return sorted(ordered[: (len(ordered) + 1) // 2])


def _same(path: Path, field: str, found: str, pinned: str) -> None:
    if found != pinned:
        is_now = f"is {found[:12]} now" if found else "is not there"
        problem = f"pinned as {pinned[:12]}, {is_now}: figures would not compare with others'"
        raise DataError(path, problem, field=field)
