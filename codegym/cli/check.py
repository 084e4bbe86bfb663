"""``codegym check``: does each task hold what it says?"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli.options import Json, Sandbox
from codegym.cli.output import console, print_json, safe
from codegym.types import Assurance

if TYPE_CHECKING:
    from rich.console import Console

    from codegym.authoring import CheckReport
    from codegym.authoring.protection import Shares

_LEVELS: dict[Assurance, str] = {
    "observed": "observation",
    "controls": "controls",
    "report_only": "report only",
}


def check(
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="Environments or packs by name, or PATH.jsonl. Default: bundled Python tasks.",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often each side is graded.")] = 3,
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> None:
    """Prove for every task that the gold patch grades 1 and no work at all 0, each time.

    A task that does not hold is quarantined, with the reason; one that holds again is released.
    The exit status is 1 where any does not hold.
    """
    from codegym import authoring
    from codegym.cli.steps import Steps
    from codegym.loop import open_setting
    from codegym.tasks import Joined, sources

    names: Sequence[str | None] = source or [None]
    found = [sources.resolve(name) for name in names]
    parts = [part for one in found for part in (one.parts if isinstance(one, Joined) else [one])]
    tasks = found[0] if len(found) == 1 else Joined("the sources named", parts)

    async def prove() -> CheckReport:
        with Steps() as steps:
            async with open_setting(sandbox, steps.note) as setting:
                return await authoring.check(tasks, setting, repeats, steps)

    report = asyncio.run(prove())
    if json:
        print_json(
            {
                "source": report.source,
                "holds": report.holds,
                "repeats": report.repeats,
                "tasks": report.tasks,
                "fallen": [each.task_id for each in report.fallen],
                "released": report.released,
                "protection": report.shares,
                "protection_of_parts": report.shares_of_parts,
                "seconds": report.seconds,
            }
        )
    else:
        _print(report)
    if not report.holds:
        raise typer.Exit(1)


def _print(report: CheckReport) -> None:
    out = console()
    for each in report.fallen:
        out.print(f"{safe(each.task_id)}: {safe(each.problem)}", style="red", soft_wrap=True)
    for task_id in report.released:
        out.print(f"{safe(task_id)}: holds again, released from quarantine", style="green")
    holding = len(report.tasks) - len(report.fallen)
    out.print(
        f"{holding} of {len(report.tasks)} tasks hold: gold 1 and nothing 0, "
        f"{report.repeats} times each, in {report.seconds:.1f} s"
    )
    _print_protection(out, report)
    for folder in report.unwritten:
        said = f"{folder} cannot be written to, so nothing is quarantined there"
        out.print(said, style="yellow", soft_wrap=True)


def _said(found: Shares) -> dict[str, str]:
    """What protects grades, in words."""
    from codegym.authoring.protection import SMALL_BOUND

    graded = {
        f"failing tests graded by {how}": f"{found.tests.get(level, 0):.0%}"
        for level, how in _LEVELS.items()
    }
    return {
        "tasks": str(found.tasks),
        "their failing tests": str(found.fail_to_pass),
        **graded,
        "tasks with held-out siblings that take new answers": f"{found.siblings:.0%}",
        "with such that take shown answers only": f"{found.familiar:.0%}",
        "tasks that a table of inputs may pass": f"{found.hard_codable:.0%}",
        "median chance to guess the values": f"{found.forging_bound:.2g}",
        f"tasks where it is {SMALL_BOUND:g} or less": f"{found.small_bound:.0%}",
        "failures seen by assertion and observation": str(found.failing),
        "by assertion only": str(found.assertion_only),
        "by observation only": str(found.observation_only),
    }


def _print_protection(out: Console, report: CheckReport) -> None:
    from rich.table import Table

    found = report.shares
    if not found.tasks:
        return
    parts = report.shares_of_parts if len(report.shares_of_parts) > 1 else {}
    columns = {**parts, "all": found}
    table = Table(box=None, pad_edge=False, show_header=bool(parts))
    table.add_column()
    for name in columns:
        table.add_column(safe(name), justify="right" if parts else "left")
    texts = [_said(one) for one in columns.values()]
    for label in texts[0]:
        table.add_row(label, *(text[label] for text in texts))
    out.print(table)
    notes = Counter(n for task in report.tasks if task.protection for n in task.protection.notes)
    for note, count in notes.most_common():
        said = f"{count} tasks are graded by the runner's report only: {note}"
        out.print(safe(said), style="yellow", soft_wrap=True)
    for each in report.tasks:
        for ids, how in (
            (each.protection.assertion_only if each.protection else (), "assertion"),
            (each.protection.observation_only if each.protection else (), "observation"),
        ):
            for test_id in ids:
                said = f"{each.task_id}: {test_id} fails by {how} only"
                out.print(safe(said), style="yellow", soft_wrap=True)
