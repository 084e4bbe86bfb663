"""Controls: tests that cannot be observed must also fail, where they are made to ask the opposite.

Copies of each run in fresh sandboxes, a few in each; the operating system's chance says which are
as they are, and which inverted. Some fail before they ask anything: they tell who turns outcomes
round. It is the word of a process that code under test shares all the same, and such code can look
at what it is asked, or compare copies; so controls tell a patched runner, and bound nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence

from codegym.grading.observe.judging import informative
from codegym.grading.observe.modules import Control, TestModule, control_name
from codegym.grading.observe.recording import Recording, file_of, last_part
from codegym.grading.observe.sites import renamed

#: How many copies of a test are as it is, how many inverted, and how many fail in any case.
EACH_WAY, FAILING = 10, 4
_KINDS: tuple[Control, ...] = ("real", "opposite", "failing")
#: So many share a process, or where they disturb each other, none.
SIZES = (6, 1)

#: By function (``path::Class::name``): what each of its copies is.
Asked = Mapping[str, Sequence[Control]]


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
    by_file: dict[str, dict[str, Sequence[Control]]] = {}
    for function, kinds in asked.items():
        by_file.setdefault(file_of(function), {})[function.partition("::")[2]] = kinds
    return {path: modules[path].control(kinds) for path, kinds in by_file.items()}


def copies(key: str, kinds: Sequence[Control]) -> Iterator[tuple[str, Control]]:
    """The key of each copy of a test, which is the first itself, and what it is."""
    function, brace, parameters = key.partition("{")
    for place, kind in enumerate(kinds):
        name = control_name(last_part(function), place) if place else last_part(function)
        yield f"{renamed(function, name)}{brace}{parameters}", kind


def draws(functions: Sequence[str], size: int) -> list[Asked]:
    """For each sandbox, what its copies are, by chance: so many of each kind of each function."""
    chance = secrets.SystemRandom()
    counts = {"real": EACH_WAY, "opposite": EACH_WAY, "failing": FAILING}
    every = [kind for kind in _KINDS for _ in range(counts[kind])]
    columns = {function: chance.sample(every, len(every)) for function in functions}
    return [
        {function: kinds[first : first + size] for function, kinds in columns.items()}
        for first in range(0, len(every), size)
    ]


def turns(size: int) -> list[list[Control]]:
    """What copies are in a few runs, so that each kind comes after each other one."""
    return [[_KINDS[(place + first) % 3] for place in range(size)] for first in range(3)]
