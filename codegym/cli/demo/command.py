"""The command."""

from __future__ import annotations

import asyncio
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli.options import BUNDLED, Json, Sandbox
from codegym.cli.output import activity, plain, print_json

if TYPE_CHECKING:
    from codegym.cli.demo.play import Demo
    from codegym.types import EpisodeResult


def demo(
    json: Json = False,
    sandbox: Sandbox = "auto",
    tasks: Annotated[
        str, typer.Option("--tasks", metavar="SOURCE", help="Its first task is attempted.")
    ] = BUNDLED,
) -> None:
    """Attempt one task four ways: by its answer, by nothing, by cheating and by forging.

    Exit status 1 where anything but the answer scores.
    """
    from codegym.cli.demo.play import play
    from codegym.cli.demo.show import show

    with activity() as note:
        found = asyncio.run(play(tasks, sandbox, note))
    if json:
        print_json(as_json(found))
    else:
        show(found, tasks)
    if not found.as_promised:
        raise typer.Exit(1)


def as_json(found: Demo) -> dict[str, Any]:
    """The demo as ``--json`` prints it."""
    first = next(iter(found.results.values()))
    return {
        "task": found.task.instance_id,
        "ready_sec": found.ready_sec,
        "attestation": dict(first.attestation.found),
        **{name: _episode(result) for name, result in found.results.items()},
    }


def _episode(result: EpisodeResult) -> dict[str, Any]:
    grade: dict[str, Any] = plain(result.grade)
    steps = [turn.seconds for turn in result.trajectory.turns]
    times = {
        "reset_ms": 1000 * result.reset_sec,
        "step_ms": 1000 * median(steps),
        "steps": len(steps),
    }
    return {**grade, **times, "diff": result.diff}
