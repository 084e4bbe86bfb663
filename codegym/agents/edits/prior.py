"""Which edits repair: a prior over operators and replacements, counted on tasks with answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from codegym.agents.edits.choices import choices
from codegym.agents.edits.context import texts
from codegym.mutation.candidates import Candidate, sources
from codegym.tasks.sources import environment
from codegym.types import Task, Tree
from codegym.workspace.trees import trees_of

#: How many edits the operator's own rate counts for, beside those of the very same replacement.
_BACKOFF = 20.0
_MANY = 100_000


@dataclass
class Prior:
    """How often an edit was the answer, of how often it was there to be chosen.

    Attributes:
        answers: By operator, and by operator with what goes and what comes.
        seen: Likewise, all edits of the files that the answers change.
    """

    answers: Counter[object] = field(default_factory=Counter)
    seen: Counter[object] = field(default_factory=Counter)

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> Prior:
        """Count. Looks at answers: never give it a task that a policy is measured on."""
        prior = cls()
        for task in tasks:
            start, _, gold = trees_of(task, environment(task.environment))
            for one in _edits(task, start, gold):
                keys = (one.operator, (one.operator, *texts(one)))
                prior.seen.update(keys)
                if gold[one.path].data == one.mutant:
                    prior.answers.update(keys)
        return prior

    def score(self, edit: Candidate) -> float:
        """How likely it is the answer, 0 to 1, where nothing else is known."""
        operator, exact = edit.operator, (edit.operator, *texts(edit))
        rate = (self.answers[operator] + 0.5) / (self.seen[operator] + 100.0)
        return (self.answers[exact] + _BACKOFF * rate) / (self.seen[exact] + _BACKOFF)

    def best(self, edits: Sequence[Candidate], tried: Iterable[int] = ()) -> int:
        """The likeliest edit that was not tried; the first of those that are alike."""
        left = sorted(set(range(len(edits))) - set(tried))
        return max(left, key=lambda place: (self.score(edits[place]), -place))


def is_answer(task: Task, edit: Candidate) -> bool:
    """Whether an edit makes the gold tree, byte by byte."""
    start, _, gold = trees_of(task, environment(task.environment))
    return set(_changed(start, gold)) == {edit.path} and gold[edit.path].data == edit.mutant


def _edits(task: Task, start: Tree, gold: Tree) -> Sequence[Candidate]:
    """All edits of the file that the answer changes; none where it changes several."""
    changed = _changed(start, gold)
    if len(changed) != 1:
        return ()
    only = {path: start[path] for path in changed if path in start and path in gold}
    return choices(sources(environment(task.environment), only), {}, _MANY)


def _changed(start: Tree, gold: Tree) -> list[str]:
    return sorted(p for p in {*start, *gold} if start.get(p) != gold.get(p))
