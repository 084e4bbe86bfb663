"""``codegym train sb3``: Stable-Baselines3 on edits to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli.options import Json, Sandbox, TaskSourceName
from codegym.cli.output import console, counted, print_json, safe
from codegym.errors import UsageError

if TYPE_CHECKING:
    from codegym.integrations.sb3.training import Outcome, Watcher

_SHOWN = 3

Out = Annotated[Path, typer.Option(help="The training's folder; one that exists is gone on with.")]
Algo = Annotated[str, typer.Option(help="maskable-ppo (a pointer policy), ppo, a2c or dqn.")]
Minutes = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Wall time of training in all. Default: 2, or no limit with --steps.",
        show_default=False,
    ),
]
Steps = Annotated[
    int | None, typer.Option(min=1, help="Attempts of training in all.", show_default=False)
]
HeldOut = Annotated[
    float, typer.Option(help="Share of functions whose tasks are only measured with.")
]


def sb3(
    out: Out,
    tasks: TaskSourceName = None,
    algo: Algo = "maskable-ppo",
    minutes: Minutes = None,
    steps: Steps = None,
    held_out: HeldOut = 0.3,
    candidates: Annotated[int, typer.Option(min=1, help="Edits to choose from, at most.")] = 96,
    attempts: Annotated[int, typer.Option(min=1, help="Edits tried in an episode.")] = 2,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Envs at once.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Of the split, the model and the draws.")] = 0,
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> None:
    """Train a policy of Stable-Baselines3 to choose edits; every reward is a real grade.

    An episode is a task, an action one of the edits that mutation's operators find in it, and each
    is graded in a sandbox, or from memory where it was graded before. What is learned is measured
    on tasks held out, cold, beside what has learned nothing, edits drawn at random, and the edits
    that most often repair the tasks trained on. Stopped, it goes on when the same command is given
    again, and with more minutes or steps it goes on from where it ended. The exit status is 1 where
    a grade was not the same the second time.
    """
    from codegym.integrations.sb3 import require

    require()
    from codegym.integrations.sb3.training import TrainConfig, train

    if not 0.0 < held_out < 1.0:
        raise UsageError(f"--held-out: expected more than 0 and less than 1, got {held_out}")
    config = TrainConfig(
        tasks=tasks,
        out=out,
        algo=algo,
        minutes=minutes,
        steps=steps,
        held_out=held_out,
        candidates=candidates,
        attempts=attempts,
        workers=workers,
        seed=seed,
        sandbox=sandbox,
    )
    with _progress() as watcher:
        outcome = train(config, watcher)
    if json:
        print_json(_as_json(outcome, out))
    else:
        _print(outcome, out)
    if outcome.progress.tally.differences:
        raise typer.Exit(1)


@contextmanager
def _progress() -> Iterator[Watcher]:
    """A line on stderr."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from codegym.integrations.sb3.training import Watcher

    screen = console(stderr=True)
    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(bar_width=24), TimeElapsedColumn())
    with Bar(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        line = bar.add_task("starting", total=None)

        class Shown(Watcher):
            def note(self, text: str) -> None:
                bar.update(line, description=text, total=None)
                if not screen.is_terminal:
                    screen.print(text, soft_wrap=True)

            def progress(self, done: float, total: float, text: str) -> None:
                bar.update(line, description=text, total=total, completed=done)

        yield Shown()


def _as_json(outcome: Outcome, out: Path) -> dict[str, Any]:
    progress = outcome.progress
    return {
        "out": out,
        "tasks": {
            "train": outcome.train,
            "held_out": outcome.held_out,
            "held_out_in_reach": outcome.in_reach,
            "left_out": outcome.left_out,
        },
        "steps": progress.steps,
        "train_sec": progress.seconds,
        "episodes": progress.episodes,
        "solved_in_training": progress.solved,
        "gradings": progress.tally,
        **outcome.results,
    }


def _print(outcome: Outcome, out: Path) -> None:
    screen, progress = console(), outcome.progress
    screen.print(
        f"trained on {counted(outcome.train, 'task')}, measured on {outcome.held_out} others; of "
        f"{outcome.in_reach} of these, the known answer is among the edits",
        soft_wrap=True,
    )
    for name in ("random_edit", "unigram", "start"):
        screen.print(_line(name, outcome.results[name]), soft_wrap=True)
    for steps, result in outcome.results.get("after", {}).items():
        name = f"after {steps} steps, {result['minutes']:.1f} min"
        screen.print(_line(name, result), style="bold", soft_wrap=True)
    tally = progress.tally
    screen.print(
        f"training: {tally.unique} gradings, {tally.hits} more from memory; {tally.again} of what "
        f"was known graded again, {tally.differences} with another score",
        style="bold red" if tally.differences else "dim",
        soft_wrap=True,
    )
    for task_id, why in list(outcome.left_out.items())[:_SHOWN]:
        screen.print(safe(f"  left out: {task_id}: {why}"), style="yellow", soft_wrap=True)
    if len(outcome.left_out) > _SHOWN:
        screen.print(f"  and {len(outcome.left_out) - _SHOWN} more", style="yellow")
    screen.print(str(out), style="dim", soft_wrap=True)


def _line(name: str, result: Mapping[str, Any]) -> str:
    low, high = result["ci95"]
    rate = "none graded" if result["solve_rate"] is None else f"{result['solve_rate']:6.1%}"
    faults = f", {counted(result['faults'], 'fault')} not counted" if result["faults"] else ""
    return (
        f"{name:<28} {rate} solved (95 % {low:.1%} to {high:.1%}), {result['first']} of "
        f"{result['tasks']} at the first attempt; {result['gradings']} cold gradings{faults}"
    )
