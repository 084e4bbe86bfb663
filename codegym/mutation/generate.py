"""Makes tasks of an environment by mutation."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from codegym.grading.progress import SILENT, Progress
from codegym.grading.setting import Setting
from codegym.grading.trials import workers as cores
from codegym.mutation.candidates import Candidate, draw
from codegym.mutation.composites import SINGLE, Joining, Rounds
from codegym.mutation.confirm import at_once
from codegym.mutation.gathering import Gathering
from codegym.mutation.operators import Operator
from codegym.mutation.outset import Outset, outset
from codegym.mutation.statements import Detail
from codegym.mutation.switched import can_switch
from codegym.mutation.trial import ALIKE, UNFIT, Reason, Trial
from codegym.mutation.trying import Confirmed, Trying
from codegym.mutation.warm.session import Warmth
from codegym.mutation.warm.stage import Counts, Stage
from codegym.store import LayerStore
from codegym.tasks import Environment
from codegym.types import Task


@dataclass(frozen=True, slots=True)
class Generated:
    """What became of an environment's candidates.

    Attributes:
        tasks: In the order that they were drawn in.
        candidates: How many were looked at.
        found: How many there are in all.
        funnel: Why the others fell; with ``tasks`` it adds up to ``candidates``.
        unread: Files that no edit was looked for in: the grammar does not know their syntax.
        left_out: Tests that no task asks for although they may pass, to the reason.
        operators: Version of each operator that made a task.
        seconds: Wall time of all of it.
        trivial: Of the tasks, those of tier 0: each failure names the place of the fault.
        fast: What the fast stage did.
        confirmed: What the cold stage did.
        warmths: How each suite bears to be run in forked processes, of those that would be.
    """

    tasks: tuple[Task, ...]
    candidates: int
    found: int
    funnel: Mapping[Reason, int]
    unread: Sequence[str]
    left_out: Mapping[str, str]
    operators: Mapping[str, str]
    seconds: float
    trivial: int
    fast: Counts
    confirmed: Confirmed
    warmths: Mapping[str, Warmth]

    @property
    def covered(self) -> int:
        """How many were worth running: programs that differ, and that tests run."""
        return self.candidates - sum(self.funnel.get(one, 0) for one in UNFIT)

    @property
    def faults(self) -> int:
        """How many are faults that tests show, those too that were one too many of their kind."""
        return len(self.tasks) + sum(self.funnel.get(one, 0) for one in ALIKE)


async def generate(
    environment: Environment,
    setting: Setting,
    operators: Sequence[Operator],
    *,
    count: int,
    seed: int = 0,
    workers: int = 0,
    known: Sequence[Task] = (),
    only: Callable[[Candidate], bool] | None = None,
    joining: Joining = SINGLE,
    detail: Detail = "medium",
    progress: Progress = SILENT,
    store: LayerStore | None = None,
) -> Generated:
    """Make tasks until there are ``count``, or no candidate is left.

    The same environment, operators, seed and ``known`` give the same, however many run at once.

    Args:
        environment: Its newest commit is mutated.
        setting: Runs candidates.
        operators: What edits are looked for.
        count: How many tasks are wanted.
        seed: Decides the order in which candidates are drawn.
        workers: Candidates run at once; 0 for as many as there are cores.
        known: Tasks that are there already: none with the effect of one of these is made.
        only: Which candidates are looked at; None: all.
        joining: How several edits are joined, and how many faults a task may have.
        detail: How much statements say.
        progress: Told how far it is.
        store: Keeps what runs showed.

    Raises:
        NotFoundError: There is no such language.
        UsageError: There is nothing to mutate, a suite does not pass, or its runner is of another
            language.
        SandboxError: The infrastructure broke, more than once.
        DataError: The environment is broken.
        UnavailableError: This machine lacks something.
    """
    began, kept, busy = time.perf_counter(), store or LayerStore(), workers or cores()
    found = await outset(environment, setting, operators, seed, only, progress, kept)
    tree, files, baselines, screen = found.tree, found.files, found.baselines, found.screen
    gathering = Gathering(tree, screen, seed, known, detail)
    stage, parts = (
        Stage(setting, one, found.warmths, kept, busy, progress) for one in (screen, screen.anew())
    )
    cold = at_once(found.warmths.values(), busy)
    trying = Trying(setting, screen, stage, kept, cold, gathering.unwanted)
    ground = joining.ground(environment, tree, files, baselines, seed)
    rounds = Rounds(trying, parts, ground, joining)
    progress.begin(f"tasks of {environment.name}", count)
    async with aclosing(rounds.in_order(draw(found.candidates, seed))) as tried:
        async for candidate, trial in tried:
            _tell(progress, candidate, trial, taken=gathering.take(candidate, trial))
            if len(gathering.tasks) >= count:
                break
    made = _generated(found, gathering, stage, trying)
    return replace(made, seconds=time.perf_counter() - began)


def _generated(found: Outset, gathering: Gathering, stage: Stage, trying: Trying) -> Generated:
    """All that is known at the end, but for how long it took."""
    left_out = (one.left_out.items() for one in found.baselines)
    return Generated(
        tasks=tuple(gathering.tasks),
        candidates=gathering.looked_at,
        found=len(found.candidates),
        funnel=dict(gathering.funnel.most_common()),
        unread=found.unread,
        left_out={test: why for each in left_out for test, why in each},
        operators=dict(sorted(gathering.operators.items())),
        seconds=0.0,
        trivial=gathering.trivial,
        fast=stage.counts,
        confirmed=trying.confirmed,
        warmths={
            one.suite.name: found.warmths[one.suite.name]
            for one in found.baselines
            if not can_switch(one)
        },
    )


def _tell(progress: Progress, candidate: Candidate, trial: Trial, *, taken: bool) -> None:
    if taken:
        progress.advance(f"{candidate.operator.rpartition('.')[2]} in {candidate.path}")
    else:
        progress.note(f"{candidate.path}: {trial.reason or 'same_effect'}")
