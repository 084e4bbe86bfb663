"""Finds a runner by its name."""

from __future__ import annotations

from typing import cast

from codegym.errors import UsageError
from codegym.plugins import load
from codegym.tasks import Suite
from codegym.types import ConfiguredRunner, Runner

_HERE = "codegym.grading.runners"
BUILTIN = {
    "cargo": f"{_HERE}.cargo:CargoRunner",
    "go": f"{_HERE}.go:GoRunner",
    "junit": f"{_HERE}.junit:JunitRunner",
    "node": f"{_HERE}.node:NodeRunner",
    "pytest": f"{_HERE}.pytest:PytestRunner",
    "tap": f"{_HERE}.tap:TapRunner",
    "unittest": f"{_HERE}.unittest:UnittestRunner",
}


def runner(name: str) -> Runner:
    """Make the runner that a suite names.

    Args:
        name: One of ours, the name of an entry point of ``codegym.runners``, or ``module:attr``.

    Raises:
        NotFoundError: There is none of that name.
    """
    make = cast("type[Runner]", load("runners", name, BUILTIN))
    return make()


def suite_runner(suite: Suite) -> Runner:
    """Make a suite's runner, told how that suite is built and run.

    Raises:
        NotFoundError: There is none of that name.
        UsageError: The suite says how it is built or run, and its runner takes no such options.
    """
    made = runner(suite.runner)
    if isinstance(made, ConfiguredRunner):
        return made.configured(build=suite.build, command=suite.command, reports=suite.reports)
    if suite.build or suite.command or suite.reports:
        raise UsageError(
            f"suite {suite.name!r}: the runner {suite.runner!r} takes no build, command or reports"
        )
    return made
