"""``codegym generate``: tasks made by mutation, each checked by running it."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli import generating
from codegym.cli.options import Json, Sandbox
from codegym.cli.output import console, counted, print_json, safe
from codegym.cli.run_options import BaseUrl
from codegym.errors import UsageError

if TYPE_CHECKING:
    from codegym.mutation import Generated
    from codegym.tasks import Environment, PackInfo
    from codegym.types import Kind


class Made(StrEnum):
    """What ``--kind`` takes."""

    FIX = "fix"
    FEATURE = "feature"
    BOTH = "both"


_KINDS: dict[Made, tuple[Kind, ...]] = {
    Made.FIX: ("FixTests",),
    Made.FEATURE: ("ImplementFeature",),
    Made.BOTH: ("FixTests", "ImplementFeature"),
}


EnvironmentName = Annotated[
    str, typer.Argument(metavar="ENVIRONMENT", help="One of `codegym environment list`.")
]
Count = Annotated[int, typer.Option("--count", "-n", min=1, help="Tasks wanted.")]
Operators = Annotated[
    str, typer.Option(help="Names, separated by commas, or all; plug-ins by name, module:attr.")
]
KindMade = Annotated[Made, typer.Option(help="Faults to repair, features to write anew, or both.")]
Seed = Annotated[int, typer.Option(min=0, help="Decides which edits are tried first.")]
Workers = Annotated[
    int, typer.Option(min=0, help="Edits tried at once; 0 for as many as there are cores.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the pack. Default: the environment's own, or for a bundled one "
        "./.codegym/packs/ENVIRONMENT-generated.",
        show_default=False,
    ),
]


def generate(
    environment: EnvironmentName,
    count: Count = 50,
    operators: Operators = "all",
    order: generating.Order = "1",
    kind: KindMade = Made.FIX,
    seed: Seed = 0,
    workers: Workers = 0,
    out: Out = None,
    failed: generating.Failed = None,
    detail: generating.HowMuch = generating.Detail.MEDIUM,
    statements: generating.Statements = "template",
    base_url: BaseUrl = None,
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> None:
    """Make tasks of an environment by mutating its sources.

    An edit becomes a task if tests that passed now fail, the same every time. Stopped at any
    moment, it goes on from there when the same command is given again.
    """
    from codegym import mutation
    from codegym.tasks import sources

    home = sources.environment(environment)
    folder = mutation.place_for(home, out)
    known = mutation.tasks_in(folder, home)
    chosen, composites, orders = generating.choice(operators, order, home.language, _KINDS[kind])
    writing = generating.Writing(statements, base_url, detail)
    making = partial(
        mutation.generate,
        home,
        operators=chosen,
        count=count,
        seed=seed,
        workers=workers,
        known=[*known, *mutation.made_otherwise(home, folder)],
        joining=mutation.Joining(composites, orders, generating.attempts_of(failed, home, orders)),
        detail=detail.value,
    )
    try:
        result, told = asyncio.run(_make(making, home, writing, sandbox))
    except KeyboardInterrupt:
        console(stderr=True).print("stopped; the same command goes on from here")
        raise
    if not result.tasks:
        raise UsageError(f"no edit of {home.name} becomes a task: {_funnel(result)}")
    pack = mutation.pack(folder, home, result)
    held = {task.instance_id for task in mutation.tasks_in(folder, home)}
    kept = tuple(task for task in result.tasks if task.instance_id in held)
    lost, result = len(result.tasks) - len(kept), replace(result, tasks=kept)
    if json:
        figures = _as_json(result, pack, folder, len(held))
        print_json(figures | {"environment": home.name, "statements": told})
    else:
        _print(result, count, lost)
        _print_pack(pack, folder, (len(held), len(held) - len(known)), out)
        if told:
            said = ", ".join(f"{count} {what}" for what, count in told.items())
            console().print(f"statements by {safe(statements)}: {said}", soft_wrap=True)


async def _make(
    making: partial[Coroutine[Any, Any, Generated]],
    home: Environment,
    writing: generating.Writing,
    sandbox: str,
) -> tuple[Generated, Mapping[str, int]]:
    """Tasks with their statements, and how those were come by."""
    from codegym.cli.steps import Steps
    from codegym.loop import open_setting

    with Steps() as steps:
        async with open_setting(sandbox, steps.note) as setting:
            made = await making(setting=setting, progress=steps)
        told = await writing.of(made.tasks, home, steps)
    return replace(made, tasks=told.tasks), told.counts


def _as_json(result: Generated, pack: PackInfo, folder: Path, held: int) -> dict[str, Any]:
    return {
        "candidates": result.candidates,
        "covered": result.covered,
        "valid": len(result.tasks),
        "faults": result.faults,
        "funnel": result.funnel,
        "unread": result.unread,
        "left_out": Counter(result.left_out.values()),
        "tier_0": result.trivial,
        "candidates_per_minute": _rate(result.fast.looked, result.fast.seconds),
        "null_mutants": result.fast.nulls,
        "null_valid": result.fast.null_valid,
        "cold": result.fast.cold,
        "cold_suites": {name: one.why for name, one in result.warmths.items() if one.why},
        "refused_tests": sum(len(one.refused) for one in result.warmths.values()),
        "confirmed": result.confirmed.held,
        "confirmed_per_minute": _rate(result.confirmed.held, result.confirmed.seconds),
        "tasks": [task.instance_id for task in result.tasks],
        "pack": {"name": pack.name, "version": pack.version, "folder": folder, "tasks": held},
        "seconds": result.seconds,
    }


def _rate(count: int, seconds: float) -> float | None:
    """So many a minute; None where nothing had to be done."""
    return 60 * count / seconds if count else None


def _print(result: Generated, wanted: int, lost: int) -> None:
    from codegym.mutation import REASONS

    out = console()
    for reason, count in result.funnel.items():
        out.print(f"{count:>6}  {reason}: {REASONS[reason]}", style="yellow", soft_wrap=True)
    for why, count in Counter(result.left_out.values()).items():
        said = f"{count:>6}  tests are in no task: each {why}"
        out.print(said, style="yellow", soft_wrap=True)
    if result.unread:
        said = f"{len(result.unread):>6}  files not edited, as {result.unread[0]}: the grammar "
        said += "understands them in part only"
        out.print(safe(said), style="yellow", soft_wrap=True)
    ran = result.fast.looked or result.fast.cold or result.confirmed.tried
    out.print(
        f"{counted(len(result.tasks), 'task')} of {counted(result.candidates, 'edit')}, "
        f"{result.covered} of them worth running ({result.found} in all), in "
        f"{result.seconds:.0f} s{'' if ran else ': what they do was known'}",
        soft_wrap=True,
    )
    if len(result.tasks) < wanted:
        why = "nothing more was found to try"
        if lost:
            why = f"another run added what {lost} do meanwhile; the same command makes more"
        out.print(f"fewer than the {wanted} that were asked for: {why}", style="yellow")
    _print_stages(result)


def _print_pack(pack: PackInfo, folder: Path, tasks: tuple[int, int], given: Path | None) -> None:
    held, new = tasks
    out, named = console(), f"version {pack.version} of the pack {pack.name}"
    said = f"{named}, {counted(held, 'task')}, {new} of them new, in {folder}"
    out.print(safe(said), soft_wrap=True)
    source = pack.name
    if given is not None:
        source = shlex.quote(str(given) if "/" in str(given) else f"./{given}")
    out.print(safe(f"codegym tasks list --tasks {source}"), style="dim", soft_wrap=True)


def _print_stages(result: Generated) -> None:
    """How the two stages went."""
    out, fast, confirmed = console(), result.fast, result.confirmed
    if fast.looked:
        out.print(
            f"{fast.looked} edits tried in forked processes, {60 * fast.looked / fast.seconds:.0f} "
            f"a minute; {fast.nulls} of no effect among them, of which {fast.null_valid} failed a "
            "test",
            style="dim",
            soft_wrap=True,
        )
    if confirmed.held:
        out.print(
            f"{confirmed.held} of {confirmed.tried} confirmed in fresh sandboxes, "
            f"{60 * confirmed.held / confirmed.seconds:.0f} a minute",
            style="dim",
            soft_wrap=True,
        )
    for name, warmth in result.warmths.items():
        if warmth.why:
            said = f"edits are tried in fresh sandboxes only for the suite {name}: {warmth.why}"
            out.print(safe(said), style="yellow", soft_wrap=True)
    cold = ", ".join(f"{count} {safe(why)}" for why, count in fast.cold.most_common())
    if cold:
        out.print(f"tried in fresh sandboxes only: {cold}", style="dim", soft_wrap=True)


def _funnel(result: Generated) -> str:
    from codegym.mutation import REASONS

    parts = (f"{count}: {REASONS[reason]}" for reason, count in result.funnel.items())
    found = "; ".join(parts) or "none was found"
    return f"{found}. Choose other --operators, --order or --kind, or add tests"
