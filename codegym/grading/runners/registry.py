"""Finds a runner by its name."""

from __future__ import annotations

from typing import cast

from codegym.plugins import load
from codegym.types import Runner

BUILTIN = {"pytest": "codegym.grading.runners.pytest:PytestRunner"}


def runner(name: str) -> Runner:
    """Make the runner that a suite names.

    Args:
        name: ``"pytest"``, the name of an entry point of ``codegym.runners``, or ``module:attr``.

    Raises:
        NotFoundError: There is none of that name.
    """
    make = cast("type[Runner]", load("runners", name, BUILTIN))
    return make()
