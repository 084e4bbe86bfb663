"""``codegym train rl``: learn from rewards, and from hints."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli import train_options as given
from codegym.cli.clusters import RayActors, RayAddress, stage_on
from codegym.cli.options import Json, Sandbox, TaskSourceName
from codegym.cli.output import console, print_json

if TYPE_CHECKING:
    from codegym.training.session import Watcher


class Switch(StrEnum):
    """On or off."""

    ON = "on"
    OFF = "off"


class TeacherName(StrEnum):
    """Who teaches."""

    SELF = "self"
    EMA = "ema"
    TRUST = "trust"


class LossName(StrEnum):
    """The surrogate."""

    CLIP = "clip"
    CISPO = "cispo"


def rl(
    out: given.Out,
    init: Annotated[
        str,
        typer.Option(
            "--init", "--model", metavar="PATH_OR_NAME", help="What training begins with."
        ),
    ],
    env: given.EnvId = "CodeGym/FixTests-v0",
    tasks: TaskSourceName = None,
    steps: given.TotalSteps = None,
    minutes: given.Minutes = None,
    groups: Annotated[int, typer.Option(min=1, help="Tasks in a step.")] = 8,
    samples: Annotated[int, typer.Option(min=2, help="Episodes of each task.")] = 8,
    feedback: Annotated[Switch, typer.Option(help="Whether hints are learned from.")] = Switch.OFF,
    feedback_weight: Annotated[float, typer.Option(min=0.0, help="Beside the reward's 1.")] = 1.0,
    teacher: Annotated[TeacherName, typer.Option(help="Who reads the hints.")] = TeacherName.EMA,
    divergence: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="0: forward, 1: reverse, between: JSD.")
    ] = 0.5,
    judge: Annotated[
        str, typer.Option(metavar="POLICY", help="Asked for hints, too: chat:MODEL.")
    ] = "",
    loss: Annotated[LossName, typer.Option(help="The policy gradient's form.")] = LossName.CLIP,
    kl: Annotated[float, typer.Option(min=0.0, help="Penalty on leaving --init.")] = 0.0,
    updates: Annotated[int, typer.Option(min=1, help="Optimiser steps a step.")] = 1,
    learning_rate: given.Rate = 2e-4,
    warmup: given.Warmup = 0,
    max_tokens: given.MaxTokens = 8192,
    max_action_tokens: Annotated[int, typer.Option(min=1, help="Of one action.")] = 256,
    lora: given.Lora = 0,
    device: given.Device = "auto",
    seed: given.Seed = 0,
    save_every: given.SaveEvery = 10,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Episodes at once.")] = 16,
    sandbox: Sandbox = "auto",
    ray: RayAddress = None,
    ray_actors: RayActors = 2,
    reward: Annotated[str, typer.Option(help="solved, progress, honest, or a plug-in.")] = "solved",
    tools: given.ToolNames = "default",
    max_steps: given.MaxSteps = 10,
    max_output_chars: given.MaxOutputChars = 4000,
    json: Json = False,
) -> None:
    """Train by rewards: episodes in sandboxes, real grades, a step; again.

    Give the same command again to go on where it was stopped, however it was stopped.
    """
    given.require_train()
    from codegym.cli.train_watch import watched
    from codegym.envs.options import EpisodeOptions
    from codegym.registration import kind_of
    from codegym.training.feedback import Feedback
    from codegym.training.learner import Steps
    from codegym.training.objective import Objective
    from codegym.training.session import Budget
    from codegym.training.trainer import RlConfig, train_rl

    config = RlConfig(
        init=init,
        out=out,
        env_id=env,
        budget=Budget(steps, minutes, save_every),
        tasks=tasks,
        groups=groups,
        samples=samples,
        how=Steps(learning_rate=learning_rate, warmup=warmup, max_tokens=max_tokens),
        objective=Objective(loss=loss.value, kl=kl, updates=updates),
        feedback=Feedback(weight=feedback_weight, teacher=teacher.value, alpha=divergence)
        if feedback is Switch.ON
        else None,
        judge=judge,
        max_tokens=max_action_tokens,
        lora=lora,
        device=device,
        seed=seed,
        workers=workers,
        sandbox=sandbox,
        options=EpisodeOptions(
            kind=kind_of(env),
            reward=reward,
            tools=tools if tools == "default" else tuple(tools.split(",")),
            max_steps=max_steps,
            max_output_chars=max_output_chars,
        ),
    )

    async def train(told: Watcher) -> int:
        async with stage_on(ray, ray_actors, sandbox) as stage:
            return await train_rl(config, told, stage)

    taken = watched(lambda told, _: train(told), out)
    if json:
        print_json(given.as_json(out, taken))
    else:
        console().print(f"{taken} steps; the model is hf:{out}", soft_wrap=True)
