"""Where a policy left off without solving its task, another one begins."""

from __future__ import annotations

from collections.abc import Iterator

from codegym.errors import TaskError
from codegym.mutation.candidates import Candidate
from codegym.mutation.composites.base import Attempt, Ground, Unconditional
from codegym.mutation.composites.lines import MOST_LINES, spots
from codegym.types import Kind
from codegym.workspace.patch import apply_patch


class Failed(Unconditional):
    """A task's start with a patch that did not solve it: two things are to be seen through."""

    id, version, tier = "composite.failed", "1", 5
    kind: Kind = "FixTests"
    of_singles = False
    says = "A policy's patch that did not solve a task is what the next one starts from."

    def propose(self, ground: Ground) -> Iterator[Candidate]:
        """One for each attempt that left the sources otherwise than the solution does."""
        for one in ground.attempts:
            if (made := self._made(ground, one)) is not None:
                yield made

    def _made(self, ground: Ground, attempt: Attempt) -> Candidate | None:
        task = attempt.task
        if task.base_commit != ground.environment.head or task.test_patch:
            return None  # its code is not today's, or its tests are not
        try:
            start = apply_patch(ground.tree, task.start_patch, where=task.instance_id)
        except TaskError:
            return None
        left = {path: start[path].data for path in ground.files if path in start}
        left |= {
            one.path: one.data
            for one in attempt.changes
            if one.path in ground.files and one.data is not None
        }
        found = [
            spot
            for path, text in left.items()
            if text != ground.files[path].source and text.count(b"\n") <= MOST_LINES
            for spot in spots(path, ground.files[path], text, self.id, self.version)
        ]
        touched = any(
            one.path in ground.files and start[one.path].data != one.data
            for one in attempt.changes
            if one.path in start
        )
        if not found or not touched:
            return None
        order = task.features.get("order")
        return Candidate.of(
            found,
            operator=self.id,
            version=self.version,
            tier=self.tier,
            order=1 + (order if isinstance(order, int) else 1),
            why={"parent": task.instance_id},
        )
