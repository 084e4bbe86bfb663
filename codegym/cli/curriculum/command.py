"""``codegym curriculum``: which tasks a learner is given, and why."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli.curriculum import evolve, rate, stats
from codegym.cli.curriculum.options import SpecName, require_plot
from codegym.cli.options import Json
from codegym.cli.output import console, print_json, safe
from codegym.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from codegym.curriculum.simulation import Compared
    from codegym.types import TaskSampler

Seed = Annotated[int, typer.Option(min=0, help="Decides what is drawn.")]

app = typer.Typer(
    help="Choose which tasks a learner is given.", no_args_is_help=True, rich_markup_mode=None
)

app.command("rate")(rate.rate)
app.command("evolve")(evolve.evolve)
app.command("stats")(stats.stats)


@app.command()
def sample(
    spec: SpecName,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Tasks drawn.")] = 16,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Draw tasks as an env would, with what is expected of each; nothing is played."""
    import numpy as np

    from codegym.curriculum import open_curriculum

    curriculum = open_curriculum(spec)
    drawn = curriculum.draw(count, np.random.default_rng(seed))
    told = curriculum.expectations(drawn)
    if json:
        print_json({"digest": curriculum.digest, "tasks": told})
        return
    out = console()
    for each in told:
        out.print(
            f"{safe(each.task_id):<28} {each.chance:5.1%} expected ({each.low:.0%} to "
            f"{each.high:.0%}), {each.solved} of {each.episodes} solved",
            soft_wrap=True,
        )


@app.command()
def simulate(
    specs: Annotated[
        list[str], typer.Argument(metavar="SPEC...", help="Curricula whose samplers are compared.")
    ],
    learner: Annotated[
        str, typer.Option(help="irt, irt-success, irt-constant, or grpo: what learns, and how.")
    ] = "irt",
    seeds: Annotated[int, typer.Option(min=2, help="Worlds, the same for all samplers.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="The first of the seeds.")] = 0,
    labels: Annotated[
        float, typer.Option(min=0, max=1, help="Correlation of labelled and true difficulty.")
    ] = 0.35,
    pools: Annotated[str, typer.Option(help="easy, balanced, hard; separated by commas.")] = (
        "easy,balanced,hard"
    ),
    plot: Annotated[
        Path | None, typer.Option(help="Write a plot, NAME.svg.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Compare samplers on made-up tasks, with learners that get better.

    `ratio` is how many rollouts uniform drawing needs for the same success on tasks held out, by
    those that the sampler needs; every rollout counts, whatever it was for. Baselines are always
    played, too: uniform drawing, choosing categories only (sec), and knowing every chance (oracle).
    """
    from codegym.curriculum.simulation import LEARNERS, POOLS, Setup, compare

    require_plot(plot, ".svg")
    chosen = [name.strip() for name in pools.split(",")]
    for what, name, known in (
        ("learner", learner, LEARNERS),
        *(("pool", name, POOLS) for name in chosen),
    ):
        if name not in known:
            raise NotFoundError(what, name, known, f"there are: {', '.join(known)}")
    setup = Setup(learner, labels, range(seed, seed + seeds))
    samplers = _samplers(specs)
    results: list[Compared] = []
    screen = console(stderr=json)
    for result in compare(samplers, setup, chosen):
        results.append(result)
        low, high = result.ci95
        screen.print(
            f"{result.pool:<9} {_label(result, samplers):<17} {result.ratio:5.2f} times uniform "
            f"(95 % {low:.2f} to {high:.2f}), {result.rollouts:7.0f} rollouts, "
            f"{result.effective:.2f} of the groups informative",
            soft_wrap=True,
        )
    if plot is not None:
        title = f"Times uniform, {learner}, labels {labels:g}"
        plot.write_text(_plotted(title, results, samplers), encoding="utf-8")
    if json:
        found = {pool: {r.sampler: r for r in results if r.pool == pool} for pool in chosen}
        about = {"learner": learner, "labels": labels, "seeds": seeds, "first_seed": seed}
        print_json({**about, "pools": found})


def _label(result: Compared, asked: Collection[str]) -> str:
    """A sampler's name; says so where nobody asked for it."""
    return result.sampler if result.sampler in asked else f"{result.sampler}, baseline"


def _plotted(title: str, results: list[Compared], asked: Collection[str]) -> str:
    from codegym.cli.curriculum.plots import intervals

    groups = {
        r.pool: [(_label(o, asked), o.ratio, *o.ci95) for o in results if o.pool == r.pool]
        for r in results
    }
    return intervals(title, list(groups.items()), 1.0)


def _samplers(specs: list[str]) -> dict[str, Any]:
    """What makes each spec's sampler, by its name; by the spec's where that is taken."""
    from codegym.curriculum import Spec, load_spec
    from codegym.curriculum.samplers import load_sampler
    from codegym.curriculum.simulation.reference import REFERENCES

    def maker(spec: Spec) -> Any:
        def make(seed: int) -> TaskSampler:
            return load_sampler(spec.sampler, spec.options, seed=seed)

        make(0)  # what is wrong with it is told at once
        return make

    found: dict[str, Any] = {}
    for spec in map(load_spec, specs):
        label = spec.name if spec.sampler in found else spec.sampler
        if label in found or (label in REFERENCES and label != spec.sampler):
            raise UsageError(
                f"{spec.path}: name: another sampler is told of as {label!r}; rename it"
            )
        found[label] = maker(spec)
    return found
