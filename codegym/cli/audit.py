"""``codegym audit``: does anything in a sandbox give an answer away?"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli.options import Json, Sandbox
from codegym.cli.output import console, counted, print_json, safe

if TYPE_CHECKING:
    from codegym.redteam.audit import AuditReport, Leak

_MAX_SHOWN = 50


def audit(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE]",
            help="An environment or pack by name, or PATH.jsonl. Default: bundled Python tasks.",
            show_default=False,
        ),
    ] = None,
    tasks: Annotated[
        int | None,
        typer.Option("--tasks", min=1, help="Only so many tasks, evenly chosen. Default: all."),
    ] = None,
    marker: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Text that must not be found either; repeatable."),
    ] = None,
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> None:
    """Read every byte that an agent could read, and look for answers in it.

    Files, git objects, archives, bytecode, other encodings and processes are searched for a marker
    planted in the gold patch, gold lines, hidden tests, deleted symbols and rows, of all tasks of
    the source. The exit status is 1 where anything is found.
    """
    from codegym.cli.steps import Steps
    from codegym.errors import UsageError
    from codegym.loop import open_setting
    from codegym.redteam import audit as auditing
    from codegym.tasks import sources

    rows = sources.resolve(source)
    if any(len(text.encode()) < 8 for text in marker or ()):
        raise UsageError("--marker: shorter than 8 bytes is found everywhere; give more of it")

    async def look() -> AuditReport:
        with Steps() as steps:
            async with open_setting(sandbox, steps.note) as setting:
                return await auditing.audit(
                    rows, setting, limit=tasks, markers=marker or (), progress=steps
                )

    report = asyncio.run(look())
    if json:
        print_json(_as_json(report))
    else:
        _print(report)
    if not report.clean:
        raise typer.Exit(1)


def _as_json(report: AuditReport) -> dict[str, Any]:
    return {
        "clean": report.clean,
        "tasks": report.tasks,
        "needles": report.needles,
        "files": report.files,
        "distinct": report.distinct,
        "bytes": report.size,
        "leaks": report.leaks,
        "unread": report.unread,
        "seconds": report.seconds,
    }


def _print(report: AuditReport) -> None:
    out = console()
    for leak in report.leaks[:_MAX_SHOWN]:
        out.print(safe(_line(leak)), style="red", soft_wrap=True)
    if len(report.leaks) > _MAX_SHOWN:
        out.print(f"… and {len(report.leaks) - _MAX_SHOWN} more: --json has all", style="red")
    for one in report.unread[:_MAX_SHOWN]:
        out.print(safe(f"not read: {one}"), style="yellow", soft_wrap=True)
    out.print(
        f"{counted(len(report.leaks), 'leak')} in the sandboxes of "
        f"{counted(len(report.tasks), 'task')}: {counted(report.needles, 'trace')} looked for in "
        f"{counted(report.files, 'file')} ({report.size / 1e6:.0f} MB of distinct content), "
        f"{report.seconds:.1f} s"
    )


def _line(leak: Leak) -> str:
    if not leak.path:
        return f"{leak.task_id}: {leak.text}"
    place = f"line {leak.line}, byte {leak.offset}" if leak.line else ""
    inside = ", ".join(part for part in (leak.how, place) if part)
    whose = "" if leak.owner in ("", leak.task_id) else f" of {leak.owner}"
    return f"{leak.task_id}: {leak.path} ({inside}): {leak.kind}{whose}: {leak.text}"
