"""Which episodes are to be played: a pure function of source, seed and what is done already."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np

from codegym.types import Task, TaskSource


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to play.

    Attributes:
        index: Its number, from 0.
        group: Number of its task, from 0.
        group_size: Episodes of that task that are to be played.
        task: The task.
        seed: The episode's seed.
    """

    index: int
    group: int
    group_size: int
    task: Task
    seed: int


def jobs(
    source: TaskSource, samples: int, *, seed: int, draws: int | None, done: Container[int]
) -> Iterator[Job]:
    """The jobs, in the order of their indices; each task is drawn when its first is asked for."""
    for group, task in enumerate(_tasks(source, seed, draws)):
        every = range(group * samples, (group + 1) * samples)
        indices = [index for index in every if index not in done]
        for index in indices:
            yield Job(index, group, len(indices), task, _episode_seed(seed, index))


def _tasks(source: TaskSource, seed: int, draws: int | None) -> Iterator[Task]:
    if draws is None:
        yield from source
        return
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    for _ in range(draws):
        yield source.sample(rng)


def _episode_seed(seed: int, index: int) -> int:
    return int(np.random.SeedSequence(seed, spawn_key=(1, index)).generate_state(1)[0])
