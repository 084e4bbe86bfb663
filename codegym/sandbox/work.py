"""Parsing the launcher's report of a policy's work (format: ``launcher/transfer.py``)."""

from __future__ import annotations

import json
from typing import BinaryIO

from codegym.errors import SandboxError
from codegym.types import Change, Manifest, Refusal


def parse_work(descriptor: int) -> Manifest:
    """Read a report to its end and close it. Raises ``SandboxError`` where it is cut short."""
    with open(descriptor, "rb") as report:
        return parse_report(report)


def parse_report(report: BinaryIO) -> Manifest:
    """Read a report. Raises ``SandboxError`` where it is cut short."""
    changes: list[Change] = []
    refused: list[Refusal] = []
    for line in iter(report.readline, b""):
        entry = json.loads(line)
        if "end" in entry:
            return Manifest(tuple(changes), tuple(refused))
        path = entry["path"]
        if "refused" in entry:
            refused.append(Refusal(path, entry["refused"]))
        elif "deleted" in entry:
            changes.append(Change(path, None))
        else:
            changes.append(Change(path, report.read(entry["size"]), entry["exec"]))
    raise SandboxError("the report of a policy's work is cut short")
