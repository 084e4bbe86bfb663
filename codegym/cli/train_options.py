"""What ``codegym train sft`` and ``codegym train rl`` share: options, and what they print."""

from __future__ import annotations

import importlib.util
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli.output import console, counted, print_json
from codegym.errors import UnavailableError

if TYPE_CHECKING:
    from codegym.cli.train_settings import Settings
    from codegym.envs.options import EpisodeOptions

EnvId = Annotated[str, typer.Option("--env", metavar="ID", help="How tasks are presented.")]
Out = Annotated[
    Path, typer.Option("--out", help="The training's folder; one that exists is gone on with.")
]
Init = Annotated[
    str,
    typer.Option("--init", "--model", metavar="PATH_OR_NAME", help="What training begins with."),
]
TotalSteps = Annotated[
    int | None, typer.Option("--steps", min=1, help="Steps in all.", show_default=False)
]
Minutes = Annotated[
    float | None, typer.Option("--minutes", min=0.0, help="Time of this start.", show_default=False)
]
SaveEvery = Annotated[int, typer.Option("--save-every", min=1, help="Steps between checkpoints.")]
Rate = Annotated[float, typer.Option("--learning-rate", "--lr", min=0.0, help="Of AdamW.")]
Lora = Annotated[int, typer.Option("--lora", min=0, help="Rank of adapters; 0: train all weights.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the whole training.")]
MaxSteps = Annotated[int, typer.Option("--max-steps", min=1, help="Actions before truncation.")]
ToolNames = Annotated[str, typer.Option("--tools", help="default, or names separated by commas.")]


def episode(parts: Settings, env_id: str, tools: str, **base: object) -> EpisodeOptions:
    """How episodes are played."""
    from codegym.envs.options import EpisodeOptions
    from codegym.registration import kind_of

    made = parts.make("episode", EpisodeOptions, kind=kind_of(env_id), **base)
    return made if tools == "default" else replace(made, tools=tuple(tools.split(",")))


def require_train() -> None:
    """Raise ``UnavailableError`` where the extra is not installed."""
    missing = [n for n in ("torch", "transformers") if importlib.util.find_spec(n) is None]
    if missing:
        raise UnavailableError(
            f"training needs {' and '.join(missing)}", "Install them: pip install 'codegym[train]'"
        )


def tell(out: Path, taken: int, *, as_object: bool) -> None:
    """Print what came of a training."""
    if as_object:
        print_json(as_json(out, taken))
        return
    console().print(f"{counted(taken, 'step')}; the model is hf:{out}", soft_wrap=True)
    if not _learned(out):
        told = "nothing was learned: no two episodes of a task had different rewards. Take easier "
        told += "tasks, more --samples, or --feedback on"
        console().print(told, style="yellow", soft_wrap=True)
    if graded := gradings(out):
        console().print(
            f"{graded['unique']} gradings, {graded['hits']} more from memory; {graded['again']} of "
            f"what was known graded again, {graded['differences']} with another score",
            style="bold red" if graded["differences"] else "dim",
            soft_wrap=True,
        )


def as_json(out: Path, taken: int) -> dict[str, Any]:
    """What ``--json`` prints: the folder, its steps, and what the last one measured."""
    from codegym.training.metrics import read_metrics

    last = read_metrics(out)[-1]
    told = {"out": out, "policy": f"hf:{out}", "steps": taken, "last": last}
    graded = gradings(out)
    return told | ({"gradings": graded} if graded else {})


def _learned(out: Path) -> bool:
    """Whether any step had anything to learn from."""
    from codegym.training.metrics import read_metrics

    return any("loss" in values for values in read_metrics(out))


def gradings(out: Path) -> dict[str, int]:
    """What was graded in all steps, where a memo was kept; else nothing."""
    from codegym.training.metrics import read_metrics

    total: Counter[str] = Counter()
    for values in read_metrics(out):
        for name, value in values.items():
            part, _, key = name.partition("/")
            if part == "graded":
                total[key] += int(value)
    return dict(total)
