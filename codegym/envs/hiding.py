"""Which test ids a policy must not see, from a row alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

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
    """What ``FixIssue`` hides: all failing tests, and whatever the row's own tests may add.

    Which tests of a file that ``test_patch`` changes were there before is not known from a row, so
    all of that file are hidden; where it changes what is no test file (a conftest, data), all below
    that folder are.
    """
    hidden = {*task.hidden, *task.fail_to_pass}
    files = {_file(test) for test in task.test_ids}
    for path in touched(task.test_patch):
        hidden |= _touched_tests(path, files, task.test_ids)
    functions = {_function(test) for test in hidden}
    return frozenset(test for test in task.test_ids if _function(test) in functions)


def _touched_tests(path: str, files: Collection[str], ids: Sequence[str]) -> set[str]:
    """Ids are relative to a project that may lie in a folder of the repository."""
    mine = {file for file in files if path == file or path.endswith("/" + file)}
    if mine:
        return {test for test in ids if _file(test) in mine}
    *folders, name = path.split("/")
    if name.startswith("test_") and name.endswith(".py"):
        return set()  # none of its tests is one of the row's
    if not folders:
        return set(ids)
    for start in range(len(folders)):
        below = "/".join(folders[start:]) + "/"
        found = {test for test in ids if test.startswith(below)}
        if found:
            return found
    return set(ids)


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


def _file(test: str) -> str:
    return test.partition("::")[0]


def _function(test: str) -> str:
    return test.partition("[")[0]


def _last(test: str) -> str:
    name = _function(test).rpartition("::")[2]
    return name if name.startswith("test") and name != "test" else ""
