"""Numbers that predict how hard a task is, from what is known when it is made."""

from __future__ import annotations

from collections.abc import Mapping

from unidiff.patch import PatchSet

from codegym.types import Task


def features_of(task: Task) -> Mapping[str, int]:
    """Count what the gold patch changes and what tests say of it.

    The same for the same task, always: nothing measured, which would differ each time.
    """
    files = PatchSet(task.patch)
    return {
        "files": len(files),
        "hunks": sum(len(file) for file in files),
        "lines_added": files.added,
        "lines_removed": files.removed,
        "failing_tests": len(task.fail_to_pass),
        "passing_tests": len(task.pass_to_pass),
        "statement_chars": len(task.problem_statement),
    }
