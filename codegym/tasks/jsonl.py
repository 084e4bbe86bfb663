"""Files with one JSON object a line, read as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from codegym.errors import DataError

#: Longest line read, in bytes: what bounds the memory that a hostile file can take.
MAX_LINE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its 1-based number, where its bytes start in the file, and its bytes."""

    number: int
    offset: int
    raw: bytes


def read_lines(path: Path) -> Iterator[Line]:
    """Yield all lines.

    Raises:
        DataError: The file cannot be read, or a line is too long.
    """
    try:
        with path.open("rb") as file:
            number = offset = 0
            while raw := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(raw) > MAX_LINE_BYTES:
                    raise DataError(path, f"longer than {MAX_LINE_BYTES} bytes", line=number)
                yield Line(number, offset, raw)
                offset += len(raw)
    except FileNotFoundError:
        raise DataError(path, "no such file") from None
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error


def parse_object(raw: bytes, path: Path, line: int) -> dict[str, Any]:
    """Read a JSON object that starts in ``line``. Raises ``DataError``."""
    if not raw.strip():
        raise DataError(path, "the line is blank", line=line)
    try:
        value = json.loads(
            raw.decode("utf-8").rstrip(), object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except UnicodeDecodeError as error:
        raise DataError(path, f"not UTF-8 at byte {error.start} of the line", line=line) from None
    except json.JSONDecodeError as error:
        problem, line = f"not JSON: {error.msg}, column {error.colno}", line + error.lineno - 1
        raise DataError(path, problem, line=line) from None
    except RecursionError:
        raise DataError(path, "not JSON that can be read: nested too deep", line=line) from None
    except ValueError as error:
        raise DataError(path, f"not JSON that can be read: {error}", line=line) from None
    if not isinstance(value, dict):
        raise DataError(path, "not a JSON object", line=line)
    return value


def dump_object(value: dict[str, Any]) -> bytes:
    """Write one line. Raises ``ValueError`` for what JSON cannot hold."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is there twice")
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
