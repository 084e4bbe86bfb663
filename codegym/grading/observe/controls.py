"""Controls: tests that cannot be observed must also fail, where they are made to ask the opposite.

Each is run in fresh sandboxes, as it is or inverted, as the operating system's chance has it. It is
the word of a process that code under test shares all the same, and such code can look at what it is
asked; so controls tell a patched runner, and bound nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from codegym.grading.observe.judging import informative
from codegym.grading.observe.modules import TestModule
from codegym.grading.observe.recording import Recording

#: How often a test is run as it is, and how often inverted.
EACH_WAY = 10


def needs_controls(recording: Recording, test_id: str, *, hidden: bool) -> bool:
    """Whether nothing of a test is observed that is more than a truth value."""
    known = informative(recording, test_id, hidden=hidden)
    return not recording.asks_anew(test_id) and not known


def controls(modules: Mapping[str, TestModule], inverted: Mapping[str, bool]) -> dict[str, str]:
    """Sources in which some tests ask the opposite.

    Args:
        modules: By path, as in keys.
        inverted: By function (``path::Class::name``).
    """
    by_file: dict[str, dict[str, bool]] = {}
    for function, flag in inverted.items():
        path, _, test = function.partition("::")
        by_file.setdefault(path, {})[test] = flag
    return {path: modules[path].control(flags) for path, flags in by_file.items()}


def draws(functions: Sequence[str]) -> list[dict[str, bool]]:
    """For each sandbox, which functions are inverted: each ``EACH_WAY`` times, by chance."""
    chance = secrets.SystemRandom()
    columns = []
    for _ in functions:
        flags = [True] * EACH_WAY + [False] * EACH_WAY
        chance.shuffle(flags)
        columns.append(flags)
    return [dict(zip(functions, row, strict=True)) for row in zip(*columns, strict=True)]
