"""``codegym report``: what policies came to, with intervals and paired comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli.options import Json
from codegym.cli.output import console, plain, print_json, safe
from codegym.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from codegym.evaluation.report import PolicyReport, PolicyRun, Report

_COLUMNS = ("tasks", "solved", "95 %", "steps", "tokens", "sec")
#: Characters of a picture at most and at least, of a policy's name at most, and between columns.
_WIDTH, _LEAST, _NAME, _BETWEEN = 24, 6, 20, 3


def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR…", help="Folders of evaluations, or of runs.")
    ],
    json: Json = False,
) -> None:
    """Report on evaluations: rates with intervals, paired comparisons, faults apart.

    A rate is the mean over tasks. Its 95 % interval is Wilson's, or with several samples a task
    the bootstrap over tasks. Two policies are compared where they played the same tasks with the
    same seeds, by McNemar's exact test (with several samples, by flipping the signs of tasks'
    differences); all p-values of a report are corrected together (Holm).
    """
    from codegym.evaluation import open_evaluation, unplayed

    runs = [run for folder in folders for run in open_evaluation(folder)]
    names = [run.name for run in runs]
    for name in names:
        if names.count(name) > 1:
            told = f"the policy {name!r} is there twice; report on one of its folders at a time"
            raise UsageError(told)
    show(runs, as_json=json)
    for name in [name for folder in folders for name in unplayed(folder)]:
        told = f"{safe(name)}: nothing was played yet"
        console(stderr=True).print(told, style="yellow", soft_wrap=True)


def show(runs: Sequence[PolicyRun], *, as_json: bool) -> None:
    """Print what runs came to."""
    from codegym.evaluation import report_on

    found = report_on(runs)
    if as_json:
        print_json(to_json(found))
    else:
        _print(found)


def to_json(found: Report) -> dict[str, Any]:
    """As ``--json`` prints it: by policy."""
    return {name: plain(each) | _joined(each) for name, each in found.policies.items()}


def _joined(each: PolicyReport) -> dict[str, Any]:
    """Comparisons, each with its corrected p-value."""
    paired = {to: plain(one) | {"p_holm": each.p_holm[to]} for to, one in each.paired.items()}
    return {"paired": paired}


def _print(found: Report) -> None:
    from rich import box
    from rich.table import Table

    screen = console()
    rows = {safe(name): _row(each) for name, each in found.policies.items()}
    longest = min(max(map(len, rows)), _NAME)
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows.values(), strict=True)]
    wide = min(_WIDTH, screen.width - longest - sum(widths) - _BETWEEN * (len(widths) + 2))
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("policy", overflow="fold", min_width=longest)
    shown = len(_COLUMNS) + 1 if wide >= 0 else 3
    for name in [*_COLUMNS[:3], "", *_COLUMNS[3:]][:shown]:
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for (name, row), each in zip(rows.items(), found.policies.values(), strict=True):
        picture = _bar(each.solve_rate, each.ci95, wide)
        table.add_row(name, *[*row[:3], picture, *row[3:]][:shown])
    screen.print(table)
    for name, each in found.policies.items():
        _print_details(screen, name, each)
    _print_pairs(screen, found)


def _row(each: PolicyReport) -> tuple[str, ...]:
    low, high = each.ci95
    return (
        str(each.tasks),
        "-" if each.solve_rate is None else f"{each.solve_rate:.1%}",
        f"{low:.1%} to {high:.1%}",
        f"{each.steps:.1f}",
        f"{each.tokens:.0f}",
        f"{each.episode_sec:.2f}",
    )


def _bar(rate: float | None, ci95: tuple[float, float], wide: int) -> str:
    """An interval as a picture: from 0 on the left to 1 on the right. None where it is narrow."""
    if rate is None or wide < _LEAST:
        return ""
    low, middle, high = (round(value * (wide - 1)) for value in (ci95[0], rate, ci95[1]))
    marks = ["─" if low <= at <= high else "·" for at in range(wide)]
    marks[middle] = "●"
    return "".join(marks)


def _print_details(screen: Console, name: str, each: PolicyReport) -> None:
    """What a table has no room for: only what there is to say."""
    told = []
    if each.episodes < each.planned:
        told.append(f"{each.episodes} of {each.planned} episodes were played so far")
    if len(each.pass_at) > 1:
        told.append(", ".join(f"pass@{k} {value:.1%}" for k, value in each.pass_at.items()))
    levels = {level: rate for level, rate in each.assurance.items() if rate.solve_rate is not None}
    if levels:
        split = (f"{level} {rate.solved} of {rate.graded}" for level, rate in levels.items())
        told.append("by assurance: " + ", ".join(split))
    if each.hard_codable:
        told.append(f"{each.hard_codable} solved that a table of inputs may pass")
    if each.tampered:
        told.append(f"{each.tampered} tampered with something")
    told += _faults(each)
    if told:
        screen.print(safe(f"{name}: {'; '.join(told)}"), soft_wrap=True)


def _faults(each: PolicyReport) -> list[str]:
    counts = _counts(each.faults)
    if not counts or each.worst is None or each.best is None:
        return []
    return [f"not graded: {counts} (so {each.worst:.1%} at worst and {each.best:.1%} at best)"]


def _counts(faults: Mapping[str, int]) -> str:
    return ", ".join(f"{count} by the {who}" for who, count in faults.items() if count)


def _print_pairs(screen: Console, found: Report) -> None:
    done: set[frozenset[str]] = set()
    for name, each in found.policies.items():
        for other, one in each.paired.items():
            if frozenset((name, other)) in done:
                continue
            done.add(frozenset((name, other)))
            low, high = one.ci95
            screen.print(
                safe(
                    f"{name} against {other}: {100 * one.difference:+.1f} points "
                    f"({100 * low:+.1f} to {100 * high:+.1f}) on {one.tasks} tasks; alone solved "
                    f"{one.only_first} and {one.only_second}; p = {each.p_holm[other]:.2g} (Holm)"
                ),
                soft_wrap=True,
            )
        for other, reason in each.unpaired.items():
            if frozenset((name, other)) not in done:
                done.add(frozenset((name, other)))
                told = f"{name} and {other} are not compared: {reason}"
                screen.print(safe(told), style="yellow", soft_wrap=True)
