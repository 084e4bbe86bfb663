"""From a candidate that was tried to a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegym.grading.features import features_of
from codegym.grading.ready import Ready
from codegym.mutation.candidates import Candidate
from codegym.mutation.coverage import depth_of, lines_of
from codegym.syntax import function_at
from codegym.types import File, Task
from codegym.version import __version__
from codegym.workspace.diff import diff_trees

GENERATOR = "mutation"
GENERATOR_VERSION = "1"


def draft(candidate: Candidate, head: Ready) -> Task:
    """The task that a candidate would be, its tests unknown.

    Its patches are each other's inverse: the start is the commit with the edit, the solution is the
    commit.
    """
    environment = head.environment
    tree = head.prepared.grading_tree
    before = {candidate.path: tree[candidate.path]}
    after = {candidate.path: File(candidate.mutant, tree[candidate.path].mode)}
    return Task(
        instance_id=f"{environment.name}-m{candidate.digest[:10]}",
        environment=environment.name,
        repo=environment.name,
        base_commit=environment.head,
        start_patch=diff_trees(before, after),
        patch=diff_trees(after, before),
        fail_to_pass=("?",),
        pass_to_pass=(),
        kind=candidate.kind,
        language=environment.language,
        suite=head.suite.name,
    )


def finished(
    task: Task,
    candidate: Candidate,
    *,
    failing: Sequence[str],
    passing: Sequence[str],
    statement: str,
    effect: str,
    seed: int,
    covering: int,
) -> Task:
    """A draft with what running it showed, where it came from, and what predicts its difficulty."""
    edit, source = candidate.edit, candidate.source
    task = replace(
        task,
        fail_to_pass=tuple(failing),
        pass_to_pass=tuple(passing),
        problem_statement=statement,
        provenance={
            "generator": GENERATOR,
            "generator_version": GENERATOR_VERSION,
            "codegym": __version__,
            "operators": {candidate.operator: candidate.version},
            "seed": seed,
            "parent": None,
            "spans": [{"path": candidate.path, "start": edit.start, "end": edit.end}],
            "function": candidate.function,
            "effect": effect,
        },
    )
    function = function_at(source, edit.start, edit.end)
    rows = 0 if function is None else function.end_point.row - function.start_point.row + 1
    features = {
        "operator": candidate.operator,
        "tier": candidate.tier,
        "covering_tests": covering,
        "statement_lines": len(lines_of(source, edit)),
        "function_lines": rows,
        "depth": depth_of(source, edit),
    }
    return replace(task, features={**features_of(task), **features})
