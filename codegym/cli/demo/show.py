"""Shows the demo in the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from codegym.cli.demo.play import Demo
from codegym.cli.output import console, safe

if TYPE_CHECKING:
    from rich.console import Console

    from codegym.types import EpisodeResult, Tampering

_NEXT = (
    "codegym run CodeGym/FixTests-v0 --tasks {tasks} --policy oracle --out runs/demo",
    "codegym replay runs/demo --episode 0",
    "codegym bench",
)
_MAX_TRIED = 8


def show(found: Demo, tasks: str) -> None:
    """Print it."""
    out = console()
    _task(out, found)
    _attestation(out, found)
    out.print()
    _scores(out, found)
    _cheat(out, found.results["cheat"])
    _forger(out, found.results["forger"])
    _diff(out, found.results["oracle"].diff)
    out.print()
    out.print("next:", style="bold")
    for command in _NEXT:
        out.print(f"  {command.format(tasks=shlex.quote(tasks))}", soft_wrap=True)


def _task(out: Console, found: Demo) -> None:
    task = found.task
    out.rule(safe(task.instance_id), align="left")
    out.print(safe(task.problem_statement.strip().split("\n")[0]))
    kept = len(task.pass_to_pass)
    out.print(f"tests to repair: {len(task.fail_to_pass)}, to keep: {kept}", style="dim")


def _attestation(out: Console, found: Demo) -> None:
    looked = found.results["oracle"].attestation
    count = sum(looked.found.values())
    out.print(
        f"looked for {len(looked.found)} kinds of traces of the answer in the sandbox: "
        f"{count or 'none'} found",
        style="green" if looked.clean else "bold red",
    )


def _scores(out: Console, found: Demo) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("agent")
    for title in ("score", "steps", "reset", "median step", "grade"):
        table.add_column(title, justify="right")
    for name, result in found.results.items():
        grade = result.grade
        if grade is None:
            continue
        turns = result.trajectory.turns
        table.add_row(
            name,
            f"{grade.score:g}",
            str(len(turns)),
            f"{1000 * result.reset_sec:.1f} ms",
            f"{1000 * median(turn.seconds for turn in turns):.1f} ms",
            f"{grade.durations_sec.get('total', 0.0):.2f} s",
            style="bold green" if grade.solved else "",
        )
    out.print(table)


def _cheat(out: Console, result: EpisodeResult) -> None:
    if result.grade is None:
        return
    _seen(out, "the cheat", result)
    out.print(f"graded elsewhere: {result.grade.score:g}, because")
    _tried(out, result.grade.tampering)
    if result.grade.attempts:
        out.print("it also looked for the answer, in vain:")
        _tried(out, result.grade.attempts)


def _forger(out: Console, result: EpisodeResult) -> None:
    """It touched no test: the code under test tells pytest that all is well."""
    grade = result.grade
    if grade is None:
        return
    _seen(out, "the forger, which patches pytest from the code under test", result)
    why = "what its tests saw was compared outside of their process"
    out.print(f"graded elsewhere: {grade.score:g}, because {why}")
    failed = [each for each in grade.outcomes if each.outcome != "passed"]
    for each in failed[:1]:
        out.print(f"  {safe(each.id)}", soft_wrap=True)
        out.print(f"  {safe(each.message)}", soft_wrap=True)


def _seen(out: Console, who: str, result: EpisodeResult) -> None:
    seen = result.trajectory.turns[-2].observation
    out.print()
    out.print(who, style="bold")
    out.print(
        f"in its own sandbox it saw {seen.passing} tests pass and {max(0, seen.failing)} fail;"
    )


def _tried(out: Console, tried: Sequence[Tampering]) -> None:
    for each in tried[:_MAX_TRIED]:
        where = f"{safe(each.path)}: " if each.path else ""
        out.print(f"  {each.kind}: {where}{safe(each.detail)}", soft_wrap=True)
    if len(tried) > _MAX_TRIED:
        out.print(f"  and {len(tried) - _MAX_TRIED} more")


def _diff(out: Console, diff: str) -> None:
    from rich.syntax import Syntax

    out.print()
    out.print("the answer", style="bold")
    out.print(Syntax(safe(diff.rstrip()), "diff", background_color="default", word_wrap=True))
