"""What ``codegym train sft`` and ``codegym train rl`` share: options, and what they print."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated, Any

import typer

from codegym.errors import UnavailableError

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


def as_json(out: Path, taken: int) -> dict[str, Any]:
    """What ``--json`` prints: the folder, its steps, and what the last one measured."""
    from codegym.training.metrics import read_metrics

    return {"out": out, "policy": f"hf:{out}", "steps": taken, "last": read_metrics(out)[-1]}
