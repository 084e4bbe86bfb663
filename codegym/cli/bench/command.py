"""The command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli.options import BUNDLED, Json
from codegym.cli.output import activity, console, print_json
from codegym.errors import UsageError

if TYPE_CHECKING:
    from codegym.cli.bench.measure import Figure


def bench(
    json: Json = False,
    sandbox: Annotated[
        str, typer.Option("--sandbox", "--backend", help="Backend: auto, bubblewrap or docker.")
    ] = "auto",
    tasks: Annotated[
        str, typer.Option("--tasks", metavar="SOURCE", help="Its first task is measured with.")
    ] = BUNDLED,
    times: Annotated[int, typer.Option(min=1, help="How often each is measured, about.")] = 40,
    network: Annotated[
        bool, typer.Option("--network", help="Measure the egress proxy instead of sandboxes.")
    ] = False,
    train: Annotated[
        bool,
        typer.Option("--train", help="Measure language models in this process instead."),
    ] = False,
    mutation: Annotated[
        str,
        typer.Option(
            metavar="ENVIRONMENT",
            help="Measure how fast candidates of an environment are tried, and how well.",
        ),
    ] = "",
    files: Annotated[
        str, typer.Option(metavar="GLOBS", help="With --mutation: only edits of files that match.")
    ] = "",
) -> None:
    """Measure what the gym costs, and beside each figure its physical floor in the same run."""
    if network and train:
        raise UsageError("give --network or --train, not both")
    with activity() as note:
        if network:
            figures = _measure_network(times, note)
        elif train:
            figures = _measure_training(times, note)
        elif mutation:
            globs = [one.strip() for one in files.split(",") if one.strip()]
            figures = asyncio.run(_measure_mutation(mutation, globs, sandbox, times, note))
        else:
            figures = asyncio.run(_measure(tasks, sandbox, times, note))
    if json:
        print_json({each.name: _as_json(each) for each in figures})
    else:
        _print(figures)


async def _measure(
    tasks: str, sandbox: str, times: int, note: Callable[[str], None]
) -> list[Figure]:
    from codegym.cli.bench.figures import Bench
    from codegym.cli.bench.subjects import subject
    from codegym.loop import open_setting
    from codegym.registration import resolve

    source = resolve(tasks)
    task = next(iter(source))
    async with open_setting(sandbox, note) as setting:
        ready = await setting.ready(task)
        await setting.recording(ready)  # not while anything is measured
        measured = await subject(setting.backend, ready.image)
        figures = []
        for measure in Bench(setting, task, times, measured).measures():
            note(f"measuring {measure.__name__.replace('_', ' ')}")
            figures.append(await measure())
    return figures


async def _measure_mutation(
    name: str, globs: list[str], sandbox: str, times: int, note: Callable[[str], None]
) -> list[Figure]:
    from codegym.cli.bench.mutation import MutationBench
    from codegym.loop import open_setting
    from codegym.tasks import sources

    environment = sources.environment(name)
    async with open_setting(sandbox, note) as setting:
        return await MutationBench(setting, environment, globs, times, note).figures()


def _measure_network(times: int, note: Callable[[str], None]) -> list[Figure]:
    from codegym.cli.bench.egress import measure

    return measure(note, times)


def _measure_training(times: int, note: Callable[[str], None]) -> list[Figure]:
    from codegym.cli.bench.train import measure

    return measure(note, times)


def _as_json(each: Figure) -> dict[str, Any]:
    return {
        "p50": each.p50,
        "p95": each.p95,
        "floor": each.floor,
        "ratio": each.ratio,
        "target": each.target,
        "n": each.n,
        "what": each.what,
        "against": each.against,
    }


def _print(figures: list[Figure]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("figure")
    for title in ("p50", "p95", "target", "floor", "times floor"):
        table.add_column(title, justify="right")
    for each in figures:
        table.add_row(
            each.name,
            f"{each.p50:.3g}",
            f"{each.p95:.3g}",
            "" if each.target is None else f"{each.target:g}",
            "" if each.floor is None else f"{each.floor:.3g}",
            "" if each.ratio is None else f"{each.ratio:.2f}",
            style="" if each.target is None or each.p50 <= each.target else "yellow",
        )
    out = console()
    out.print(table)
    for each in figures:
        against = f"; floor: {each.against}" if each.against else ""
        out.print(f"{each.name}: {each.what}{against} (n={each.n})", style="dim")
