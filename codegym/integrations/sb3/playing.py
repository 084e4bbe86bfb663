"""Plays boards: how often a way of choosing solves tasks, each attempt graded cold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from codegym.agents.edits.prior import Prior
from codegym.envs.marking import Marker
from codegym.integrations.sb3.board import Board, Boards, Observed
from codegym.integrations.sb3.env import CandidateEdits, Mask
from codegym.runs.summary import wilson
from codegym.types import TaskSource


@dataclass(frozen=True, slots=True)
class Sight:
    """What is chosen from: what a policy sees, what is possible, and the board itself."""

    observation: Observed
    mask: Mask
    board: Board


#: A way of choosing; the generator is the task's own.
Choose = Callable[[Sight, np.random.Generator], int]


@dataclass(frozen=True, slots=True)
class Played:
    """What came of one task: solved by which attempt, from 1, or 0; and the fault, or ``""``."""

    task_id: str
    solved_by: int
    fault: str


@dataclass(frozen=True, slots=True)
class Solving:
    """How often tasks were solved.

    Attributes:
        solve_rate: Of tasks that did not fault; None where there is none.
        ci95: Its Wilson interval.
        solved: Within all attempts.
        first: By the first attempt.
        tasks: How many did not fault.
        faults: How many did.
        gradings: All in sandboxes.
    """

    solve_rate: float | None
    ci95: tuple[float, float]
    solved: int
    first: int
    tasks: int
    faults: int
    gradings: int


@dataclass(frozen=True, slots=True)
class Field:
    """Where boards are played: tasks, what is known of them, and how.

    Attributes:
        tasks: Has them.
        boards: Of them.
        attempts: For each.
        sandbox: Name of a backend.
        workers: Played at once.
        seed: Decides what chance there is in choosing.
    """

    tasks: TaskSource
    boards: Boards
    attempts: int
    sandbox: str
    workers: int
    seed: int

    def env(self, marker: Marker) -> CandidateEdits:
        """An env over them."""
        return CandidateEdits(
            self.tasks,
            candidates=self.boards.limit,
            attempts=self.attempts,
            sandbox=self.sandbox,
            marker=marker,
            boards=self.boards,
        )


def solving(field: Field, ids: Sequence[str], choose: Choose) -> tuple[Solving, list[Played]]:
    """Play tasks, once each and cold."""
    marker = Marker()
    envs = [field.env(marker) for _ in range(field.workers)]
    try:
        with ThreadPoolExecutor(field.workers) as threads:
            parts = [ids[at :: field.workers] for at in range(field.workers)]
            waiting = [
                threads.submit(_play_all, env, part, choose, field.seed)
                for env, part in zip(envs, parts, strict=True)
            ]
            played = sorted((one for each in waiting for one in each.result()), key=_name)
    finally:
        for env in envs:
            env.close()
    sound = [one for one in played if not one.fault]
    solved = sum(one.solved_by > 0 for one in sound)
    summary = Solving(
        solve_rate=solved / len(sound) if sound else None,
        ci95=wilson(solved, len(sound)),
        solved=solved,
        first=sum(one.solved_by == 1 for one in sound),
        tasks=len(sound),
        faults=len(played) - len(sound),
        gradings=marker.tally.unique,
    )
    return summary, played


def _play_all(env: CandidateEdits, ids: Sequence[str], choose: Choose, seed: int) -> list[Played]:
    return [_play(env, task_id, choose, seed) for task_id in ids]


def _play(env: CandidateEdits, task_id: str, choose: Choose, seed: int) -> Played:
    rng = np.random.default_rng([seed, *task_id.encode()])
    observation, info = env.reset(options={"task_id": task_id})
    ended = False
    while not ended:
        sight = Sight(observation, info["action_mask"], env.board(task_id))
        observation, _, terminated, truncated, info = env.step(choose(sight, rng))
        ended = terminated or truncated
    return Played(task_id, info["attempts"] if info["solved"] else 0, info["fault"])


def _name(played: Played) -> str:
    return played.task_id


def at_random(sight: Sight, rng: np.random.Generator) -> int:
    """As ``random_edit``: any edit that was not tried."""
    return int(rng.choice(np.flatnonzero(sight.mask)))


def by_prior(prior: Prior) -> Choose:
    """As ``unigram``: the edit that most often was the answer elsewhere."""

    def choose(sight: Sight, _: np.random.Generator) -> int:
        tried = np.flatnonzero(~sight.mask[: len(sight.board.edits)])
        return prior.best(sight.board.edits, (int(one) for one in tried))

    return choose


def by_model(model: Any, *, masks: bool) -> Choose:
    """As a model chooses, its likeliest edit; one that takes no masks may choose in vain."""

    def choose(sight: Sight, _: np.random.Generator) -> int:
        more = {"action_masks": sight.mask} if masks else {}
        action, _state = model.predict(sight.observation, deterministic=True, **more)
        return int(action)

    return choose
