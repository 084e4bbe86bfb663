"""Plays the demo: one task, four policies."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from codegym.agents import Noop, load_policy
from codegym.cli.demo.cheat import cheat, forge
from codegym.envs.attempt import Attempt, Listener
from codegym.envs.jobs import Job
from codegym.envs.options import EpisodeOptions
from codegym.errors import SandboxError, TaskError
from codegym.loop import open_setting
from codegym.registration import resolve
from codegym.types import EpisodeResult, Policy, Task


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo found.

    Attributes:
        task: The task that was attempted.
        ready_sec: Seconds until image and tree were there; next to none where they were cached.
        results: Each policy's episode, by the policy's name.
    """

    task: Task
    ready_sec: float
    results: dict[str, EpisodeResult]

    @property
    def as_promised(self) -> bool:
        """Whether the oracle, and only the oracle, scored."""
        scores = {name: _score(result) for name, result in self.results.items()}
        return scores == {"oracle": 1.0, "noop": 0.0, "cheat": 0.0, "forger": 0.0}


async def play(tasks: str, sandbox: str, note: Callable[[str], None]) -> Demo:
    """Play it.

    Args:
        tasks: The task source; its first task is attempted.
        sandbox: The backend.
        note: Told what is being done.

    Raises:
        TaskError: The task is broken. ``SandboxError``: sandboxes fail here.
    """
    source = resolve(tasks)
    task = next(iter(source))
    policies: dict[str, Policy] = {
        "oracle": load_policy("oracle", source),
        "noop": Noop(),
        "cheat": cheat(),
        "forger": forge(),
    }
    async with open_setting(sandbox, note) as setting:
        began = time.monotonic()
        await setting.ready(task)
        ready_sec = time.monotonic() - began
        results = {}
        for name, policy in policies.items():
            note(f"{name} is at work")
            attempt = Attempt(setting, EpisodeOptions(), policy, Job(0, 0, 1, task, 0), Listener())
            results[name] = _sound(await attempt.play(None, checkpoint_sec=float("inf")))
    return Demo(task, ready_sec, results)


def _sound(result: EpisodeResult) -> EpisodeResult:
    """The result, unless a fault kept it from being one."""
    if result.fault == "task":
        raise TaskError(result.task.instance_id, result.error)
    if result.fault:
        raise SandboxError(f"{result.error}; `codegym doctor` tells more")
    return result


def _score(result: EpisodeResult) -> float:
    return result.grade.score if result.grade else 0.0
