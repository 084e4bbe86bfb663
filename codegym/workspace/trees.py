"""A task's four trees: what its patches make of a commit."""

from __future__ import annotations

from codegym.errors import NotFoundError, TaskError
from codegym.tasks import Environment
from codegym.types import File, Task, Tree
from codegym.workspace.features import without_traces
from codegym.workspace.hiding import hide_tests
from codegym.workspace.history import open_history
from codegym.workspace.names import is_bytecode, is_tool_cache, tree_problem
from codegym.workspace.patch import apply_patch


def base_tree(task: Task, environment: Environment) -> Tree:
    """The task's commit with what a build generates, without compiled files and tools' caches.

    Raises:
        TaskError: The history does not hold the commit, or its tree cannot be a workspace.
    """
    try:
        tree = open_history(environment).tree_at(task.base_commit)
    except NotFoundError as error:
        raise TaskError(task.instance_id, f"base_commit: {error}") from error
    kept = {
        path: file
        for path, file in tree.items()
        if not is_bytecode(path) and not is_tool_cache(path)
    }
    new = {p: File(f.read_bytes()) for p, f in environment.generated.items() if p not in kept}
    if new:
        kept = dict(sorted({**kept, **new}.items()))
    problem = tree_problem(kept)
    if problem:
        raise TaskError(task.instance_id, f"the tree of {task.base_commit}: {problem}")
    return kept


def start_tree(task: Task, environment: Environment) -> Tree:
    """What the policy finds: tests are in it where the kind shows them."""
    return trees_of(task, environment)[0]


def grading_tree(task: Task, environment: Environment) -> Tree:
    """What a grade is made on: the start with the task's tests, without the policy's work."""
    return trees_of(task, environment)[1]


def gold_tree(task: Task, environment: Environment) -> Tree:
    """The solved task, with its tests."""
    return trees_of(task, environment)[2]


def shows_tests(task: Task) -> bool:
    """Whether the task's own tests lie in the workspace from the start, those hidden left out."""
    return task.kind != "FixIssue"


def trees_of(task: Task, environment: Environment) -> tuple[Tree, Tree, Tree]:
    """The start, grading and gold trees together.

    Raises:
        TaskError: A patch does not apply, the commit is not there, or what must not be seen cannot
            be taken out.
    """
    name = task.instance_id
    mutated = apply_patch(base_tree(task, environment), task.start_patch, where=name)
    graded = apply_patch(mutated, task.test_patch, where=name)
    gold = apply_patch(graded, task.patch, where=name)
    start = hide_tests(graded if shows_tests(task) else mutated, graded, task, environment.subdir)
    return without_traces(start, graded, gold, task), graded, gold
