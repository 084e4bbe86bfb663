"""``codegym evaluate``: several policies on the same tasks and seeds."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli import run_options as given
from codegym.cli.options import Json, Sandbox, TaskSourceName
from codegym.cli.output import console
from codegym.cli.report import show
from codegym.cli.run import pairs

if TYPE_CHECKING:
    from codegym.evaluation import EvaluationConfig
    from codegym.evaluation.report import PolicyRun
    from codegym.loop import Watcher

PolicyNames = Annotated[
    list[str],
    typer.Option("--policy", "-p", help="As for `codegym run`; repeat it to compare."),
]
OptionsOfAll = Annotated[
    list[str] | None,
    typer.Option(
        "--policy-option",
        metavar="KEY=VALUE",
        help="An option, given to each policy that has it; may be repeated.",
    ),
]
EnvId = Annotated[str, typer.Option("--env", metavar="ID", help="How tasks are presented.")]
Baselines = Annotated[
    bool, typer.Option(help="Also play random_edit, which knows nothing of what it repairs.")
]
UnigramFrom = Annotated[
    str | None,
    typer.Option(
        metavar="SOURCE",
        help="Also play unigram, which tries what most often was the answer in these other tasks.",
        show_default=False,
    ),
]


def evaluate(
    policy: PolicyNames,
    out: Annotated[Path, typer.Option("--out", help="A folder; one that exists is resumed.")],
    env_id: EnvId = "CodeGym/Tasks-v0",
    tasks: TaskSourceName = None,
    samples: given.Samples = 1,
    baselines: Baselines = True,
    unigram_from: UnigramFrom = None,
    workers: given.Workers = 2,
    seed: given.Seed = 0,
    policy_option: OptionsOfAll = None,
    base_url: given.BaseUrl = None,
    tools: given.ToolNames = "default",
    sandbox: Sandbox = "auto",
    network: given.Network = "none",
    max_steps: given.MaxSteps = 50,
    max_episode_sec: given.MaxEpisodeSec = 1800.0,
    command_timeout_sec: given.CommandTimeoutSec = 120.0,
    max_output_chars: given.MaxOutputChars = 16_000,
    opening: given.Opening = "full",
    json: Json = False,
) -> None:
    """Play policies on the same tasks and seeds, and report on them side by side.

    An evaluation that was stopped goes on when the same command is given again; policies can be
    added to one that is done. The exit status is 1 where an episode could not be graded.
    """
    from codegym.envs.options import EpisodeOptions
    from codegym.evaluation import EvaluationConfig
    from codegym.registration import kind_of

    options = EpisodeOptions(
        kind=kind_of(env_id),
        tools=tools if tools == "default" else tuple(tools.split(",")),
        max_steps=max_steps,
        max_episode_sec=max_episode_sec,
        command_timeout_sec=command_timeout_sec,
        max_output_chars=max_output_chars,
        opening=opening,
        network=network,
    )
    extra = ["random_edit"] if baselines and "random_edit" not in policy else []
    extra += [f"unigram:{unigram_from}"] if unigram_from else []
    config = EvaluationConfig(
        env_id=env_id,
        out=out,
        policies=[*policy, *extra],
        tasks=tasks,
        workers=workers,
        samples=samples,
        seed=seed,
        policy_options=pairs(policy_option or [], base_url),
        sandbox=sandbox,
        options=options,
    )
    runs = _watched(config)
    show(runs, as_json=json)
    if any(episode.fault for each in runs for episode in each.episodes):
        raise typer.Exit(1)


def _watched(config: EvaluationConfig) -> list[PolicyRun]:
    """Play it, with progress on stderr."""
    from codegym.cli.progress import Progress
    from codegym.evaluation import evaluate as play

    screen = console(stderr=True)
    with ExitStack() as open_bars:

        def watch(name: str) -> Watcher:
            open_bars.close()
            screen.print(f"policy {name}", soft_wrap=True)
            return open_bars.enter_context(Progress())

        try:
            return asyncio.run(play(config, watch))
        except KeyboardInterrupt:
            open_bars.close()
            screen.print(f"{config.out}: stopped; the same command goes on from here")
            raise
