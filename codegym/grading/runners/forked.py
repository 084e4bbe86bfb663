"""What a session that forks for each mutant is asked, and what it answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

from codegym.grading.runners.records import read_objects
from codegym.types import Look, Session, Work

_ENDED = frozenset({"ran", "cold", "timed_out", "crashed"})
_MAX_WORD = 80


def request_of(work: Work) -> dict[str, Any]:
    """The work as ``fork_mutants`` reads it."""
    pieces = [
        {
            "path": one.path,
            "line": one.line,
            "headers": list(one.headers),
            "text": one.text,
            "future": list(one.future),
        }
        for one in work.pieces
    ]
    mutants = [
        {
            "edits": [[piece, list(edits)] for piece, edits in one.edits.items()],
            "tests": list(one.tests),
            "cpu_sec": one.cpu_sec,
            "wall_sec": one.wall_sec,
            "idle_sec": one.idle_sec,
        }
        for one in work.mutants
    ]
    return {
        "tests": list(work.tests),
        "pieces": pieces,
        "mutants": mutants,
        "memory_mb": work.memory_mb,
    }


def read_session(report: bytes, tests: Sequence[str]) -> Session:
    """Read a report. What cannot be read is left out; of what is said twice, the first counts."""
    refused: str | None = None
    missing: frozenset[str] = frozenset()
    looks: dict[int, Look] = {}
    for fields in read_objects(report):
        if refused is None and isinstance(fields.get("session"), str):
            refused = fields["session"][:_MAX_WORD]
            missing = frozenset(_ids(fields.get("missing"), tests))
        number = fields.get("mutant")
        if type(number) is int and number not in looks:
            look = _look(fields, tests)
            if look is not None:
                looks[number] = look
    return Session(refused, missing, looks)


def read_bytecode(report: bytes) -> bytes:
    """Read what modules compile to, as it is laid into other sandboxes."""
    for fields in read_objects(report):
        kept = fields.get("bytecode")
        if isinstance(kept, dict) and all(isinstance(one, str) for one in kept.values()):
            return json.dumps(kept).encode()
    return b""


def _look(fields: dict[str, Any], tests: Sequence[str]) -> Look | None:
    ended, why = fields.get("ended"), fields.get("why", "")
    if not isinstance(ended, str) or ended not in _ENDED:
        return None
    failed = {
        tests[row[0]]: (row[1], row[2][:_MAX_WORD])
        for row in _rows(fields.get("failed"), 3, tests)
        if row[1] in ("failed", "error") and isinstance(row[2], str)
    }
    times = [row for row in _rows(fields.get("seconds"), 3, tests) if all(map(_is_time, row[1:]))]
    return Look(
        ended=cast("Any", ended),
        why=why[:_MAX_WORD] if isinstance(why, str) else "",
        failed=failed,
        passed=frozenset(_ids(fields.get("passed"), tests)) - failed.keys(),
        seconds={tests[at]: float(spent) for at, spent, _ in times},
        waited={tests[at]: float(idle) for at, _, idle in times},
    )


def _rows(value: Any, width: int, tests: Sequence[str]) -> Iterator[list[Any]]:
    """Rows of a width that begin with the index of a test."""
    for row in value if isinstance(value, list) else ():
        if isinstance(row, list) and len(row) == width and _is_index(row[0], tests):
            yield row


def _ids(value: Any, tests: Sequence[str]) -> Iterator[str]:
    for one in value if isinstance(value, list) else ():
        if _is_index(one, tests):
            yield tests[one]


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf


def _is_index(value: Any, tests: Sequence[str]) -> bool:
    return type(value) is int and 0 <= value < len(tests)
