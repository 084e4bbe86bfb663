"""``codegym train sft``: learn from demonstrations."""

from __future__ import annotations

from typing import Annotated

import typer

from codegym.cli import train_options as given
from codegym.cli.options import Json, Sandbox, TaskSourceName
from codegym.cli.output import console, print_json
from codegym.errors import UsageError


def sft(
    out: given.Out,
    tasks: TaskSourceName = None,
    env: given.EnvId = "CodeGym/FixTests-v0",
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="PATH_OR_NAME", help="Any causal model.", show_default=False
        ),
    ] = None,
    tiny: Annotated[
        bool, typer.Option("--tiny", help="A model of a million parameters, made from nothing.")
    ] = False,
    steps: given.TotalSteps = None,
    minutes: given.Minutes = None,
    batch: Annotated[int, typer.Option(min=1, help="Demonstrations in a step.")] = 16,
    run_tests: Annotated[
        bool, typer.Option("--run-tests/--no-run-tests", help="Whether they run the tests.")
    ] = True,
    learning_rate: given.Rate = 1e-3,
    warmup: given.Warmup = 20,
    max_tokens: given.MaxTokens = 8192,
    lora: given.Lora = 0,
    device: given.Device = "auto",
    seed: given.Seed = 0,
    save_every: given.SaveEvery = 50,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Played at once.")] = 2,
    sandbox: Sandbox = "auto",
    tools: given.ToolNames = "default",
    max_output_chars: given.MaxOutputChars = 4000,
    json: Json = False,
) -> None:
    """Train on demonstrations: each task solved by the inverse of what broke it.

    The demonstrations are played in real sandboxes and graded; those that solve their task are
    learned from. Give the same command again to go on.
    """
    given.require_train()
    if (model is None) != tiny:
        raise UsageError("give one of --model PATH_OR_NAME and --tiny")
    from codegym.cli.train_watch import watched
    from codegym.envs.options import EpisodeOptions
    from codegym.registration import kind_of
    from codegym.training.learner import Steps
    from codegym.training.session import Budget
    from codegym.training.sft import SftConfig, train_sft

    config = SftConfig(
        out=out,
        env_id=env,
        budget=Budget(steps, minutes, save_every),
        model=model,
        tasks=tasks,
        batch=batch,
        how=Steps(learning_rate=learning_rate, warmup=warmup, max_tokens=max_tokens),
        lora=lora,
        device=device,
        seed=seed,
        tests=run_tests,
        workers=workers,
        sandbox=sandbox,
        options=EpisodeOptions(
            kind=kind_of(env),
            tools=tools if tools == "default" else tuple(tools.split(",")),
            max_output_chars=max_output_chars,
        ),
    )
    taken = watched(lambda told, runs: train_sft(config, told, runs), out)
    if json:
        print_json(given.as_json(out, taken))
    else:
        console().print(f"{taken} steps; the model is hf:{out}", soft_wrap=True)
