"""Gathers what candidates came to: tasks, each with an effect of its own, and why others fell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from codegym.mutation.candidates import Candidate
from codegym.mutation.rows import draft, finished
from codegym.mutation.screening import Screen, effect_of
from codegym.mutation.statements import Detail, Secrets, statements, symptoms, told
from codegym.mutation.trial import Reason, Trial
from codegym.types import Task, Tree


class Gathering:
    """Takes candidates in order.

    Args:
        tree: The repository.
        screen: Says which suite an edit was tried with, and which tests run it.
        seed: Recorded in each task.
        known: Tasks that are there already.
        detail: How much their statements say.

    Attributes:
        tasks: What was made.
        looked_at: How many were taken.
        funnel: Why the others fell.
        operators: Version of each operator that made a task.
    """

    def __init__(
        self,
        tree: Tree,
        screen: Screen,
        seed: int,
        known: Iterable[Task],
        detail: Detail = "medium",
    ) -> None:
        self._tree = tree
        self._screen = screen
        self._seed = seed
        self._detail = detail
        self._effects = {
            effect: task.instance_id
            for task in known
            if (effect := task.provenance.get("effect")) is not None
        }
        self.tasks: list[Task] = []
        self.looked_at = 0
        self.funnel: Counter[Reason] = Counter()
        self.operators: dict[str, str] = {}

    def take(self, candidate: Candidate, trial: Trial) -> bool:
        """Take one with what running it showed; whether it is a task."""
        self.looked_at += 1
        if trial.reason is not None:
            self.funnel[trial.reason] += 1
            return False
        baseline, covering = self._screen.tests_for(candidate)
        plan = draft(candidate, baseline.ready)
        effect = effect_of(candidate, trial.effect)
        if self._effects.setdefault(effect, plan.instance_id) != plan.instance_id:
            self.funnel["same_effect"] += 1
            return False
        self.operators |= candidate.operators
        task = finished(
            plan,
            candidate,
            failing=trial.failing,
            passing=trial.passing,
            effect=effect,
            seed=self._seed,
            covering=len(covering),
        )
        seen = symptoms(self._tree, candidate.source.language, trial)
        texts = statements(task, seen, Secrets.of(task, self._tree), self._seed)
        self.tasks.append(told(task, texts, self._detail))
        return True
