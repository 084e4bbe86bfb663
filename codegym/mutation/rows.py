"""From a candidate that was tried to a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from codegym.grading.features import features_of
from codegym.grading.ready import Ready
from codegym.mutation.candidates import Candidate, Spot
from codegym.mutation.coverage import depth_of, lines_of
from codegym.syntax import function_at
from codegym.types import File, Task
from codegym.version import __version__
from codegym.workspace.diff import diff_trees

GENERATOR = "mutation"
GENERATOR_VERSION = "3"


def draft(candidate: Candidate, head: Ready) -> Task:
    """The task that a candidate would be, its tests unknown.

    Its patches are each other's inverse: the start is the commit with the edit, the solution is the
    commit.
    """
    environment = head.environment
    tree = head.prepared.grading_tree
    mutants = candidate.mutants
    before = {path: tree[path] for path in mutants}
    after = {path: File(data, tree[path].mode) for path, data in mutants.items()}
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
    effect: str,
    seed: int,
    numbers: Mapping[str, int],
) -> Task:
    """A draft with what running it showed, where it came from, and what predicts its difficulty."""
    task = replace(
        task,
        fail_to_pass=tuple(failing),
        pass_to_pass=tuple(passing),
        provenance={
            "generator": GENERATOR,
            "generator_version": GENERATOR_VERSION,
            "codegym": __version__,
            "operators": dict(candidate.operators),
            "order": candidate.order,
            "seed": seed,
            "parent": None,
            "spans": [_span(one) for one in candidate.spots],
            "function": candidate.function,
            "effect": effect,
            **dict(candidate.why),
        },
    )
    return replace(task, features={**features_of(task), **_features(candidate), **numbers})


def _span(spot: Spot) -> dict[str, object]:
    return {
        "path": spot.path,
        "start": spot.edit.start,
        "end": spot.edit.end,
        "put": len(spot.edit.replacement),
        "function": spot.function,
        "operator": spot.operator,
    }


def _features(candidate: Candidate) -> dict[str, object]:
    """What is known of the edits: of several, the sums and the deepest."""
    spots = candidate.spots
    around = {
        (one.path, function.start_byte): function.end_point.row - function.start_point.row + 1
        for one in spots
        if (function := function_at(one.source, one.edit.start, one.edit.end)) is not None
    }
    return {
        "operator": candidate.operator,
        "tier": candidate.tier,
        "order": candidate.order,
        "edits": len(spots),
        "statement_lines": sum(len(lines_of(one.source, one.edit)) for one in spots),
        "function_lines": sum(around.values()),
        "depth": max(depth_of(one.source, one.edit) for one in spots),
    }
