"""Which tasks are attacked, and the whole of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from codegym.errors import TaskError, UsageError
from codegym.loop import open_setting
from codegym.redteam.arena import Arena
from codegym.redteam.attack import Attack
from codegym.redteam.baits import baits
from codegym.redteam.victim import Victim, make_victim
from codegym.tasks.sources import environment
from codegym.types import Task


def choose(tasks: Iterable[Task], per_environment: int) -> list[Victim]:
    """Make victims of the first tasks of each environment.

    Args:
        tasks: In their order.
        per_environment: So many of each environment; 0 for all.

    Raises:
        UsageError: No task's gold patch writes a file.
    """
    victims: list[Victim] = []
    taken: Counter[str] = Counter()
    refused = ""
    for task in tasks:
        if per_environment and taken[task.environment] >= per_environment:
            continue
        try:
            victims.append(make_victim(task, environment(task.environment)))
        except UsageError as error:
            refused = refused or str(error)
            continue
        taken[task.environment] += 1
    if not victims:
        raise UsageError(f"no task can be attacked; {refused or 'the source is empty'}")
    return victims


async def attack_all(
    arena: Callable[..., Arena],
    attacks: Sequence[Attack],
    victims: Sequence[Victim],
    *,
    sandbox: str = "auto",
    note: Callable[[str], None] = lambda _: None,
) -> None:
    """Lay out baits, start a backend and play all attacks.

    Args:
        arena: Makes the arena from a setting and a canary; its ``report`` is the result.
        attacks: What is played.
        victims: On what.
        sandbox: The backend's name.
        note: Told, in words, what takes time.

    Raises:
        UnavailableError: No sandbox works here.
    """
    # Baits come first: what the backend starts must have had the occasion to inherit them.
    async with baits(victims) as canary, open_setting(sandbox, note) as setting:
        for victim in victims:
            with suppress(TaskError):  # each attack on it tells
                await setting.ready(victim.task)
        await arena(setting, canary).run(attacks, victims)
