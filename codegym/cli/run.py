"""``codegym run``: a policy against tasks, into a folder that can be resumed."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from codegym.cli import run_options as given
from codegym.cli.clusters import RayActors, RayAddress, stage_on
from codegym.cli.options import Json, Sandbox, TaskSourceName
from codegym.cli.output import console, print_json, safe
from codegym.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from codegym.loop import RunConfig
    from codegym.runs import Summary

_MAX_REASONS = 3
_REASON_CHARS = 300


def run(
    env_id: given.EnvId,
    out: given.Out,
    policy: given.PolicyName,
    tasks: TaskSourceName = None,
    workers: given.Workers = 2,
    samples: given.Samples = 1,
    seed: given.Seed = 0,
    policy_option: given.PolicyOptions = None,
    base_url: given.BaseUrl = None,
    reward: given.RewardName = "solved",
    gamma: given.Gamma = 1.0,
    tools: given.ToolNames = "default",
    sandbox: Sandbox = "auto",
    ray: RayAddress = None,
    ray_actors: RayActors = 2,
    network: given.Network = "none",
    max_steps: given.MaxSteps = 50,
    max_episode_sec: given.MaxEpisodeSec = 1800.0,
    command_timeout_sec: given.CommandTimeoutSec = 120.0,
    max_output_chars: given.MaxOutputChars = 16_000,
    opening: given.Opening = "full",
    json: Json = False,
) -> None:
    """Run a policy on tasks and grade what it does.

    A run that was stopped goes on when the same command is given again. The exit status is 1 where
    an episode could not be graded: a fault, or a broken task.
    """
    from codegym.envs.options import EpisodeOptions
    from codegym.loop import RunConfig
    from codegym.registration import kind_of

    options = EpisodeOptions(
        kind=kind_of(env_id),
        reward=reward,
        gamma=gamma,
        tools=tools if tools == "default" else tuple(tools.split(",")),
        max_steps=max_steps,
        max_episode_sec=max_episode_sec,
        command_timeout_sec=command_timeout_sec,
        max_output_chars=max_output_chars,
        opening=opening,
        network=network,
    )
    config = RunConfig(
        env_id=env_id,
        out=out,
        policy=policy,
        tasks=tasks,
        workers=workers,
        samples=samples,
        seed=seed,
        policy_options=pairs(policy_option or [], base_url),
        sandbox=sandbox,
        options=options,
    )
    _tell(summary := watched(config, ray, ray_actors), out, as_object=json)
    if summary.faults:
        raise typer.Exit(1)


def _tell(summary: Summary, out: Path, *, as_object: bool) -> None:
    if as_object:
        print_json(as_json(summary, out))
    else:
        _print(summary, out)


def watched(config: RunConfig, ray: str | None = None, ray_actors: int = 0) -> Summary:
    """Run it, with progress on stderr; stopped, it says how to go on."""
    from codegym.cli.progress import Progress
    from codegym.loop import run as run_loop

    async def play(progress: Progress) -> Summary:
        async with stage_on(ray, ray_actors, config.sandbox) as stage:
            return await run_loop(config, progress, stage)

    try:
        with Progress() as progress:
            return asyncio.run(play(progress))
    except KeyboardInterrupt:
        stopped = f"{config.out}: stopped; the same command goes on from here"
        console(stderr=True).print(stopped, soft_wrap=True)
        raise


def pairs(given: list[str], base_url: str | None) -> dict[str, str]:
    """A policy's options as they were typed. Raises ``UsageError`` for what is no ``KEY=VALUE``."""
    found = {} if base_url is None else {"base_url": base_url}
    for item in given:
        key, separator, value = item.partition("=")
        if not separator:
            raise UsageError(f"--policy-option: expected KEY=VALUE, got {item!r}")
        found[key] = value
    return found


def as_json(summary: Summary, out: Path) -> dict[str, Any]:
    """The summary as ``--json`` prints it."""
    return {
        "out": out,
        "solve_rate": summary.solve_rate,
        "ci95": summary.ci95,
        "episodes": summary.episodes,
        "graded": summary.graded,
        "solved": summary.solved,
        "tampered": summary.tampered,
        "faults": summary.faults,
        "sandbox_faults": summary.sandbox_faults,
        "task_faults": summary.task_faults,
        "policy_faults": summary.policy_faults,
        "reasons": summary.reasons,
        "reward": summary.reward,
        "steps": summary.steps,
        "tokens": summary.tokens,
        "prompt_tokens": summary.prompt_tokens,
        "episode_sec": summary.episode_sec,
        "reset_ms": summary.reset_ms,
    }


def _print(summary: Summary, out: Path) -> None:
    screen = console()
    if summary.solve_rate is None:
        screen.print("no episode was graded", style="bold yellow")
    else:
        low, high = summary.ci95
        screen.print(
            f"solved {summary.solved} of {summary.graded}: {summary.solve_rate:.1%} "
            f"(95 % interval {low:.1%} to {high:.1%})",
            style="bold",
        )
        mean = summary.steps / summary.graded
        screen.print(
            f"{mean:.1f} steps, {summary.tokens / summary.graded:.0f} tokens and "
            f"{summary.episode_sec:.2f} s an episode; reset {summary.reset_ms:.1f} ms"
        )
    if summary.tampered:
        screen.print(f"{summary.tampered} tampered with something", style="yellow")
    if summary.faults:
        again = "(the same command tries them again)"
        reasons = (
            (summary.sandbox_faults, f"by faults of the sandbox {again}"),
            (summary.policy_faults, f"because the policy's endpoint failed {again}"),
            (summary.task_faults, "by broken tasks"),
        )
        told = ", ".join(f"{count} {why}" for count, why in reasons if count)
        screen.print(f"{summary.faults} not counted: {told}", style="yellow", soft_wrap=True)
    _print_reasons(screen, summary.reasons)
    _print_broken(screen, summary)
    hint = f"codegym replay {shlex.quote(str(out))} --episode 0"
    screen.print(hint, style="dim", soft_wrap=True)


def _print_reasons(screen: Console, reasons: Mapping[str, int]) -> None:
    """What failed most often."""
    for error, count in sorted(reasons.items(), key=lambda each: -each[1])[:_MAX_REASONS]:
        screen.print(safe(f"  {count} times: {_short(error)}"), style="yellow", soft_wrap=True)


def _short(error: str) -> str:
    reason = " ".join(error.split())
    return reason if len(reason) <= _REASON_CHARS else f"{reason[:_REASON_CHARS]}…"


def _print_broken(screen: Console, summary: Summary) -> None:
    for task_id, error in list(summary.broken.items())[:_MAX_REASONS]:
        reason = _short(error.removeprefix(f"task {task_id}: "))
        screen.print(safe(f"  {task_id}: {reason}"), style="yellow", soft_wrap=True)
    if len(summary.broken) > _MAX_REASONS:
        screen.print(f"  and {len(summary.broken) - _MAX_REASONS} more tasks", style="yellow")
