"""``codegym train sft``: learn from demonstrations."""

from __future__ import annotations

from typing import Annotated

import typer

from codegym.cli import train_options as given
from codegym.cli.options import Json, Sandbox, TaskSourceName
from codegym.cli.train_settings import Set, Settings
from codegym.errors import UsageError

_Model = Annotated[
    str | None,
    typer.Option("--model", metavar="PATH_OR_NAME", help="Any causal model.", show_default=False),
]
_Tiny = Annotated[
    bool, typer.Option("--tiny", help="A model of a million parameters, made from nothing.")
]


def sft(
    out: given.Out,
    tasks: TaskSourceName = None,
    env: given.EnvId = "CodeGym/FixTests-v0",
    model: _Model = None,
    tiny: _Tiny = False,
    steps: given.TotalSteps = None,
    minutes: given.Minutes = None,
    batch: Annotated[int, typer.Option(min=1, help="Demonstrations in a step.")] = 16,
    run_tests: Annotated[
        bool, typer.Option("--run-tests/--no-run-tests", help="Whether they run the tests.")
    ] = True,
    learning_rate: given.Rate = 1e-3,
    lora: given.Lora = 0,
    device: given.Device = "auto",
    seed: given.Seed = 0,
    save_every: given.SaveEvery = 50,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Played at once.")] = 2,
    sandbox: Sandbox = "auto",
    tools: given.ToolNames = "default",
    set_: Set = None,
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
    from codegym.training.demonstrations import Showing
    from codegym.training.learner import Steps
    from codegym.training.session import Budget
    from codegym.training.sft import SftConfig, train_sft

    parts = Settings(set_, ("step", "episode", "demonstration"))
    config = SftConfig(
        out=out,
        env_id=env,
        budget=Budget(steps, minutes, save_every),
        model=model,
        tasks=tasks,
        batch=batch,
        how=parts.make("step", Steps, learning_rate=learning_rate, warmup=20),
        lora=lora,
        device=device,
        seed=seed,
        showing=parts.make("demonstration", Showing, tests=run_tests),
        workers=workers,
        sandbox=sandbox,
        options=given.episode(parts, env, tools, max_output_chars=4000),
    )
    taken = watched(lambda told, runs: train_sft(config, told, runs), out)
    given.tell(out, taken, as_object=json)
