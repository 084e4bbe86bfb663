"""``codegym train rl``: learn from rewards, and from hints."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli import train_options as given
from codegym.cli.clusters import RayActors, RayAddress, stage_on
from codegym.cli.options import Json, Sandbox, TaskSourceName
from codegym.cli.train_settings import Set, Settings

if TYPE_CHECKING:
    from codegym.training.session import Watcher
    from codegym.training.trainer import RlConfig


class Switch(StrEnum):
    """On or off."""

    ON = "on"
    OFF = "off"


Judge = Annotated[str, typer.Option(metavar="POLICY", help="Asked for hints, too: chat:MODEL.")]
Memo = Annotated[bool, typer.Option("--memo/--no-memo", help="Whether grades are remembered.")]


def rl(
    out: given.Out,
    init: given.Init,
    env: given.EnvId = "CodeGym/FixTests-v0",
    tasks: TaskSourceName = None,
    steps: given.TotalSteps = None,
    minutes: given.Minutes = None,
    groups: Annotated[int, typer.Option(min=1, help="Tasks in a step.")] = 8,
    samples: Annotated[int, typer.Option(min=2, help="Episodes of each task.")] = 8,
    feedback: Annotated[Switch, typer.Option(help="Whether hints are learned from.")] = Switch.OFF,
    judge: Judge = "",
    learning_rate: given.Rate = 2e-4,
    max_action_tokens: Annotated[int, typer.Option(min=1, help="Of one action.")] = 256,
    lora: given.Lora = 0,
    device: given.Device = "auto",
    seed: given.Seed = 0,
    save_every: given.SaveEvery = 10,
    memo: Memo = False,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Episodes at once.")] = 16,
    sandbox: Sandbox = "auto",
    ray: RayAddress = None,
    ray_actors: RayActors = 2,
    tools: given.ToolNames = "default",
    max_steps: given.MaxSteps = 10,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Train by rewards: episodes in sandboxes, real grades, a step; again.

    The same command goes on where it was stopped. With --memo, only a twentieth of what was graded
    is graded again, and what fails a test as it is written is held against nothing else; the exit
    status is 1 where a grade was not the same.
    """
    given.require_train()
    from codegym.training.session import Budget
    from codegym.training.trainer import RlConfig

    parts = Settings(set_, ("step", "objective", "feedback", "episode"))
    config = RlConfig(
        init=init,
        out=out,
        env_id=env,
        budget=Budget(steps, minutes, save_every),
        tasks=tasks,
        groups=groups,
        samples=samples,
        judge=judge,
        max_tokens=max_action_tokens,
        lora=lora,
        device=device,
        seed=seed,
        memo=memo,
        workers=workers,
        sandbox=sandbox,
        options=given.episode(parts, env, tools, max_steps=max_steps, max_output_chars=4000),
        **_how(parts, learning_rate, feedback),
    )
    taken = _watched(config, ray, ray_actors)
    given.tell(out, taken, as_object=json)
    _require_same(out)


def _require_same(out: Path) -> None:
    """Exit with 1 where a grade that was known was not the same the second time."""
    if given.gradings(out).get("differences"):
        raise typer.Exit(1)


def _watched(config: RlConfig, ray: str | None, ray_actors: int) -> int:
    """Train, with progress on stderr."""
    from codegym.cli.train_watch import watched
    from codegym.training.trainer import train_rl

    async def train(told: Watcher) -> int:
        async with stage_on(ray, ray_actors, config.sandbox) as stage:
            return await train_rl(config, told, stage)

    return watched(lambda told, _: train(told), config.out)


def _how(parts: Settings, learning_rate: float, feedback: Switch) -> dict[str, Any]:
    """The settings of how it learns."""
    from codegym.training.feedback import Feedback
    from codegym.training.learner import Steps
    from codegym.training.objective import Objective

    wanted = parts.make("feedback", Feedback)
    return {
        "how": parts.make("step", Steps, learning_rate=learning_rate),
        "objective": parts.make("objective", Objective),
        "feedback": wanted if feedback is Switch.ON else None,
    }
