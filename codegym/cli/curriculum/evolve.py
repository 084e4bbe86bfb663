"""``codegym curriculum evolve``: new tasks from those at the frontier."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli.curriculum.options import SpecName
from codegym.cli.generate import Operators
from codegym.cli.options import Json, Sandbox
from codegym.cli.output import console, counted, print_json, safe
from codegym.errors import UsageError

if TYPE_CHECKING:
    from codegym.cli.steps import Steps
    from codegym.curriculum import Curriculum, Outcome
    from codegym.curriculum.evolution import Parent
    from codegym.grading.setting import Setting
    from codegym.mutation import Reason

#: Faults of a child: of one that is to be harder, several.
_ORDERS = range(1, 4)

Count = Annotated[int, typer.Option("--count", "-n", min=1, help="New tasks wanted.")]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="RUN",
        help="Go by the episodes of a run. Default: by what the curriculum has observed.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for the packs. Default: ./.codegym/packs, where they are known by name.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Evolved:
    """What became of one environment's parents.

    Attributes:
        environment: Its name.
        parents: How many there were.
        wanted: How many tasks they were to give.
        tasks: Ids of those that they gave.
        pack: Name of the pack that those are in.
        folder: Where it is.
        funnel: Why other edits around them became none, reason to count.
    """

    environment: str
    parents: int
    wanted: int
    tasks: list[str]
    pack: str
    folder: Path
    funnel: Mapping[Reason, int]


def evolve(
    spec: SpecName,
    count: Count = 20,
    run: From = None,
    operators: Operators = "all",
    seed: Annotated[int, typer.Option(min=0, help="Decides which tasks are taken.")] = 0,
    out: Out = None,
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> None:
    """Make new tasks where the learner is: other faults in the functions of tasks it was given.

    Most come from tasks that are sometimes solved; from tasks always solved come harder ones, from
    tasks never solved, rarely, milder ones; such tasks also come back told in less detail, or in
    more. Name the packs in the spec's `pool.tasks` to have them
    drawn; what was learned so far stays.
    """
    import numpy as np

    from codegym.cli.steps import Steps
    from codegym.curriculum import open_curriculum
    from codegym.curriculum.evolution import choose, parents
    from codegym.loop import open_setting

    curriculum = open_curriculum(spec)
    curriculum.refresh()
    seen = curriculum.history if run is None else _outcomes(run)
    known = parents(curriculum, seen, curriculum.spec.evolution)
    if not any(one.weight for one in known):
        raise UsageError(_no_parent(curriculum, run, len(known)))
    chosen = choose(known, np.random.default_rng(seed), count)

    async def make() -> list[Evolved]:
        with Steps() as steps:
            async with open_setting(sandbox, steps.note) as setting:
                wanted = _shares(count, [len(each) for each in chosen.values()])
                place = out or Path.cwd() / ".codegym" / "packs"
                return [
                    await _of_environment(
                        curriculum, name, each, share, setting, steps, place, operators, seed
                    )
                    for (name, each), share in zip(chosen.items(), wanted, strict=True)
                ]

    try:
        found = asyncio.run(make())
    except KeyboardInterrupt:
        console(stderr=True).print("stopped; the same command goes on from here")
        raise
    if json:
        print_json({"evolved": found, "tasks": sum(len(one.tasks) for one in found)})
    else:
        _print(curriculum, found)


def _no_parent(curriculum: Curriculum, run: Path | None, tried: int) -> str:
    name, path = curriculum.name, curriculum.spec.path
    if tried:
        return (
            f"{path}: evolution: none of the {tried} tasks that were tried may become a parent; "
            "raise a chance that is 0"
        )
    if run is not None:
        return f"{run} has no graded episode of a task of {name}; name a run of tasks in its pool"
    return (
        f"{name}: none of its tasks has been tried; train with it, or name a run of its tasks "
        "with --from"
    )


def _print(curriculum: Curriculum, found: Sequence[Evolved]) -> None:
    out, new = console(), []
    for one in found:
        of = f"{counted(one.parents, 'parent')} in {one.environment}"
        if len(one.tasks) < one.wanted:
            told = f"{of} gave {len(one.tasks)} of {counted(one.wanted, 'task')}: {_fallen(one)}"
            out.print(safe(told), style="yellow", soft_wrap=True)
        if not one.tasks:
            continue
        told = f"{counted(len(one.tasks), 'task')} of {of}: the pack {one.pack}, in {one.folder}"
        out.print(safe(told), soft_wrap=True)
        here = one.folder.parent == Path.cwd() / ".codegym" / "packs"
        new.append(one.pack if here else str(one.folder))
    if missing := [name for name in new if name not in curriculum.spec.tasks]:
        named = ", ".join(f'"{name}"' for name in (*curriculum.sources, *missing))
        told = f"to have them drawn, say in [pool] of {curriculum.spec.path}: tasks = [{named}]"
        out.print(safe(told), style="dim", soft_wrap=True)


def _fallen(one: Evolved) -> str:
    """Why there were no more, in words."""
    from codegym.mutation import REASONS

    fallen = (f"{count} {REASONS[why]}" for why, count in one.funnel.items())
    return f"no other edit around them makes a new task ({'; '.join(fallen) or 'none is left'})"


async def _of_environment(
    curriculum: Curriculum,
    name: str,
    chosen: Sequence[Parent],
    count: int,
    setting: Setting,
    steps: Steps,
    place: Path,
    operators: str,
    seed: int,
) -> Evolved:
    from codegym import mutation
    from codegym.curriculum.evolution import adopted, around, knobs_turned, near
    from codegym.tasks import sources

    home = sources.environment(name)
    folder = mutation.place_for(home, place / f"{name}-evolved")
    named = [] if operators == "all" else [one.strip() for one in operators.split(",")]
    held = mutation.tasks_in(folder, home)
    there = [*held, *(task for task in curriculum if task.environment == name)]
    ids = {task.instance_id for task in there}
    # Turning a knob is free, and finds nothing new in the code: at most half of what is wanted.
    turned = knobs_turned(curriculum, chosen, ids)[: count // 2]
    made = await mutation.generate(
        home,
        setting,
        mutation.load_operators(named, home.language, ("FixTests",)),
        count=count - len(turned),
        seed=seed,
        known=there,
        only=around(chosen),
        joining=mutation.Joining(
            mutation.load_composites((), ("FixTests",)), _ORDERS, wanted=near(chosen)
        ),
        progress=steps,
    )
    new = [*adopted(made.tasks, chosen, ids), *turned]
    if new:
        mutation.pack(folder, home, replace(made, tasks=tuple(new)))
    names = [task.instance_id for task in new]
    return Evolved(name, len(chosen), count, names, folder.name, folder, made.funnel)


def _outcomes(run: Path) -> list[Outcome]:
    """What a run's episodes came to, one by one."""
    from codegym.curriculum import Outcome
    from codegym.runs import open_run

    recorded = open_run(run)
    version = recorded.pins.policy_version
    return [
        Outcome(each.task_id, int(each.grade.solved), 1, version)
        for each in recorded.episodes()
        if each.grade is not None and not each.fault
    ]


def _shares(count: int, parents: list[int]) -> list[int]:
    """How many tasks each environment is to give: in proportion to its parents, at least one."""
    return [max(1, round(count * each / sum(parents))) for each in parents]
