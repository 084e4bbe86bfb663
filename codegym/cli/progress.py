"""A progress line on stderr."""

from __future__ import annotations

from typing import Self

from codegym.cli.lines import Lines
from codegym.cli.output import console, safe
from codegym.loop import Watcher
from codegym.runs import EpisodeRecord


class Progress(Watcher):
    """Shows what is prepared, then how many episodes have ended and how many were solved."""

    def __init__(self) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        self._console = console(stderr=True)
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._line = self._bar.add_task("preparing", total=None)
        self._lines = Lines(self._console)
        self._solved = self._graded = self._faults = 0

    def note(self, text: str) -> None:
        """Say what is being prepared."""
        self._bar.update(self._line, description=text)
        if not self._console.is_terminal:
            self._console.print(text, soft_wrap=True)

    def begin(self, total: int, finished: int) -> None:
        """The run's episodes, and those that an earlier start finished."""
        self._bar.update(self._line, total=total, completed=finished, description="running")
        if finished:
            self._console.print(f"resuming: {finished} of {total} episodes are done", style="dim")

    def end(self, record: EpisodeRecord) -> None:
        """An episode ended."""
        self._faults += bool(record.fault)
        if record.fault == "policy":
            told = f"episode {record.index}: {safe(record.error)}"
            self._console.print(told, style="yellow", soft_wrap=True)
        if record.grade is not None:
            self._graded += 1
            self._solved += record.grade.solved
        told = f"solved {self._solved}/{self._graded}"
        if self._faults:
            told += f", {self._faults} faults"
        self._bar.update(self._line, advance=1, description=told)
        done = self._bar.tasks[self._line]
        self._lines.tell(told, done.completed, done.total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
