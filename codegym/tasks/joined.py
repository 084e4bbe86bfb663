"""Several task sources as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from codegym.errors import DataError, NotFoundError
from codegym.tasks.quarantine import quarantine_file
from codegym.tasks.task_file import TaskFile, digest_of, require_tasks
from codegym.types import EpisodeResult, Task

if TYPE_CHECKING:
    import numpy as np


class Joined:
    """Several sources as one; a task is drawn from all of them alike.

    Attributes:
        quarantined: Why each task is left out, by id.
    """

    def __init__(self, name: str, parts: Sequence[TaskFile]) -> None:
        self.name, self.parts = name, tuple(parts)
        self.quarantined = {
            task_id: reason for part in parts for task_id, reason in part.quarantined.items()
        }
        self.digest = digest_of("", {part.name: part.digest for part in parts}, ())
        owners: dict[str, TaskFile] = {}
        for part in parts:
            for task_id in part.ids:
                other = owners.setdefault(task_id, part)
                if other is not part:
                    problem = f"{task_id!r} is in {other.path} too"
                    raise DataError(part.path, problem, field="instance_id")
        self._owners = owners
        self.ids = tuple(owners)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Task]:
        for part in self.parts:
            yield from part

    def all_tasks(self) -> Iterator[Task]:
        """Yield the quarantined tasks too."""
        for part in self.parts:
            yield from part.all_tasks()

    def only(self, keep: Callable[[Task], bool]) -> Joined:
        """The same sources, of which only some tasks are drawn."""
        return Joined(self.name, [part.only(keep) for part in self.parts])

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw a task, each as likely as any. Raises ``UsageError`` where all are quarantined."""
        self.require_any()
        return self.get(self.ids[int(rng.integers(len(self.ids)))])

    def require_any(self) -> None:
        """Raise ``UsageError`` where all tasks are quarantined."""
        files = [quarantine_file(part.path) for part in self.parts]
        require_tasks(self.name, self.ids, self.quarantined, files)

    def get(self, task_id: str) -> Task:
        """Return one task. Raises ``NotFoundError``, for a quarantined one with the reason."""
        if task_id in self._owners:
            return self._owners[task_id].get(task_id)
        for part in self.parts:
            if task_id in part.quarantined:
                return part.get(task_id)
        raise NotFoundError("task", task_id, self.ids, hint=f"looked in {self.name}")

    def place(self, task_id: str) -> tuple[Path, int]:
        """The file and line of a task's row, for errors."""
        return self._owners[task_id].place(task_id)

    def observe(self, group: Sequence[EpisodeResult]) -> None:
        """Ignored: what is in files does not change."""
