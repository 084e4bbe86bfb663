"""Reading what an episode asked of the network."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path

from codegym.errors import DataError


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log: something asked for, and what came of it. Texts are the agent's.

    Attributes:
        time: Seconds since 1970.
        event: ``"connect"`` (a tunnel is asked for), ``"request"``, ``"end"`` (of its
            answer), ``"fetch"`` (of an index, by the proxy itself);
            others tell what went wrong, and where.
        allowed: The verdict.
        rule: The rule that allows it, or ``""``.
        reason: Why, for people.
        host: Where to, or ``""`` where that is not known.
        port: The port there.
        method: The request's method.
        target: Its path and query.
        status: The answer's status, or 0.
        bytes: Size of the answer's body.
        error: What an answer ended with, or ``""``.
    """

    time: float
    event: str
    allowed: bool
    rule: str = ""
    reason: str = ""
    host: str = ""
    port: int = 0
    method: str = ""
    target: str = ""
    status: int = 0
    bytes: int = 0
    error: str = ""


_NAMES = {field.name for field in fields(Entry)}


def read_log(path: Path, start: int = 0) -> tuple[Entry, ...]:
    """The entries of a log, in the order of their verdicts.

    Args:
        path: The log.
        start: Where to begin, in bytes.

    Raises:
        DataError: A line is none.
    """
    entries = []
    for number, line in enumerate(path.read_bytes()[start:].splitlines(), 1):
        try:
            record = json.loads(line)
            known = {k: v for k, v in record.items() if k in _NAMES and v is not None}
            entries.append(Entry(**known))
        except (ValueError, TypeError, AttributeError) as error:
            raise DataError(path, f"no entry of a log: {error}", line=number) from error
    return tuple(entries)
