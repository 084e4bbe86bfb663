"""``codegym curriculum stats``: what a curriculum has learned, and how well it predicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli.curriculum.options import SpecName, require_plot
from codegym.cli.options import Json
from codegym.cli.output import console, print_json, safe

if TYPE_CHECKING:
    from codegym.curriculum import Curriculum
    from codegym.curriculum.calibration import Calibration
    from codegym.curriculum.source import Expectation

#: Success rates that count as the frontier.
_FRONTIER = (0.2, 0.8)
_WINDOW = 20


@dataclass(frozen=True, slots=True)
class Group:
    """The tasks of one category."""

    tasks: int
    tried: int
    episodes: int
    solved: int
    skill: float


@dataclass(frozen=True, slots=True)
class Stats:
    """What ``stats`` tells.

    Attributes:
        tasks: In the pool.
        tried: Of which an episode was observed.
        episodes: Observed.
        informative: Share of groups with some solved and some not, of those of two or more.
        frontier: Share of tasks with an expected success of .2 to .8.
        mastered: Share with one of .9 or more.
        policies: Episodes by policy version.
        categories: By name.
        calibration: How far expectations came true.
        sampler: What the sampler tells of itself.
        state: The file of outcomes.
    """

    tasks: int
    tried: int
    episodes: int
    informative: float | None
    frontier: float
    mastered: float
    policies: dict[str, int]
    categories: dict[str, Group]
    calibration: Calibration
    sampler: dict[str, float]
    state: Path


def stats(
    spec: SpecName,
    plot: Annotated[
        Path | None, typer.Option(help="Write a page of plots, NAME.html.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Show what a curriculum knows: difficulty, coverage, and how far it was right."""
    from codegym.curriculum import open_curriculum

    require_plot(plot, ".html")
    curriculum = open_curriculum(spec)
    curriculum.refresh()
    known = curriculum.expectations(curriculum.pool)
    found = _gather(curriculum, known)
    if plot is not None:
        plot.write_text(_page(curriculum, known, found), encoding="utf-8")
    if json:
        print_json({"name": curriculum.name, "digest": curriculum.digest, "stats": found})
        return
    _print(found)


def _gather(curriculum: Curriculum, known: list[Expectation]) -> Stats:
    from codegym.curriculum.calibration import calibrate
    from codegym.curriculum.features import category_of

    groups: dict[str, list[Expectation]] = {}
    for task, each in zip(curriculum.pool, known, strict=True):
        groups.setdefault(category_of(task, curriculum.spec.category), []).append(each)
    policies: Counter[str] = Counter()
    for outcome in curriculum.history:
        policies[outcome.policy] += outcome.episodes
    several = [outcome for outcome in curriculum.history if outcome.episodes > 1]
    low, high = _FRONTIER
    return Stats(
        tasks=len(known),
        tried=sum(each.episodes > 0 for each in known),
        episodes=sum(policies.values()),
        informative=sum(one.informative for one in several) / len(several) if several else None,
        frontier=sum(low <= each.chance <= high for each in known) / len(known),
        mastered=sum(each.chance >= 0.9 for each in known) / len(known),
        policies=dict(policies),
        categories={
            name: Group(
                tasks=len(each),
                tried=sum(one.episodes > 0 for one in each),
                episodes=sum(one.episodes for one in each),
                solved=sum(one.solved for one in each),
                skill=curriculum.model.skill.get(name, 0.0),
            )
            for name, each in sorted(groups.items())
        },
        calibration=calibrate(curriculum.history),
        sampler=curriculum.sampler.metrics(),
        state=curriculum.state_path,
    )


def _print(found: Stats) -> None:
    out = console()
    out.print(
        f"{found.tried} of {found.tasks} tasks tried, {found.episodes} episodes; success of .2 to "
        f".8 is expected of {found.frontier:.0%}, of .9 or more of {found.mastered:.0%}",
        soft_wrap=True,
    )
    if found.informative is not None:
        out.print(f"{found.informative:.0%} of the groups had some solved and some not")
    for name, group in found.categories.items():
        rate = f"{group.solved / group.episodes:.0%} solved" if group.episodes else "untried"
        out.print(
            f"  {safe(name):<20} {group.tried:>4} of {group.tasks} tried, {rate}, "
            f"skill {group.skill:+.2f}",
            soft_wrap=True,
        )
    seen = found.calibration
    if seen.brier is not None and seen.base is not None:
        auc = "" if seen.auc is None else f", AUC {seen.auc:.2f}"
        out.print(f"expected against seen: Brier {seen.brier:.3f} (the mean: {seen.base:.3f}){auc}")
    told = str(found.state) if found.state.exists() else "nothing recorded yet"
    out.print(safe(told), style="dim", soft_wrap=True)


def _page(curriculum: Curriculum, known: list[Expectation], found: Stats) -> str:
    from codegym.cli.curriculum import plots

    history, points = curriculum.history, []
    for end in range(1, len(history) + 1):
        recent = history[max(0, end - _WINDOW) : end]
        rate = sum(one.solved for one in recent) / sum(one.episodes for one in recent)
        points.append((end / len(history), rate))
    seen = [(each.expected, each.solved) for each in found.calibration.bins]
    covered = [
        (name, each.tried / each.tasks, each.tried / each.tasks, each.tried / each.tasks)
        for name, each in found.categories.items()
    ]
    made = [
        plots.histogram("Expected success of the tasks", [each.chance for each in known]),
        plots.intervals("Share of the tasks that was tried", [("", covered)], 1.0),
        plots.curve(f"Solved, of the last {_WINDOW} outcomes, from first to last", points),
        plots.curve("Solved (upwards) by what was expected", seen, diagonal=True),
    ]
    return plots.page(f"Curriculum {curriculum.name}", made)
