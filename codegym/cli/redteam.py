"""``codegym redteam``: every known way to a score without a solution, tried on your tasks."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli import INTERRUPTED
from codegym.cli.options import Json, TaskSourceName
from codegym.cli.output import console, counted, print_json, safe
from codegym.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from codegym.redteam import Attack, Report

#: The page's name in the folder that ``--out`` names.
PAGE = "redteam.html"


def redteam(
    tasks: TaskSourceName = None,
    attack: Annotated[
        list[str] | None,
        typer.Option("--attack", metavar="NAME", help="Only this attack; may be repeated."),
    ] = None,
    backend: Annotated[
        str,
        typer.Option(
            "--backend", "--sandbox", help="Backend: auto, bubblewrap, a plug-in, or module:attr."
        ),
    ] = "auto",
    max_tasks: Annotated[
        int,
        typer.Option(min=0, help="Attack so many tasks of each environment; 0 for all of them."),
    ] = 1,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Attacks at once.")] = 2,
    network: Annotated[
        str, typer.Option(metavar="POLICY", help="What the sandboxes may reach: a policy.")
    ] = "none",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help=f"Write the report there, as {PAGE}."),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="Print the attacks, and play none.")] = False,
    json: Json = False,
) -> None:
    """Attack tasks in every known way; each attack must fail.

    The exit status is 1 where any attack got through, where an honest solution was graded below 1,
    or where an attack could not be played to an end. What was done is told also when it is stopped.
    """
    from codegym.redteam import catalogue
    from codegym.registration import resolve

    attacks = catalogue(attack or ())
    if show:
        _list(attacks, as_json=json)
        return
    page = _page(out)
    source = resolve(tasks)
    report, stopped = _played(list(source), attacks, backend, network, max_tasks, workers)
    if page is not None:
        from codegym.redteam.page import render

        page.write_text(render(report, f"{tasks or 'the bundled tasks'}"), encoding="utf-8")
    if json:
        print_json(as_json(report))
    else:
        _print(report, page)
    if stopped:
        raise typer.Exit(INTERRUPTED)
    if report.succeeded or report.faults or report.false_positives or report.ungraded:
        raise typer.Exit(1)


def _page(out: Path | None) -> Path | None:
    """Where the page is to be; told now, not after the run, where it cannot be."""
    if out is None:
        return None
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / PAGE).open("a").close()
    except FileExistsError:
        raise UsageError(f"--out {out} is a file, where a folder is wanted") from None
    except OSError as error:
        raise UnavailableError(
            f"--out {out}: {error.strerror}", "Choose a folder that can be written to."
        ) from error
    return out / PAGE


def _played(
    tasks: list[Any],
    attacks: list[Attack],
    backend: str,
    network: str,
    max_tasks: int,
    workers: int,
) -> tuple[Report, bool]:
    """Play them; returns what is known, and whether it was stopped."""
    from codegym.cli.redteam_watch import Watch
    from codegym.redteam import Arena, Report
    from codegym.redteam.choosing import attack_all, choose
    from codegym.redteam.play import OPTIONS

    victims = choose(tasks, max_tasks)
    options = replace(OPTIONS, network=network)
    made: list[Arena] = []
    with Watch(len(attacks) * len(victims)) as watch:

        def enter(setting: Any, canary: Path) -> Arena:
            arena = Arena(setting, canary, workers=workers, told=watch.told, options=options)
            made.append(arena)
            return made[0]

        try:
            asyncio.run(attack_all(enter, attacks, victims, sandbox=backend, note=watch.note))
        except KeyboardInterrupt:
            return (made[0].report if made else Report()), True
    return made[0].report, False


def _list(attacks: list[Attack], *, as_json: bool) -> None:
    rows = [
        {"name": a.name, "class": a.family, "mechanism": a.mechanism, "source": a.source}
        for a in attacks
    ]
    if as_json:
        print_json({"attacks": rows, "total": len(rows)})
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        sys.stdout.write(f"{row['name']:{width}}  {row['class']:9}  {row['mechanism']}\n")


def as_json(report: Report) -> dict[str, Any]:
    """The report as ``--json`` prints it."""
    return {
        "attacks": [
            {
                "name": each.attack.name,
                "class": each.attack.family,
                "outcome": each.outcome,
                "evidence": each.evidence,
                "mechanism": each.attack.mechanism,
                "source": each.attack.source,
                "task": each.task_id,
                "tasks": each.tasks,
                "seconds": each.seconds,
            }
            for each in report.verdicts
        ],
        "total": len(report.verdicts),
        "succeeded": len(report.succeeded),
        "false_positives": len(report.false_positives),
        "controls": report.controls,
        "faults": [_left_out(each) for each in report.faults],
        "inapplicable": [_left_out(each) for each in report.inapplicable],
        "complete": report.complete,
        "seconds": report.seconds,
    }


def _left_out(result: Any) -> dict[str, str]:
    return {"name": result.attack.name, "task": result.task_id, "problem": result.problem}


def _print(report: Report, page: Path | None) -> None:
    from rich.table import Table

    out = console()
    table = Table("attack", "class", "what stopped it", "evidence", box=None, pad_edge=False)
    for each in report.verdicts:
        evidence = " ".join(safe(each.evidence).split())
        table.add_row(
            each.attack.name,
            each.attack.family,
            each.outcome,
            evidence if len(evidence) <= 200 else f"{evidence[:200]}…",
            style="bold red" if each.outcome == "succeeded" else "",
        )
    if report.verdicts:
        out.print(table)
    for result in report.faults:
        said = f"{result.attack.name}: not played to an end: {safe(result.problem)}"
        out.print(said, style="yellow", soft_wrap=True)
    for control in report.false_positives:
        said = f"{control.task_id}: an honest solution scored {control.score:g}: {control.text}"
        out.print(safe(said), style="red", soft_wrap=True)
    for control in report.ungraded:
        said = f"{control.task_id}: an honest solution came to no grade: {control.text}"
        out.print(safe(said), style="yellow", soft_wrap=True)
    got, total = len(report.succeeded), len(report.verdicts)
    told, style = "no attack was played to its end: nothing is known", "yellow"
    if total:
        told = f"{got} of {counted(total, 'attack')} got through"
        style = "bold red" if got else "bold green"
    honest = counted(len(report.controls), "honest solution")
    out.print(
        f"{told}; {len(report.false_positives)} of {honest} graded below 1; {report.seconds:.1f} s",
        style=style,
    )
    if not report.complete:
        out.print("stopped before its end", style="yellow")
    if page is not None:
        out.print(str(page), soft_wrap=True)
