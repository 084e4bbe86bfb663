"""What can be read in a sandbox: listed by a payload inside, fetched as data, nothing believed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from codegym.errors import SandboxError, UnavailableError
from codegym.sandbox.base import REPORT_FD, Sandbox

#: Bytes asked for at once, and of a file that is scanned as one; a larger one is cut into windows.
WINDOW_BYTES = 32 << 20
#: Windows of one file share so many bytes, so that nothing short is cut in two.
OVERLAP_BYTES = 64 << 10
_TIMEOUT_SEC = 600.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A regular file inside."""

    path: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes that were read: of a file from ``offset`` on, or of something without a name."""

    path: str
    data: bytes
    offset: int = 0


@dataclass
class Listing:
    """All that a sandbox shows.

    Attributes:
        files: Every regular file that can be opened.
        names: Every path, link target and extended attribute, one a line.
        live: What has no file: ``/proc``, memory of processes, descriptors without a path.
        processes: Ids of the processes that are not the listing one.
        unread: What could not be read, and why.
    """

    files: list[Entry] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    live: list[Piece] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def add(self, told: dict[str, Any], body: bytes) -> None:
        """Take in one record of the payload."""
        path, kind = str(told.get("path", "")), told.get("kind")
        if kind == "unread":
            self.unread.append(f"{path}: {told.get('why')}")
        elif kind == "live":
            self.live.append(Piece(path, body))
        elif kind == "process" and not told.get("mine"):
            self.processes.append(path.rpartition("/")[2])
        elif kind == "file":
            self.files.append(Entry(path, int(told["size"]), str(told["digest"])))
        self.names.append(f"{path} {told.get('target', '')}".rstrip())
        for name, value in told.get("attributes", {}).items():
            self.live.append(Piece(f"{path} ({name})", bytes.fromhex(value)))


async def look(box: Sandbox) -> Listing:
    """List a sandbox.

    Raises:
        SandboxError: It broke, or the listing did not come to its end.
        UnavailableError: Its image has no Python to list it with.
    """
    listing = Listing()
    for told, body in await _ask(box, "list"):
        listing.add(told, body)
    for pid in listing.processes:
        for told, body in await _ask(box, "memory", pid):
            listing.add(told, body)
    return listing


async def fetch(box: Sandbox, entries: Sequence[Entry]) -> AsyncIterator[tuple[Entry, Piece]]:
    """The content of files, as it is now; of a large one in windows."""
    for batch in batches(entries):
        wanted = [(entry.path, offset, length) for entry, offset, length in batch]
        answers = await _ask(box, "read", stdin=json.dumps(wanted).encode())
        for (entry, offset, _), (_, body) in zip(batch, answers, strict=True):
            yield entry, Piece(entry.path, body, offset)


def batches(entries: Sequence[Entry]) -> Iterator[list[tuple[Entry, int, int]]]:
    """What is asked for at once: entries, each with an offset and a length."""
    batch: list[tuple[Entry, int, int]] = []
    room = WINDOW_BYTES
    for entry in entries:
        for offset in range(0, max(entry.size, 1), WINDOW_BYTES):
            length = min(entry.size - offset, WINDOW_BYTES + OVERLAP_BYTES)
            if batch and length > room:
                yield batch
                batch, room = [], WINDOW_BYTES
            batch.append((entry, offset, length))
            room -= length
    if batch:
        yield batch


async def _ask(
    box: Sandbox, mode: str, *arguments: str, stdin: bytes = b""
) -> list[tuple[dict[str, Any], bytes]]:
    python = box.spec.image.python
    if not python:
        raise UnavailableError(
            "this image has no Python, which the audit reads a sandbox with",
            "Add `python` to its environment's image",
        )
    argv = [python, "-I", "-S", "-B", "-c", _payload(), mode, str(REPORT_FD), *arguments]
    ended = await box.exec(argv, stdin=stdin, report=True, timeout_sec=_TIMEOUT_SEC)
    try:
        answers = list(_parse(ended.report))
    except ValueError:
        answers = []
    if not answers or answers.pop()[0].get("end") is not True:
        said = ended.output.decode(errors="replace").strip()[-500:]
        raise SandboxError(f"the audit could not read a sandbox to the end: {said or ended}")
    return answers


def _parse(report: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    at = 0
    while at < len(report):
        end = report.find(b"\n", at)
        if end < 0:
            return
        told = json.loads(report[at:end])
        at = end + 1 + int(told.get("body", 0))
        yield told, report[end + 1 : at]


@cache
def _payload() -> str:
    return (Path(__file__).parent / "payload" / "look.py").read_text()
