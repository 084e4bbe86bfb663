"""Which side of a task a changed path is on."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Literal

import pathspec

from codegym.tasks import Environment, Suite

Side = Literal["tests", "source", "other"]


class Sides:
    """Tells tests from what a policy may edit, as grading does.

    Args:
        environment: Its ``edits`` and suites decide.
    """

    def __init__(self, environment: Environment) -> None:
        self._permitted = pathspec.GitIgnoreSpec.from_lines(environment.edits.permitted)
        self._protected = pathspec.GitIgnoreSpec.from_lines(environment.edits.protected)
        self._environment = environment

    def side(self, path: str) -> Side:
        """``"tests"`` for tests and their configuration, ``"source"`` for what may be edited.

        ``"other"`` is neither: it belongs to no patch.
        """
        suites = self._environment.suites
        if self._protected.match_file(path) or any(self.in_suite(path, one) for one in suites):
            return "tests"
        return "source" if self._permitted.match_file(path) else "other"

    def in_suite(self, path: str, suite: Suite) -> bool:
        """Whether a path is a test of a suite, or configures it."""
        if path.rpartition("/")[2] == "conftest.py":
            return True
        if any(_is_below(path, self._inside(name)) for name in suite.config):
            return True
        selected = [self._inside(name.partition("::")[0]) for name in suite.select]
        if suite.runner == "go" and path not in selected and not _is_gos_test(path):
            return False
        return any(_is_below(path, name) for name in selected)

    def suite_of(self, paths: Iterable[str]) -> Suite:
        """The first suite that has any of the tests; else the environment's first."""
        changed = list(paths)
        for suite in self._environment.suites:
            if any(self.in_suite(path, suite) for path in changed):
                return suite
        return self._environment.suites[0]

    def _inside(self, name: str) -> str:
        return posixpath.normpath(posixpath.join(self._environment.subdir, name))


def _is_gos_test(path: str) -> bool:
    """Whether a file is of Go's tests, which lie beside what they test, or is data of theirs."""
    return path.endswith("_test.go") or "testdata" in path.split("/")[:-1]


def _is_below(path: str, folder: str) -> bool:
    return folder == "." or path == folder or path.startswith(folder + "/")
