"""A task source over a file of rows, of which only an index is in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from codegym.errors import DataError, NotFoundError, UsageError
from codegym.tasks.environment import Environment
from codegym.tasks.jsonl import Line, parse_object, read_lines
from codegym.tasks.quarantine import quarantine_file, read_quarantine
from codegym.tasks.rows import check_new, from_row
from codegym.types import EpisodeResult, Task

if TYPE_CHECKING:
    import numpy as np

#: Finds an environment by name, or raises ``NotFoundError``.
FindEnvironment = Callable[[str], Environment]


@dataclass(frozen=True, slots=True)
class Entry:
    """Where one row is in the file, and what its bytes hash to."""

    line: int
    offset: int
    length: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Index:
    """A file of rows, read once and checked.

    Attributes:
        sha256: Of the whole file.
        entries: By task id, in the file's order.
        environments: Digest of each environment that a row names.
    """

    sha256: str
    entries: Mapping[str, Entry]
    environments: Mapping[str, str]


def index_rows(path: Path, find: FindEnvironment, lines: Iterable[Line] | None = None) -> Index:
    """Read and check all rows, and that the environments and suites that they name are there.

    Args:
        path: The file.
        find: Finds environments.
        lines: Its lines, where they are not to be read from it as they stand.

    Raises:
        DataError: A row is wrong, or there is none.
    """
    total = hashlib.sha256()
    seen: dict[str, int] = {}
    entries: dict[str, Entry] = {}
    environments: dict[str, Environment] = {}
    for line in read_lines(path) if lines is None else lines:
        total.update(line.raw)
        task = from_row(parse_object(line.raw, path, line.number), path, line=line.number)
        check_new(task, seen, path, line.number)
        _check_names(task, environments, find, path, line.number)
        entries[task.instance_id] = Entry(line.number, line.offset, len(line.raw), _hash(line.raw))
    if not entries:
        raise DataError(path, "there is no task in it")
    digests = {name: found.digest for name, found in sorted(environments.items())}
    return Index(total.hexdigest(), entries, digests)


class TaskFile:
    """A task source over one file of rows.

    The rows are checked when it is opened and read again, one at a time, when they are asked for; a
    file that was changed in between is refused. Safe to share between threads and forked processes.

    Attributes:
        name: The source's name.
        path: The file.
        ids: Of the tasks that can be drawn, in the file's order; ``len()`` counts them.
        quarantined: Why each other task is left out, by id.
        environments: Digest of each environment that a row names.
        narrowed: Whether the file holds other tasks, too, that the source has not.
    """

    narrowed = False

    def __init__(self, path: Path, name: str, index: Index) -> None:
        self.path, self.name = path, name
        self.environments = index.environments
        self._entries = index.entries
        reasons = read_quarantine(path)
        self.quarantined: Mapping[str, str] = {
            task_id: reasons[task_id] for task_id in index.entries if task_id in reasons
        }
        self.ids = tuple(task_id for task_id in index.entries if task_id not in reasons)
        self.digest = digest_of(index.sha256, index.environments, sorted(self.quarantined))

    @classmethod
    def open(cls, path: Path, find: FindEnvironment) -> Self:
        """Open a file. Raises ``DataError``."""
        return cls(path, str(path), index_rows(path, find))

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Task]:
        return map(self._read, self.ids)

    def all_tasks(self) -> Iterator[Task]:
        """Yield the quarantined tasks too, in the file's order."""
        return map(self._read, self._entries)

    def only(self, keep: Callable[[Task], bool]) -> Self:
        """The same file, of which only some tasks are drawn; the rest can still be asked for."""
        chosen = copy(self)
        chosen.ids = tuple(task.instance_id for task in self if keep(task))
        return chosen

    def just(self, task_id: str) -> Self:
        """One task alone, as a source of its own. Raises ``NotFoundError``."""
        self._entry(task_id)
        return self.restricted([task_id], task_id)

    def restricted(self, task_ids: Collection[str], name: str) -> Self:
        """Some tasks alone, those of the given ids that are there, as a source of its own."""
        chosen = copy(self)
        chosen.name, chosen.narrowed = name, True
        chosen._entries = {one: each for one, each in self._entries.items() if one in task_ids}
        chosen.ids = tuple(one for one in self.ids if one in task_ids)
        chosen.quarantined = {
            one: reason for one, reason in self.quarantined.items() if one in task_ids
        }
        chosen.digest = digest_of(self.digest, {}, sorted(chosen._entries))
        return chosen

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw a task, each as likely as any. Raises ``UsageError`` where all are quarantined."""
        self.require_any()
        return self._read(self.ids[int(rng.integers(len(self.ids)))])

    def require_any(self) -> None:
        """Raise ``UsageError`` where all tasks are quarantined."""
        require_tasks(self.name, self.ids, self.quarantined, [quarantine_file(self.path)])

    def get(self, task_id: str) -> Task:
        """Return one task. Raises ``NotFoundError``, for a quarantined one with the reason."""
        if task_id in self.quarantined:
            reason = self.quarantined[task_id]
            raise NotFoundError("task", task_id, hint=f"it is quarantined: {reason}")
        self._entry(task_id)
        return self._read(task_id)

    def place(self, task_id: str) -> tuple[Path, int]:
        """The file and line of a task's row, for errors."""
        return self.path, self._entries[task_id].line

    def observe(self, group: Sequence[EpisodeResult]) -> None:
        """Ignored: what is in a file does not change."""

    def _entry(self, task_id: str) -> Entry:
        if task_id not in self._entries:
            raise NotFoundError("task", task_id, self.ids, hint=f"looked in {self.path}")
        return self._entries[task_id]

    def _read(self, task_id: str) -> Task:
        entry = self._entries[task_id]
        for path, raw in self._readings(entry):
            if _hash(raw) == entry.hash:
                return from_row(parse_object(raw, path, entry.line), path, line=entry.line)
        raise DataError(
            self.path, "changed since it was opened; start again with the new file", line=entry.line
        )

    def _readings(self, entry: Entry) -> Iterator[tuple[Path, bytes]]:
        """Where a row may be, and what is there."""
        for path in self._places():
            yield path, _slice(path, entry)

    def _places(self) -> Sequence[Path]:
        return (self.path,)


def digest_of(sha256: str, environments: Mapping[str, str], left_out: Sequence[str]) -> str:
    """Identify a source's content: what the same seed draws the same task from."""
    content = json.dumps([sha256, sorted(environments.items()), list(left_out)])
    return hashlib.sha256(content.encode()).hexdigest()


def require_tasks(
    name: str, ids: Sequence[str], quarantined: Mapping[str, str], files: Sequence[Path]
) -> None:
    """Raise ``UsageError``, with a reason and the files of all, where all are quarantined."""
    if quarantined and not ids:
        first, reason = next(iter(quarantined.items()))
        raise UsageError(
            f"{name} has no task to draw: all {len(quarantined)} are quarantined; `codegym check` "
            f"tries them again. {', '.join(map(str, files))} says why ({first}: {reason})"
        )


def _check_names(
    task: Task, known: dict[str, Environment], find: FindEnvironment, path: Path, line: int
) -> None:
    try:
        if task.environment not in known:
            known[task.environment] = find(task.environment)
    except NotFoundError as error:
        raise DataError(path, str(error), line=line, field="environment") from error
    try:
        known[task.environment].suite(task.suite)
    except NotFoundError as error:
        raise DataError(path, str(error), line=line, field="suite") from error


def _slice(path: Path, entry: Entry) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(entry.offset)
            return file.read(entry.length)
    except FileNotFoundError:
        return b""


def _hash(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=16).digest()
