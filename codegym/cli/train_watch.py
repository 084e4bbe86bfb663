"""How a training is watched, on stderr."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Self

from codegym.cli.output import console, safe
from codegym.loop import Watcher as RunWatcher
from codegym.runs import EpisodeRecord
from codegym.training.session import Budget, Watcher


def watched(make: Callable[[Watcher, RunWatcher], Coroutine[Any, Any, int]], out: Path) -> int:
    """Train with progress on stderr; Ctrl-C leaves a checkpoint, and says so."""
    with _Bar() as bar:
        try:
            return asyncio.run(make(_Training(bar), _Demonstrations(bar)))
        except KeyboardInterrupt:
            bar.say(f"{out}: stopped; the same command goes on from here")
            raise


class _Bar:
    """One line that says how far it is; on no terminal, a line for each step."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self._console = console(stderr=True)
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._line = self._bar.add_task("preparing", total=None)
        self._last = ""

    def say(self, text: str) -> None:
        self._console.print(safe(text), style="dim", soft_wrap=True)

    def told(self, text: str, done: int | None = None, total: int | None = None) -> None:
        said = safe(f"{self._last}{text}")
        self._bar.update(self._line, description=said, completed=done, total=total)

    def step(self, number: int, total: int | None, values: Mapping[str, float]) -> None:
        shown = [n for n in ("loss", "reward", "solved", "lessons") if n in values]
        said = f"step {number}: " + ", ".join(f"{name} {values[name]:.3g}" for name in shown)
        if not self._console.is_terminal:
            self._console.print(said, soft_wrap=True)
        self._last = f"{said}; "
        self.told("", number, total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


class _Training(Watcher):
    """Shows how a training goes."""

    def __init__(self, bar: _Bar) -> None:
        self._bar = bar

    def note(self, text: str) -> None:
        """Something is worth saying."""
        self._bar.say(text)

    def step(self, number: int, budget: Budget, values: Mapping[str, float]) -> None:
        """A step was taken."""
        self._bar.step(number, budget.steps, values)

    def episode(self, done: int, total: int) -> None:
        """Some of the step's episodes have ended."""
        self._bar.told(f"{done} of {total} episodes")


class _Demonstrations(RunWatcher):
    """Shows how demonstrations are played."""

    def __init__(self, bar: _Bar) -> None:
        self._bar, self._done, self._total = bar, 0, 0

    def note(self, text: str) -> None:
        """Say what is being prepared."""
        self._bar.told(text)

    def begin(self, total: int, finished: int) -> None:
        """The demonstrations that there are."""
        self._total, self._done = total, finished
        if finished < total:
            self._bar.say(f"playing {total - finished} demonstrations")

    def end(self, record: EpisodeRecord) -> None:
        """One was played."""
        self._done += 1
        if record.fault:
            self._bar.say(f"{record.task_id}: {record.error}")
        self._bar.told(f"demonstrations: {self._done} of {self._total}")
