"""Controls: tests that cannot be observed must also fail, where they are made to ask the opposite.

Copies of each run in fresh sandboxes, a few in each; the operating system's chance says which of
them are inverted. It is the word of a process that code under test shares all the same, and such
code can look at what it is asked; so controls tell a patched runner, and bound nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence

from codegym.grading.observe.judging import informative
from codegym.grading.observe.modules import TestModule, control_name
from codegym.grading.observe.recording import Recording, file_of, last_part
from codegym.grading.observe.sites import renamed

#: How many copies of a test are as it is, and how many inverted.
EACH_WAY = 10
#: So many share a process.
TOGETHER = 5

#: By function (``path::Class::name``): for each copy of it, whether it is inverted.
Asked = Mapping[str, Sequence[bool]]


def needs_controls(recording: Recording, test_id: str, *, hidden: bool) -> bool:
    """Whether nothing of a test is observed that is more than a truth value."""
    known = informative(recording, test_id, hidden=hidden)
    return not recording.asks_anew(test_id) and not known


def controls(modules: Mapping[str, TestModule], asked: Asked) -> dict[str, str]:
    """Sources with copies of tests, of which some ask the opposite.

    Args:
        modules: By path, as in keys.
        asked: Of which tests.
    """
    by_file: dict[str, dict[str, Sequence[bool]]] = {}
    for function, flags in asked.items():
        by_file.setdefault(file_of(function), {})[function.partition("::")[2]] = flags
    return {path: modules[path].control(flags) for path, flags in by_file.items()}


def copies(key: str, flags: Sequence[bool]) -> Iterator[tuple[str, bool]]:
    """The key of each copy of a test, and whether it is inverted."""
    function, brace, parameters = key.partition("{")
    for place, inverted in enumerate(flags):
        name = control_name(last_part(function), place)
        yield f"{renamed(function, name)}{brace}{parameters}", inverted


def draws(functions: Sequence[str], together: int = TOGETHER) -> list[Asked]:
    """For each sandbox, which copies are inverted: ``EACH_WAY`` of each function, by chance."""
    chance = secrets.SystemRandom()
    columns = {}
    for function in functions:
        columns[function] = [True] * EACH_WAY + [False] * EACH_WAY
        chance.shuffle(columns[function])
    return [
        {function: flags[first : first + together] for function, flags in columns.items()}
        for first in range(0, 2 * EACH_WAY, together)
    ]
