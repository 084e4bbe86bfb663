"""Copies of tests with other inputs, whose results only the original code tells."""

from __future__ import annotations

from random import Random

from codegym.grading.observe.modules import TestModule
from codegym.grading.observe.sites import Sibling


def siblings(module: TestModule, function: str, rng: Random, count: int) -> list[Sibling]:
    """Make candidates; whether they pass on the original code is for a run to say.

    Args:
        module: Where the test is.
        function: The test, as ``Site.test``.
        rng: The same state gives the same siblings.
        count: How many at most.

    Returns:
        Copies that differ from the test and from one another; none for a test without inputs.
    """
    raise NotImplementedError
