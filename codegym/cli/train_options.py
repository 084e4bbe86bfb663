"""What ``codegym train sft`` and ``codegym train rl`` share: options, and how progress is shown."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from codegym.cli.output import console, safe
from codegym.errors import UnavailableError
from codegym.loop import Watcher as RunWatcher
from codegym.runs import EpisodeRecord

if TYPE_CHECKING:
    from codegym.training.session import Budget, Watcher

EnvId = Annotated[str, typer.Option("--env", metavar="ID", help="How tasks are presented.")]
Out = Annotated[
    Path, typer.Option("--out", help="The training's folder; one that exists is gone on with.")
]
TotalSteps = Annotated[
    int | None, typer.Option("--steps", min=1, help="Steps in all.", show_default=False)
]
Minutes = Annotated[
    float | None, typer.Option("--minutes", min=0.0, help="Time of this start.", show_default=False)
]
SaveEvery = Annotated[int, typer.Option("--save-every", min=1, help="Steps between checkpoints.")]
Rate = Annotated[float, typer.Option("--learning-rate", "--lr", min=0.0, help="Of AdamW.")]
Warmup = Annotated[int, typer.Option("--warmup", min=0, help="Steps until it is reached.")]
MaxTokens = Annotated[
    int, typer.Option("--max-tokens", min=1, help="Tokens in memory at once; changes no result.")
]
Lora = Annotated[int, typer.Option("--lora", min=0, help="Rank of adapters; 0: train all weights.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the whole training.")]
MaxSteps = Annotated[int, typer.Option("--max-steps", min=1, help="Actions before truncation.")]
ToolNames = Annotated[str, typer.Option("--tools", help="default, or names separated by commas.")]
MaxOutputChars = Annotated[
    int, typer.Option("--max-output-chars", help="Longest output that the policy is shown.")
]


def require_train() -> None:
    """Raise ``UnavailableError`` where the extra is not installed."""
    missing = [n for n in ("torch", "transformers") if importlib.util.find_spec(n) is None]
    if missing:
        raise UnavailableError(
            f"training needs {' and '.join(missing)}", "Install them: pip install 'codegym[train]'"
        )


def watched(make: Callable[[Watcher, RunWatcher], Coroutine[Any, Any, int]], out: Path) -> int:
    """Train with progress on stderr; Ctrl-C leaves a checkpoint, and says so."""
    from codegym.training.session import Watcher

    with _Bar() as bar:

        class Training(Watcher):
            def note(self, text: str) -> None:
                bar.say(text)

            def step(self, number: int, budget: Budget, values: Mapping[str, float]) -> None:
                bar.step(number, budget.steps, values)

            def episode(self, done: int, total: int) -> None:
                bar.told(f"{done} of {total} episodes")

        try:
            return asyncio.run(make(Training(), _Demonstrations(bar)))
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


def as_json(out: Path, taken: int) -> dict[str, Any]:
    """What ``--json`` prints: the folder, its steps, and what the last one measured."""
    from codegym.training.metrics import read_metrics

    return {"out": out, "policy": f"hf:{out}", "steps": taken, "last": read_metrics(out)[-1]}
