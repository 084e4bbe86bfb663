"""The options of ``codegym run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EnvId = Annotated[str, typer.Argument(metavar="ID", help="For example CodeGym/FixTests-v0.")]
Out = Annotated[Path, typer.Option("--out", help="The run's folder; one that exists is resumed.")]
PolicyName = Annotated[
    str,
    typer.Option(
        "--policy",
        "-p",
        help=(
            "oracle, noop, random, scripted:PATH, replay:RUN, chat:MODEL, hf:PATH_OR_NAME, a "
            "plug-in, or module:attr."
        ),
    ),
]
PolicyOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--policy-option", metavar="KEY=VALUE", help="An option of the policy; may be repeated."
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="Where a chat model is served, for example http://localhost:8000/v1.",
        show_default=False,
    ),
]
Workers = Annotated[int, typer.Option("--workers", "-w", min=1, help="Episodes at once.")]
Samples = Annotated[int, typer.Option("--samples", min=1, help="Episodes for each task.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the whole run.")]
RewardName = Annotated[
    str, typer.Option("--reward", help="solved, progress, honest, or a plug-in.")
]
Gamma = Annotated[float, typer.Option("--gamma", help="Discount of shaped rewards, in (0, 1].")]
ToolNames = Annotated[str, typer.Option("--tools", help="default, or names separated by commas.")]
Network = Annotated[
    str, typer.Option("--network", help="none, a policy's name, or the path of a .toml file.")
]
MaxSteps = Annotated[int, typer.Option("--max-steps", help="Actions before truncation.")]
Opening = Annotated[
    str,
    typer.Option(
        "--opening",
        help="What a policy is told at first: full, or brief: the failing tests and the files that "
        "are to be changed, for models that learned the rest.",
    ),
]
MaxEpisodeSec = Annotated[
    float, typer.Option("--max-episode-sec", help="Seconds before truncation.")
]
CommandTimeoutSec = Annotated[
    float, typer.Option("--command-timeout-sec", help="Seconds that one action may take.")
]
MaxOutputChars = Annotated[
    int, typer.Option("--max-output-chars", help="Longest output that the policy is shown.")
]
