"""Auditing: each task's sandbox is started, and everything in it is looked through."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from codegym.envs.kinds import BY_ROW, present
from codegym.errors import TaskError
from codegym.grading.progress import SILENT, Progress
from codegym.grading.setting import Setting
from codegym.redteam.audit.needles import Subject, make_subject, needles_of
from codegym.redteam.audit.reading import WINDOW_BYTES, Listing, Piece, fetch, look
from codegym.redteam.audit.scanning import Hit, Scanner
from codegym.sandbox.base import Sandbox
from codegym.tasks.sources import environment
from codegym.types import Task, Tree

_MAX_LEAKS = 20  # told of one path
_MAX_TEXT_CHARS = 100
_LIBRARY = re.compile(r".*/lib/python3\.\d+/(?!site-packages/|dist-packages/)")
_LINES = ("gold", "hidden-body")


@dataclass(frozen=True, slots=True)
class Leak:
    """Something in a task's sandbox that gives an answer away.

    Attributes:
        task_id: Whose sandbox it is in.
        kind: What was found: see ``needles.Kind``; ``"attestation"`` where the reset refused.
        owner: The task whose answer it is: this one, or another of the source.
        path: Where, absolute inside; ``""`` for an attestation's.
        offset: In bytes, in what ``how`` was made.
        line: The same in lines, from 1; 0 where lines mean nothing.
        how: What had to be opened or decoded to see it; ``""`` for nothing.
        text: What was found, for a person.
    """

    task_id: str
    kind: str
    owner: str
    path: str
    offset: int
    line: int
    how: str
    text: str


@dataclass
class AuditReport:
    """What an audit found.

    Attributes:
        tasks: Ids of the tasks whose sandboxes were looked through.
        needles: How many things were looked for.
        files: Regular files that were seen, over all sandboxes.
        distinct: Different contents that were looked through.
        size: Bytes of those, before anything was opened.
        leaks: What was found.
        unread: What could not be read, and why; each once.
        seconds: Wall time.
    """

    tasks: list[str] = field(default_factory=list)
    needles: int = 0
    files: int = 0
    distinct: int = 0
    size: int = 0
    leaks: list[Leak] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.leaks


async def audit(
    tasks: Iterable[Task],
    setting: Setting,
    *,
    limit: int | None = None,
    markers: Sequence[str] = (),
    progress: Progress = SILENT,
) -> AuditReport:
    """Look through the sandboxes of tasks.

    Args:
        tasks: All of a source: what one of them must not hold is also taken from the others.
        setting: Makes them ready and starts their sandboxes.
        limit: Only so many, evenly chosen; None for all.
        markers: More text that must not be found, each of 8 characters or more.
        progress: Told how it goes.

    Returns:
        The report. A task whose reset is refused counts as a leak.

    Raises:
        SandboxError: A sandbox broke.
        UnavailableError: An image has no Python, or this machine lacks something.
    """
    began = time.monotonic()
    progress.note("reading the tasks")
    report = AuditReport()
    subjects = []
    for task in tasks:
        try:
            subjects.append(make_subject(present(task, BY_ROW), environment(task.environment)))
        except TaskError as error:
            report.leaks.append(_refused(task.instance_id, error))
    auditor = _Auditor(subjects, markers, setting, report)
    chosen = subjects[:: max(1, -(-len(subjects) // limit))] if limit else subjects
    progress.begin("looking through sandboxes", len(chosen))
    for subject in chosen:
        await auditor.inspect(subject)
        progress.advance(subject.task.instance_id)
    report.seconds = time.monotonic() - began
    return report


class _Auditor:
    def __init__(
        self,
        subjects: Sequence[Subject],
        markers: Sequence[str],
        setting: Setting,
        report: AuditReport,
    ) -> None:
        self._needles = needles_of(subjects, markers)
        common = b"".join(file.data for file in subjects[0].start.values()) if subjects else b""
        self._scanner = Scanner(self._needles, common)
        self._setting, self._report = setting, report
        self._known: dict[str, list[Hit]] = {}
        report.needles = len(self._needles)

    async def inspect(self, subject: Subject) -> None:
        """Start a task's sandbox as a reset does, and look through it."""
        task_id = subject.task.instance_id
        self._report.tasks.append(task_id)
        try:
            ready = await self._setting.ready(subject.task, subject.environment)
            box = await self._setting.start(ready)
        except TaskError as error:
            self._report.leaks.append(_refused(task_id, error))
            return
        async with box:
            listing = await look(box)
            await self._read(box, listing)
        names = "\n".join(listing.names).encode("utf-8", "surrogateescape")
        places = [(entry.path, self._known.get(entry.digest, [])) for entry in listing.files]
        pieces = (Piece("(names of files and links)", names), *listing.live)
        places += [(piece.path, await self._scan(piece)) for piece in pieces]
        public = await asyncio.to_thread(self._public, subject.start) | self._commonplace(places)
        for path, hits in places:
            leaks = [self._leak(task_id, path, hit) for hit in hits if hit.needle not in public]
            self._report.leaks += leaks[:_MAX_LEAKS]
        self._report.files += len(listing.files)
        self._report.unread += [one for one in listing.unread if one not in self._report.unread]

    async def _read(self, box: Sandbox, listing: Listing) -> None:
        """Look through the content that no earlier sandbox had."""
        new = {entry.digest: entry for entry in listing.files if entry.digest not in self._known}
        async for entry, piece in fetch(box, list(new.values())):
            whole = entry.size <= WINDOW_BYTES
            if whole and hashlib.sha256(piece.data).hexdigest() != entry.digest:
                listing.unread.append(f"{entry.path}: it changed while it was read")
                listing.live.append(piece)
                continue
            self._known.setdefault(entry.digest, []).extend(await self._scan(piece))
            self._report.distinct += piece.offset == 0
            self._report.size += len(piece.data)

    async def _scan(self, piece: Piece) -> list[Hit]:
        """Look through a piece, beside the loop; of a later window, lines cannot be told."""
        hits = await asyncio.to_thread(self._scanner.scan, piece.data)
        if not piece.offset:
            return hits
        moved = [0 if hit.how else piece.offset for hit in hits]
        return [
            replace(hit, offset=hit.offset + by, line=0)
            for hit, by in zip(hits, moved, strict=True)
        ]

    def _public(self, start: Tree) -> set[int]:
        """Needles that stand openly in the files that a policy is given: they tell it nothing."""
        found = set()
        for file in start.values():
            digest = hashlib.sha256(file.data).hexdigest()
            if digest not in self._known:
                self._known[digest] = self._scanner.scan(file.data)
            found |= {hit.needle for hit in self._known[digest] if hit.open}
        return {number for number in found if self._needles[number].kind != "marker"}

    def _commonplace(self, places: Iterable[tuple[str, list[Hit]]]) -> set[int]:
        """Lines that the standard library has, too: they are nobody's answer."""
        library = (hit for path, hits in places if _LIBRARY.match(path) for hit in hits if hit.open)
        return {hit.needle for hit in library if self._needles[hit.needle].kind in _LINES}

    def _leak(self, task_id: str, path: str, hit: Hit) -> Leak:
        needle = self._needles[hit.needle]
        text = needle.text.decode("utf-8", "replace")[:_MAX_TEXT_CHARS]
        where = hit.offset, hit.line, hit.how
        return Leak(task_id, needle.kind, needle.task_id, path, *where, text)


def _refused(task_id: str, error: TaskError) -> Leak:
    return Leak(task_id, "attestation", task_id, "", 0, 0, "", str(error))
