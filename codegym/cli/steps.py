"""Progress of commands that make and prove tasks, on stderr."""

from __future__ import annotations

from typing import Self

from codegym.cli.lines import Lines
from codegym.cli.output import console, safe
from codegym.grading.progress import Progress


class Steps(Progress):
    """One line that says what is being done and how far it is."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        stderr = console(stderr=True)
        self._lines = Lines(stderr)
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=stderr,
            transient=True,
        )
        self._line = self._bar.add_task("preparing", total=None)

    def note(self, text: str) -> None:
        """Say what has begun."""
        self._bar.update(self._line, description=safe(text))
        self._lines.tell(safe(text))

    def begin(self, text: str, total: int, finished: int = 0) -> None:
        """Show how many there are."""
        self._bar.update(self._line, description=safe(text), total=total, completed=finished)

    def advance(self, text: str) -> None:
        """One more is done."""
        self._bar.update(self._line, advance=1, description=safe(text))
        done = self._bar.tasks[self._line]
        self._lines.tell(safe(text), done.completed, done.total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
