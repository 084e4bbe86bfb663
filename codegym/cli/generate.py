"""``codegym generate``: tasks made by mutation, each checked by running it."""

from __future__ import annotations

import asyncio
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli.options import Json, Sandbox
from codegym.cli.output import console, print_json, safe
from codegym.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegym.mutation import Composite, Generated, Operator
    from codegym.tasks import PackInfo
    from codegym.types import Kind


_MOST_ORDER = 4


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
Order = Annotated[
    str,
    typer.Option(
        metavar="N[-M]",
        help="Faults in a task: 1, 2-3, 1-4. From 2 on, single edits are joined by composites.",
    ),
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
    order: Order = "1",
    kind: KindMade = Made.FIX,
    seed: Seed = 0,
    workers: Workers = 0,
    out: Out = None,
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> None:
    """Make tasks of an environment by mutating its sources.

    An edit becomes a task if tests that passed now fail, the same every time. Stopped at any
    moment, it goes on from there when the same command is given again.
    """
    from codegym import mutation
    from codegym.cli.steps import Steps
    from codegym.loop import open_setting
    from codegym.tasks import sources

    home = sources.environment(environment)
    folder = mutation.place_for(home, out)
    chosen, composites, orders = _choice(operators, order, home.language, _KINDS[kind])
    known = mutation.tasks_in(folder, home)

    async def make() -> Generated:
        with Steps() as steps:
            async with open_setting(sandbox, steps.note) as setting:
                return await mutation.generate(
                    home,
                    setting,
                    chosen,
                    count=count,
                    seed=seed,
                    workers=workers,
                    known=known,
                    composites=composites,
                    orders=orders,
                    progress=steps,
                )

    try:
        result = asyncio.run(make())
    except KeyboardInterrupt:
        console(stderr=True).print("stopped; the same command goes on from here")
        raise
    if not result.tasks:
        raise UsageError(f"no edit of {home.name} becomes a task: {_funnel(result)}")
    pack = mutation.pack(folder, home, result)
    if json:
        print_json(_as_json(result, pack, folder) | {"environment": home.name})
    else:
        _print(result, pack, folder)


def _choice(
    operators: str, order: str, language: str, kinds: Sequence[Kind]
) -> tuple[Sequence[Operator], Sequence[Composite], range]:
    """The operators, the composites and the orders that are wanted."""
    from codegym import mutation

    orders = _orders(order)
    names = [] if operators == "all" else [name.strip() for name in operators.split(",")]
    joined = [name for name in names if mutation.is_composite(name)]
    single = [name for name in names if name not in joined]
    if joined and orders.stop <= 2:
        raise UsageError(f"{joined[0]} joins several edits: give --order, for example 2-3")
    if joined and not single:
        orders = range(max(orders.start, 2), orders.stop)
    composites = mutation.load_composites(joined, kinds) if joined or not single else []
    made = mutation.load_operators(single, language, kinds)
    return made, composites if orders.stop > 2 else [], orders


def _orders(text: str) -> range:
    first, _, last = text.partition("-")
    try:
        low, high = int(first), int(last or first)
    except ValueError:
        low = high = 0
    if not 1 <= low <= high <= _MOST_ORDER:
        raise UsageError(f"--order: {text!r} is not N or N-M, from 1 to {_MOST_ORDER}")
    return range(low, high + 1)


def _as_json(result: Generated, pack: PackInfo, folder: Path) -> dict[str, Any]:
    return {
        "candidates": result.candidates,
        "covered": result.covered,
        "valid": len(result.tasks),
        "funnel": result.funnel,
        "left_out": Counter(result.left_out.values()),
        "tasks": [task.instance_id for task in result.tasks],
        "pack": {"name": pack.name, "version": pack.version, "folder": folder},
        "seconds": result.seconds,
    }


def _print(result: Generated, pack: PackInfo, folder: Path) -> None:
    from codegym.mutation import REASONS

    out = console()
    for reason, count in result.funnel.items():
        out.print(f"{count:>6}  {reason}: {REASONS[reason]}", style="yellow", soft_wrap=True)
    for why, count in Counter(result.left_out.values()).items():
        said = f"{count:>6}  tests are in no task: each {why}"
        out.print(said, style="yellow", soft_wrap=True)
    out.print(
        f"{len(result.tasks)} tasks of {result.candidates} edits, {result.covered} of them worth "
        f"running ({result.found} in all), in {result.seconds:.0f} s",
        soft_wrap=True,
    )
    out.print(safe(f"version {pack.version} of the pack {pack.name}, in {folder}"), soft_wrap=True)
    out.print(f"codegym tasks list --tasks {pack.name}", style="dim", soft_wrap=True)


def _funnel(result: Generated) -> str:
    from codegym.mutation import REASONS

    parts = (f"{count}: {REASONS[reason]}" for reason, count in result.funnel.items())
    return "; ".join(parts) or "none was found"
