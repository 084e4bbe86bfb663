"""Which test ids a policy must not see, from a row alone."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from codegym.types import Task

_PATCHED = re.compile(r"^(?:---|\+\+\+) [ab]/([^\t\n]+)", re.MULTILINE)
_SHORTEST_NAME = 6  # "test_" and something


def with_twins(task: Task) -> frozenset[str]:
    """The row's hidden tests, and those made of the same functions with other parameters."""
    if not task.hidden:
        return task.hidden
    functions = {_function(test) for test in task.hidden}
    return frozenset(test for test in task.test_ids if _function(test) in functions)


def of_issue(task: Task) -> frozenset[str]:
    """What ``FixIssue`` hides: all failing tests, and what is made of the same functions."""
    return with_twins(replace(task, hidden=task.hidden | frozenset(task.fail_to_pass)))


def touched(patch: str) -> set[str]:
    """The files that a patch names."""
    return set(_PATCHED.findall(patch))


def without_names(text: str, hidden: Collection[str]) -> str:
    """A text without hidden tests' names: who writes an issue may know the test of its fix."""
    names = {part for test in hidden for part in (test, _function(test), _last(test))}
    told = sorted((name for name in names if len(name) >= _SHORTEST_NAME), key=len, reverse=True)
    if not told:
        return text
    pattern = "|".join(map(re.escape, told))
    return re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", "[a test]", text)


def _function(test: str) -> str:
    return test.partition("[")[0]


def _last(test: str) -> str:
    name = _function(test).rpartition("::")[2]
    return name if name.startswith("test") and name != "test" else ""
