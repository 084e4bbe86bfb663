"""Which commits of a history look like tasks, and what the tasks would be."""

from __future__ import annotations

import re
from dataclasses import dataclass

from codegym.authoring.proving import UNKNOWN_TESTS
from codegym.tasks import Environment
from codegym.tasks.sides import Sides
from codegym.types import Task, Tree
from codegym.workspace.diff import diff_trees
from codegym.workspace.history import Commit, Repository

GENERATOR = "from-history"
GENERATOR_VERSION = "1"

_TRAILER = re.compile(
    r"(signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|change-id|reported-by):.*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A commit that changes tests and what they test.

    Attributes:
        commit: The commit.
        task: The task it would be, with its tests unknown; None where it is no text.
    """

    commit: Commit
    task: Task | None


def first_parents(repository: Repository, head: str) -> list[Commit]:
    """A history's main line, oldest first, without its root."""
    by_hash = {commit.hash: commit for commit in repository.commits(head)}
    line = []
    commit = by_hash.get(head)
    while commit is not None and commit.parents:
        line.append(commit)
        commit = by_hash.get(commit.parents[0])
    return line[::-1]


def candidate(
    environment: Environment, repository: Repository, commit: Commit, sides: Sides
) -> Candidate | None:
    """What a commit would be as a task, or None where it changes only one side."""
    changed = repository.changed(commit.parents[0], commit.hash)
    by_side = {path: sides.side(path) for path in changed}
    tests = [path for path in changed if by_side[path] == "tests"]
    source = [path for path in changed if by_side[path] == "source"]
    if not tests or not source:
        return None
    before, after = repository.tree_at(commit.parents[0]), repository.tree_at(commit.hash)
    patch, test_patch = (_part(before, after, set(paths)) for paths in (source, tests))
    if not _is_text(patch + test_patch):
        return Candidate(commit, None)
    return Candidate(
        commit,
        Task(
            instance_id=f"{environment.name}-{commit.hash[:8]}",
            environment=environment.name,
            repo=environment.name,
            base_commit=commit.parents[0],
            patch=patch,
            test_patch=test_patch,
            fail_to_pass=UNKNOWN_TESTS,
            pass_to_pass=(),
            problem_statement=statement(commit.message),
            created_at=commit.date,
            kind="FixTests",
            language=environment.language,
            suite=sides.suite_of(tests).name,
            provenance={
                "generator": GENERATOR,
                "generator_version": GENERATOR_VERSION,
                "commit": commit.hash,
            },
        ),
    )


def statement(message: str) -> str:
    """A commit's message without the lines that name people and tools."""
    lines = [line.rstrip() for line in message.strip().splitlines()]
    while lines and (not lines[-1] or _TRAILER.fullmatch(lines[-1])):
        lines.pop()
    return "\n".join(lines)


def _part(before: Tree, after: Tree, paths: set[str]) -> str:
    return diff_trees(
        {path: file for path, file in before.items() if path in paths},
        {path: file for path, file in after.items() if path in paths},
    )


def _is_text(patch: str) -> bool:
    try:
        patch.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in patch
