"""What a curriculum learns from: how often one task was solved in one group of episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codegym.types import EpisodeResult, Grade, Observation, Task, Trajectory


@dataclass(frozen=True, slots=True)
class Outcome:
    """One group of episodes of one task, by one version of a policy.

    Attributes:
        task_id: The task's ``instance_id``.
        solved: How many were solved, 0 to ``episodes``.
        episodes: How many were graded, >= 1.
        policy: The policy's version, ``""`` where none was said.
        predicted: The chance of success that was expected before, 0 to 1; -1 where none was.
    """

    task_id: str
    solved: int
    episodes: int
    policy: str = ""
    predicted: float = -1.0

    @property
    def rate(self) -> float:
        """The share that was solved."""
        return self.solved / self.episodes

    @property
    def informative(self) -> bool:
        """Whether some were solved and some were not: only then is an advantage not zero."""
        return 0 < self.solved < self.episodes


def outcomes(group: Sequence[EpisodeResult]) -> Iterator[Outcome]:
    """The outcome of each task and policy version in a group; what faulted is no evidence."""
    solved: dict[tuple[str, str], list[bool]] = {}
    for result in group:
        if result.grade is not None and not result.fault:
            key = result.task.instance_id, result.trajectory.policy
            solved.setdefault(key, []).append(result.grade.solved)
    for (task_id, policy), each in solved.items():
        yield Outcome(task_id, sum(each), len(each), policy)


def as_group(outcome: Outcome, task: Task) -> list[EpisodeResult]:
    """Episodes that stand for an outcome: task, policy and score, and nothing else of them."""
    trajectory = Trajectory(outcome.task_id, outcome.policy, 0, Observation("", "", 0))
    return [
        EpisodeResult(
            index=index,
            task=task,
            trajectory=trajectory,
            grade=Grade(score=float(index < outcome.solved)),
            reward=float(index < outcome.solved),
        )
        for index in range(outcome.episodes)
    ]
