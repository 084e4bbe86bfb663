"""Reads what tests ran, as a recorder inside a sandbox says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_MAX_LINE = 1_000_000  # no file that is worth the look has more


def read_lines(report: bytes) -> Mapping[str, Mapping[str, frozenset[int]]]:
    """Read a report's lines: test id to file to lines. What cannot be read is left out."""
    found: dict[str, dict[str, frozenset[int]]] = {}
    for fields in _records(report):
        files = fields.get("lines")
        mine = found.setdefault(fields["id"], {})
        for name, ranges in files.items() if isinstance(files, dict) else ():
            mine[name] = mine.get(name, frozenset()) | _spread(ranges)
    return found


def read_starters(report: bytes) -> frozenset[str]:
    """Read which tests started processes. What cannot be read is left out."""
    return frozenset(one["id"] for one in _records(report) if one.get("processes") is True)


def _records(report: bytes) -> Iterator[dict[str, Any]]:
    for line in report.split(b"\n"):
        try:
            fields = json.loads(line) if b'"lines"' in line else None
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, dict) and isinstance(fields.get("id"), str):
            yield fields


def _spread(ranges: Any) -> frozenset[int]:
    lines: set[int] = set()
    for one in ranges if isinstance(ranges, list) else ():
        if not isinstance(one, list) or len(one) != 2:
            continue
        first, last = one
        if type(first) is int and type(last) is int and 0 < first <= last < _MAX_LINE:
            lines.update(range(first, last + 1))
    return frozenset(lines)
