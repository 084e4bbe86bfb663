"""Gathers what candidates came to: tasks, each with an effect of its own, and why others fell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate
from codegym.mutation.rows import draft, finished
from codegym.mutation.screening import Screen, effect_of
from codegym.mutation.statements import Detail, Secrets, statements, symptoms, told
from codegym.mutation.suspicion import suspects
from codegym.mutation.trial import Reason, Trial
from codegym.types import Task, Tree

#: So many tasks of one operator in one function are enough.
_MOST_ALIKE = 3


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
        trivial: How many tasks' failures all name the place of the fault; these have tier 0.
    """

    def __init__(
        self,
        tree: Tree,
        screen: Screen,
        seed: int,
        known: Sequence[Task],
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
        self._known = {task.instance_id for task in known}
        self._answers = {
            (task.patch, frozenset(task.fail_to_pass)): task.instance_id
            for task in known
            if "effect" not in task.provenance
        }
        self.tasks: list[Task] = []
        self.looked_at = 0
        self.funnel: Counter[Reason] = Counter()
        self.operators: dict[str, str] = {}
        self.trivial = 0
        self._alike: Counter[tuple[object, str]] = Counter()

    def unwanted(self, candidate: Candidate, failing: Sequence[str]) -> Reason | None:
        """Why one with these failing tests is no task beside those that there are by now.

        Args:
            candidate: It.
            failing: None where they are not known yet.
        """
        if self._alike[candidate.functions, candidate.operator] >= _MOST_ALIKE:
            return "enough"
        other = self._effects.get(effect_of(candidate, failing)) if failing else None
        own = other is None or other.endswith(candidate.digest[:10])
        return None if own else "same_effect"

    def take(self, candidate: Candidate, trial: Trial) -> bool:
        """Take one with what running it showed; whether it is a task."""
        self.looked_at += 1
        if trial.reason is not None:
            self.funnel[trial.reason] += 1
            return False
        if (reason := self.unwanted(candidate, trial.failing)) is not None:
            self.funnel[reason] += 1
            return False
        baseline, covering = self._screen.tests_for(candidate)
        plan = draft(candidate, baseline.ready)
        effect = effect_of(candidate, trial.failing)
        same = self._answers.get((plan.patch, frozenset(trial.failing)))  # of a commit, say
        self._effects[effect] = same or plan.instance_id
        if same is not None and plan.instance_id not in self._known:
            self.funnel["same_effect"] += 1
            return False
        self._alike[candidate.functions, candidate.operator] += 1
        if _is_told(candidate, trial.ends):
            candidate = replace(candidate, tier=0)
            self.trivial += 1
        self.operators |= candidate.operators
        task = finished(
            plan,
            candidate,
            failing=trial.failing,
            passing=trial.passing,
            effect=effect,
            seed=self._seed,
            numbers=_numbers(candidate, baseline, trial, len(covering)),
        )
        seen = symptoms(self._tree, candidate.source.language, trial)
        texts = statements(task, seen, Secrets.of(task, self._tree), self._seed)
        self.tasks.append(told(task, texts, self._detail))
        return True


def _numbers(
    candidate: Candidate, baseline: Baseline, trial: Trial, covering: int
) -> Mapping[str, int]:
    """What coverage says of how hard a fault is to find."""
    if baseline.coverage is None:
        return {"covering_tests": covering}
    found = suspects(candidate, baseline.coverage, trial.failing)
    return {"covering_tests": covering, "suspects": found}


def _is_told(candidate: Candidate, ends: Sequence[str]) -> bool:
    """Whether each failure was raised where an edit is; features that are gone do that anyway."""
    if candidate.kind != "FixTests":
        return False
    places: set[str] = set()
    for path, (parsed, edits) in candidate.files.items():
        moved = 0
        for edit in sorted(edits):
            first = parsed.source.count(b"\n", 0, edit.start) + 1 + moved
            lines = edit.replacement.count(b"\n")
            places.update(f"{path}:{line}" for line in range(first, first + lines + 1))
            moved += lines - parsed.source.count(b"\n", edit.start, edit.end)
    return bool(ends) and places.issuperset(ends)
