"""Runs a command that writes JUnit XML, and hands its reports out as they are: read outside."""

from __future__ import annotations

import base64
import glob
import os
import stat
from collections.abc import Iterator

from .driving import Report, Request, main, run, said

MAX_FILES = 2000
MAX_BYTES = 8 << 20
MAX_TOTAL = 24 << 20


def tool(report: Report) -> None:
    """Remove reports that lie there, run the command, and send the new ones."""
    request = report.request
    for path in _reports(request):
        os.unlink(os.path.join(request.root, path))
    ended = run(request.command, request.root)
    total = 0
    for path in sorted(_reports(request))[:MAX_FILES]:
        data = _read(os.path.join(request.root, path), min(MAX_BYTES, MAX_TOTAL - total))
        if data is None:
            report.broken(".", said(f"{path} is no report that can be read: too large, or no file"))
            return
        total += len(data)
        report.raw({"file": path, "xml": base64.b64encode(data).decode()})
    report.failed |= ended.status != 0
    report.raw({
        "ids": sorted(request.ids),
        "deselect": request.deselect,
        "status": ended.status,
        "how": ended.how,
        "tail": ended.tail,
    })  # fmt: skip


def _reports(request: Request) -> Iterator[str]:
    found: set[str] = set()
    for one in request.reports:
        found.update(glob.glob(one, root_dir=request.root, recursive=True, include_hidden=True))
    return (path for path in found if not os.path.isdir(os.path.join(request.root, path)))


def _read(path: str, most: int) -> bytes | None:
    """A regular file's content, or None where it is none or is too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = file.read(most + 1)
    return data if len(data) <= most else None


def start() -> None:
    """Run."""
    main(tool)
