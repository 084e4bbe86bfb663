"""Reads records of tests, one JSON line each, as what runs inside a sandbox writes them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, cast, get_args

from codegym.types import Outcome, TestOutcome

MAX_LINE_BYTES = 1 << 18  # of a record
MAX_LINES = 200_000
MAX_ID_CHARS = 2000
MAX_MESSAGE_CHARS = 4000
_LINE = re.compile(rb"[^\n]+")
_OUTCOMES = frozenset(get_args(Outcome)) - {"missing"}


def lines_of(report: bytes) -> Iterator[bytes]:
    """Lines that hold anything; of a report that is all line ends no list is made."""
    return (found[0] for found in _LINE.finditer(report))


def read_objects(report: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of a report, one a line; what is none is left out."""
    return _objects(lines_of(report))


def _objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, dict):
            yield fields


def read_records(report: bytes) -> list[TestOutcome]:
    """All records of a report, in order, doubles kept; what is none is left out.

    So is what comes after ``MAX_LINES``: memory and time of the gym are not for a report to use.
    """
    likely = (line for line in lines_of(report) if _may_be_record(line))
    records = (_record(fields) for fields in _objects(islice(likely, MAX_LINES)))
    return [record for record in records if record is not None]


def _may_be_record(line: bytes) -> bool:
    return len(line) <= MAX_LINE_BYTES and not line.startswith(b'{"k":')  # what was seen


@cache
def script(name: str) -> bytes:
    """A payload's text."""
    return (Path(__file__).parent / "payload" / name).read_bytes()


def _record(fields: Mapping[str, Any]) -> TestOutcome | None:
    """One record, or None where it is not one."""
    test_id, outcome = fields.get("id"), fields.get("outcome")
    if not isinstance(test_id, str) or not isinstance(outcome, str) or outcome not in _OUTCOMES:
        return None
    message, seconds = fields.get("message", ""), fields.get("seconds")
    said = message if isinstance(message, str) else ""
    return record(test_id, cast("Outcome", outcome), seconds, said)


def record(test_id: str, outcome: Outcome, seconds: Any, message: str) -> TestOutcome | None:
    """A test's outcome within bounds, or None where it has no name that can be kept."""
    if len(test_id) > MAX_ID_CHARS or _printable(test_id) != test_id:
        return None
    return TestOutcome(
        test_id, outcome, _seconds(seconds), _printable(message[-MAX_MESSAGE_CHARS:])
    )


def _printable(text: str) -> str:
    """Text that can be encoded: lone surrogates, which JSON can spell, are replaced."""
    return text.encode("utf-8", "replace").decode()


def _seconds(value: Any) -> float:
    """A duration that is one; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 <= value < 1e9 and math.isfinite(value) else 0.0
