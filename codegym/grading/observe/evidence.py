"""Reads what was seen from a report, which anyone inside could have written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from codegym.grading.observe.values import NoValueError, decode
from codegym.grading.runners.records import lines_of
from codegym.types import Evidence, Sighting

MAX_LINE_BYTES = 80_000
MAX_KEY_CHARS = 2000
MAX_SIGHTINGS = 40_000  # of one test
MAX_TOTAL_BYTES = 40 << 20
MAX_PARTS = 600_000  # of all values; memory and time go with it
_MAX_SITE = 1 << 60


def read_evidence(report: bytes) -> Evidence:
    """Read a report. What is no sighting, or is too much, is left out; it never raises."""
    nodes: dict[str, str] = {}
    seen: dict[str, list[Sighting]] = {}
    bytes_left, parts_left = MAX_TOTAL_BYTES, MAX_PARTS
    for line in lines_of(report):
        if not line.startswith(b'{"k":') or len(line) > MAX_LINE_BYTES:
            continue
        bytes_left -= len(line)
        # Each part but the first follows a comma, each comma is one byte.
        parts_left -= 1 + line.count(b",")
        if bytes_left < 0 or parts_left < 0:
            break
        fields = _fields(line)
        key = fields.get("k")
        if not isinstance(key, str) or not _is_name(key):
            continue
        if fields.keys() == {"k", "node"} and _is_name(fields["node"]):
            nodes.setdefault(key, fields["node"])
        found = seen.setdefault(key, [])
        if len(found) < MAX_SIGHTINGS:
            found += _sighting(fields)
    return Evidence(nodes, {key: tuple(found) for key, found in seen.items() if found})


def _fields(line: bytes) -> dict[str, Any]:
    try:
        fields = _DECODER.decode(line.decode())
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; one that has a key twice is none."""
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else {}


_DECODER = json.JSONDecoder(object_pairs_hook=_once)


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and len(text) <= MAX_KEY_CHARS and text.isprintable()


def _sighting(fields: dict[str, Any]) -> Iterable[Sighting]:
    site, role = fields.get("s"), fields.get("r")
    if fields.keys() != {"k", "s", "r", "v"} or role not in ("a", "e"):
        return
    if type(site) is not int or not 0 <= site < _MAX_SITE:
        return
    try:
        yield Sighting(site, role, decode(fields["v"]))
    except NoValueError:
        return
