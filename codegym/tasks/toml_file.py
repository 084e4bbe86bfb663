"""TOML files that people write: read strictly, and told where they are wrong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from codegym.errors import DataError
from codegym.tasks.edge import Keys, first_problem

T = TypeVar("T", bound=BaseModel)


def read_toml(
    path: Path, model: type[T], models: Mapping[Keys, type[BaseModel]], *, missing: str
) -> tuple[str, T]:
    """Read and check a file.

    Args:
        path: The file.
        model: What it has to be.
        models: The models by place, to suggest the nearest known key.
        missing: What is said where there is no such file.

    Returns:
        Its text, and its content.

    Raises:
        DataError: It is missing or wrong; says line where known, key, and the nearest known key.
    """
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(path, missing) from None
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error
    try:
        text = content.decode("utf-8")
        raw = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(path, "not UTF-8 text", line=line) from None
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found.group(1)) if found else text.count("\n") + 1
        raise DataError(path, f"not TOML: {error}", line=line) from None
    try:
        return text, model.model_validate(raw)
    except ValidationError as error:
        field, problem = first_problem(error, models)
        raise DataError(path, problem, line=line_of(text, field), field=field) from None


def line_of(text: str, field: str) -> int | None:
    """The line where a key is set, if exactly one line sets a key of that name."""
    key = [part for part in field.split(".") if not part.isdigit()][-1]
    pattern = re.compile(rf"^\s*(?:\[+\s*)?['\"]?{re.escape(key)}['\"]?\s*(?:=|\])", re.MULTILINE)
    found = [text.count("\n", 0, match.start(0)) + 1 for match in pattern.finditer(text)]
    return found[0] if len(found) == 1 else None
