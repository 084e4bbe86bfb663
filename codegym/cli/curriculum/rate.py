"""``codegym curriculum rate``: difficulties from episodes that are played."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli import run_options as given
from codegym.cli.options import Json, Sandbox, TaskSourceName
from codegym.cli.output import console, counted, print_json, safe

if TYPE_CHECKING:
    from codegym.curriculum.ratings import Rating
    from codegym.curriculum.unseen import Unseen
    from codegym.runs import EpisodeRecord
    from codegym.tasks import TaskFile

_SHOWN = 10

Episodes = Annotated[int, typer.Option(min=1, help="Episodes of each task.")]
Out = Annotated[
    Path | None,
    typer.Option(
        help="The run's folder, resumed where it exists. Default: below ./.codegym/ratings/runs.",
        show_default=False,
    ),
]


def rate(
    policy: given.PolicyName,
    tasks: TaskSourceName = None,
    episodes: Episodes = 4,
    env_id: Annotated[str, typer.Option("--id", help="The env that is played.")] = (
        "CodeGym/Tasks-v0"
    ),
    out: Out = None,
    workers: given.Workers = 2,
    seed: given.Seed = 0,
    policy_option: given.PolicyOptions = None,
    base_url: given.BaseUrl = None,
    sandbox: Sandbox = "auto",
    max_steps: given.MaxSteps = 50,
    json: Json = False,
) -> None:
    """Play episodes and estimate each task's difficulty, with its uncertainty.

    What earlier policies did is kept and counts too. The ratings lie beside the tasks and
    change no row; a curriculum of these tasks begins with them. A stopped rating goes on when the
    same command is given again.
    """
    from codegym.cli.run import pairs, watched
    from codegym.envs.options import EpisodeOptions
    from codegym.loop import RunConfig
    from codegym.registration import kind_of
    from codegym.runs import open_run

    parts = _parts(tasks)
    folder = out or _default_folder(tasks, policy, episodes, seed)
    config = RunConfig(
        env_id=env_id,
        out=folder,
        policy=policy,
        tasks=tasks,
        workers=workers,
        samples=episodes,
        seed=seed,
        policy_options=pairs(policy_option or [], base_url),
        sandbox=sandbox,
        options=EpisodeOptions(kind=kind_of(env_id), max_steps=max_steps),
    )
    summary = watched(config)
    recorded = open_run(folder)
    name = f"{policy}@{recorded.pins.policy_version}"
    rated = [_rate_part(part, name, recorded.episodes()) for part in parts]
    predicted = _unseen(parts, rated)
    if json:
        print_json(_as_json(rated, folder, summary.faults, predicted))
    else:
        _print(rated, predicted)
    if summary.faults:
        raise typer.Exit(1)


def _parts(tasks: str | None) -> Sequence[TaskFile]:
    """The files of tasks; what is wrong with their ratings is told before anything is played."""
    from codegym.curriculum.ratings import ratings_file, read_ratings
    from codegym.tasks import Joined
    from codegym.tasks.sources import resolve

    source = resolve(tasks)
    parts = source.parts if isinstance(source, Joined) else (source,)
    for part in parts:
        read_ratings(ratings_file(part))
    return parts


def _default_folder(tasks: str | None, policy: str, episodes: int, seed: int) -> Path:
    words = (tasks or "bundled", policy, str(episodes), str(seed))
    name = "-".join(re.sub(r"[^A-Za-z0-9._]+", "-", word).strip("-") for word in words)
    return Path.cwd() / ".codegym" / "ratings" / "runs" / name


def _rate_part(
    part: TaskFile, policy: str, episodes: Iterable[EpisodeRecord]
) -> tuple[Path, list[Rating]]:
    """Rate one file of tasks, with all tries of it, old and new."""
    from codegym.curriculum.pool import slim
    from codegym.curriculum.ratings import rate, ratings_file, read_ratings, write_ratings

    path = ratings_file(part)
    tries = {name: dict(old.tries) for name, old in read_ratings(path).items()}
    new: dict[str, tuple[int, int]] = {}
    for each in episodes:
        if each.grade is not None and not each.fault:
            solved, total = new.get(each.task_id, (0, 0))
            new[each.task_id] = solved + each.grade.solved, total + 1
    for task_id, counts in new.items():
        tries.setdefault(task_id, {})[policy] = counts
    tasks = [slim(task) for task in part if task.instance_id in tries]
    ratings = rate(tasks, tries) if tasks else []
    write_ratings(path, ratings)
    return path, ratings


def _unseen(parts: Sequence[TaskFile], rated: list[tuple[Path, list[Rating]]]) -> Unseen:
    """How well success is predicted for tasks that were left out, from the others."""
    from codegym.curriculum.pool import slim
    from codegym.curriculum.unseen import unseen

    tries = {one.task_id: one.tries for _, each in rated for one in each}
    tasks = [slim(task) for part in parts for task in part if task.instance_id in tries]
    return unseen(tasks, tries)


def _as_json(
    rated: list[tuple[Path, list[Rating]]], run: Path, faults: int, predicted: Unseen
) -> dict[str, object]:
    from codegym.curriculum.ratings import agreement

    every = [rating for _, ratings in rated for rating in ratings]
    pairs = [
        {"policies": pair, "rank_correlation": value} for pair, value in agreement(every).items()
    ]
    files = [path for path, _ in rated]
    return {
        "ratings": every,
        "files": files,
        "agreement": pairs,
        "unseen": predicted,
        "run": run,
        "faults": faults,
    }


def _print(rated: list[tuple[Path, list[Rating]]], predicted: Unseen) -> None:
    from codegym.curriculum.ratings import agreement

    out = console()
    every = sorted((r for _, each in rated for r in each), key=lambda r: r.difficulty)
    shown = every if len(every) <= 2 * _SHOWN else [*every[:_SHOWN], *every[-_SHOWN:]]
    for rating in shown:
        solved = ", ".join(f"{s}/{n}" for s, n in rating.tries.values())
        out.print(
            f"{safe(rating.task_id):<28} difficulty {rating.difficulty:+.2f} "
            f"({rating.low:+.2f} to {rating.high:+.2f}), solved {solved}",
            soft_wrap=True,
        )
    if len(shown) < len(every):
        out.print(f"the {_SHOWN} easiest and hardest of {counted(len(every), 'task')}", style="dim")
    for (one, other), value in agreement(every).items():
        out.print(safe(f"{one} and {other} order them alike: rank correlation {value:.2f}"))
    if predicted.auc is not None and predicted.base is not None:
        told = f"success on tasks left out is predicted with an AUC of {predicted.auc:.2f}"
        out.print(f"{told}; by each policy's mean alone, {predicted.base:.2f}", soft_wrap=True)
    for path, _ in rated:
        out.print(safe(str(path)), style="dim", soft_wrap=True)
