"""Task rows: a superset of SWE-bench's, one JSON object a line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from codegym.errors import DataError
from codegym.store import replacing
from codegym.tasks.edge import Strict, first_problem, nearest
from codegym.tasks.jsonl import dump_object, parse_object, read_lines
from codegym.types import Kind, Task

_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_INSTANCE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")


def _decoded(value: Any) -> Any:
    """SWE-bench's own files hold lists as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("is text that is not a JSON list") from None


def _test_id(value: str) -> str:
    if not value or not value.isprintable():
        raise ValueError(f"{value!r} is no test id: it is empty or holds control characters")
    return value


def _instance_id(value: str) -> str:
    if _INSTANCE_ID.fullmatch(value) is None:
        raise ValueError(f"{value!r} is no id: letters, digits, '.', '_', '+', '-', up to 200")
    return value


def _commit(value: str) -> str:
    if _COMMIT.fullmatch(value) is None:
        raise ValueError(f"{value!r} is no full commit hash in lower case")
    return value


def _kind(value: str) -> str:
    if value not in _KINDS:
        raise ValueError(f"{value!r} is no kind; {nearest(value, _KINDS)}")
    return value


def _encodable(value: str) -> str:
    """JSON can write half a surrogate pair, which is no text."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"half a surrogate pair at character {error.start}") from None
    return value


def _dumpable(value: dict[str, Any]) -> dict[str, Any]:
    dump_object(value)
    return value


TestIds = Annotated[list[Annotated[str, AfterValidator(_test_id)]], BeforeValidator(_decoded)]
Json = Annotated[dict[str, Any], AfterValidator(_dumpable)]
Text = Annotated[str, AfterValidator(_encodable)]


class _Row(Strict):
    """A row's keys, in the order written."""

    instance_id: Annotated[str, AfterValidator(_instance_id)]
    repo: Text = ""
    base_commit: Annotated[str, AfterValidator(_commit)]
    patch: Annotated[Text, Field(min_length=1)]
    test_patch: Text = ""
    problem_statement: Text = ""
    hints_text: Text = ""
    created_at: Text = ""
    version: Text = ""
    FAIL_TO_PASS: Annotated[TestIds, Field(min_length=1)]
    PASS_TO_PASS: TestIds
    environment: Annotated[Text, Field(min_length=1)]
    start_patch: Text = ""
    kind: Annotated[str, AfterValidator(_kind)] = "FixTests"
    language: Text = "python"
    suite: Text = "unit"
    hidden: TestIds = Field(default_factory=list)
    provenance: Json = Field(default_factory=dict)
    features: Json = Field(default_factory=dict)


def from_row(row: Mapping[str, Any], where: Path | str, *, line: int | None = None) -> Task:
    """Check a row and return its task.

    Args:
        row: JSON values by key.
        where: The file, for errors.
        line: Its line there.

    Raises:
        DataError: Something is wrong with it; says file, line, field, and the nearest known key.
    """
    try:
        parsed = _Row.model_validate(dict(row))
    except ValidationError as error:
        field, problem = first_problem(error, {(): _Row})
        raise DataError(where, problem, line=line, field=field) from None
    _check_ids(parsed, lambda field, problem: DataError(where, problem, line=line, field=field))
    return Task(
        instance_id=parsed.instance_id,
        environment=parsed.environment,
        base_commit=parsed.base_commit,
        patch=parsed.patch,
        fail_to_pass=tuple(parsed.FAIL_TO_PASS),
        pass_to_pass=tuple(parsed.PASS_TO_PASS),
        test_patch=parsed.test_patch,
        start_patch=parsed.start_patch,
        problem_statement=parsed.problem_statement,
        hints_text=parsed.hints_text,
        created_at=parsed.created_at,
        version=parsed.version,
        repo=parsed.repo,
        kind=_KINDS[parsed.kind],
        language=parsed.language,
        suite=parsed.suite,
        hidden=frozenset(parsed.hidden),
        provenance=parsed.provenance,
        features=parsed.features,
    )


def to_row(task: Task) -> dict[str, Any]:
    """Return the row of a task, its keys in the order that they are written in."""
    renamed: dict[str, Any] = {
        "FAIL_TO_PASS": list(task.fail_to_pass),
        "PASS_TO_PASS": list(task.pass_to_pass),
        "hidden": sorted(task.hidden),
        "provenance": dict(task.provenance),
        "features": dict(task.features),
    }
    return {
        key: renamed[key] if key in renamed else getattr(task, key) for key in _Row.model_fields
    }


def read_rows(path: Path) -> Iterator[Task]:
    """Read a file of rows as a stream; of all before the current one, only the ids are kept.

    Raises:
        DataError: The file or a row is wrong, or an ``instance_id`` is there twice.
    """
    seen: dict[str, int] = {}
    for line in read_lines(path):
        task = from_row(parse_object(line.raw, path, line.number), path, line=line.number)
        check_new(task, seen, path, line.number)
        yield task


def write_rows(path: Path, tasks: Iterable[Task]) -> int:
    """Write a file of rows as a whole or not at all; returns how many.

    Raises:
        DataError: A task could not be read again; the line is where it would have been.
    """
    seen: dict[str, int] = {}
    with replacing(path) as file:
        for number, task in enumerate(tasks, start=1):
            row = to_row(task)
            check_new(from_row(row, path, line=number), seen, path, number)
            file.write(dump_object(row))
    return len(seen)


def check_new(task: Task, seen: dict[str, int], path: Path, line: int) -> None:
    """Note a task's id in ``seen`` (id to line). Raises ``DataError`` where it is there already."""
    before = seen.setdefault(task.instance_id, line)
    if before != line:
        problem = f"{task.instance_id!r} is there already, in line {before}"
        raise DataError(path, problem, line=line, field="instance_id")


def _check_ids(row: _Row, wrong: Callable[[str, str], DataError]) -> None:
    """A grade expects each id exactly once."""
    seen: set[str] = set()
    for field, ids in (("FAIL_TO_PASS", row.FAIL_TO_PASS), ("PASS_TO_PASS", row.PASS_TO_PASS)):
        before = frozenset(seen)
        for test_id in ids:
            if test_id in before:
                raise wrong(field, f"{test_id!r} is in FAIL_TO_PASS too")
            if test_id in seen:
                raise wrong(field, f"{test_id!r} is there twice")
            seen.add(test_id)
    for test_id in row.hidden:
        if test_id not in seen:
            raise wrong("hidden", f"{test_id!r} is in neither FAIL_TO_PASS nor PASS_TO_PASS")
