"""The lines of a run folder's files."""

from __future__ import annotations

from dataclasses import dataclass

from codegym.envs.checkpoint import Checkpoint
from codegym.types import (
    Attestation,
    EpisodeResult,
    Fault,
    Grade,
    Manifest,
    Observation,
    ShellState,
    Task,
    Trajectory,
    Turn,
)


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One finished episode: a line of ``episodes.jsonl``. Its turns are in its trajectory's file.

    Attributes:
        index: Its number in the run, from 0.
        task_id: The task's ``instance_id``.
        seed: The episode's seed.
        steps: Actions taken.
        tokens: Tokens sampled by the policy, 0 where it samples none.
        prompt_tokens: Tokens it read, as an endpoint counted them.
        reward: Sum of the turns' rewards.
        seconds: Wall time in all.
        reset_sec: Wall time of the reset.
    """

    index: int
    task_id: str
    seed: int
    steps: int
    tokens: int
    terminated: bool
    truncated: bool
    reward: float
    grade: Grade | None
    fault: Fault
    error: str
    diff: str
    reset_sec: float
    seconds: float
    attestation: Attestation
    work: Manifest
    prompt_tokens: int = 0

    @classmethod
    def of(cls, result: EpisodeResult) -> EpisodeRecord:
        """The record of a result."""
        trajectory = result.trajectory
        return cls(
            index=result.index,
            task_id=result.task.instance_id,
            seed=trajectory.seed,
            steps=len(trajectory.turns),
            tokens=sum(count_tokens(turn) for turn in trajectory.turns),
            terminated=trajectory.terminated,
            truncated=trajectory.truncated,
            reward=result.reward,
            grade=result.grade,
            fault=result.fault,
            error=result.error,
            diff=result.diff,
            reset_sec=result.reset_sec,
            seconds=result.seconds,
            attestation=result.attestation,
            work=result.work,
            prompt_tokens=sum(
                turn.action.usage.prompt_tokens for turn in trajectory.turns if turn.action.usage
            ),
        )

    def result(self, header: TrajectoryHeader, turns: tuple[Turn, ...]) -> EpisodeResult:
        """The result again, from its record and its trajectory."""
        trajectory = Trajectory(
            task_id=self.task_id,
            policy=header.policy,
            seed=self.seed,
            first=header.first,
            turns=turns,
            terminated=self.terminated,
            truncated=self.truncated,
        )
        return EpisodeResult(
            index=self.index,
            task=header.task,
            trajectory=trajectory,
            grade=self.grade,
            reward=self.reward,
            fault=self.fault,
            error=self.error,
            diff=self.diff,
            reset_sec=self.reset_sec,
            seconds=self.seconds,
            attestation=self.attestation,
            work=self.work,
        )


def count_tokens(turn: Turn) -> int:
    """Tokens the policy sampled for a turn."""
    action = turn.action
    if action.tokens:
        return len(action.tokens.completion_ids)
    return action.usage.completion_tokens if action.usage else 0


@dataclass(frozen=True, slots=True)
class TrajectoryHeader:
    """First line of a trajectory's file; a ``traces.TurnRecord`` for each turn follows."""

    index: int
    seed: int
    policy: str
    task: Task
    first: Observation


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    """A checkpoint as a file: how many turns there were; the turns are in the trajectory's file."""

    index: int
    task_id: str
    seed: int
    turns: int
    work: Manifest
    state: ShellState
    seconds: float

    @classmethod
    def of(cls, index: int, checkpoint: Checkpoint) -> CheckpointRecord:
        """The record of a checkpoint."""
        return cls(
            index=index,
            task_id=checkpoint.task_id,
            seed=checkpoint.seed,
            turns=len(checkpoint.turns),
            work=checkpoint.work,
            state=checkpoint.state,
            seconds=checkpoint.seconds,
        )

    def checkpoint(self, turns: tuple[Turn, ...]) -> Checkpoint:
        """The checkpoint again, with the trajectory's turns."""
        return Checkpoint(
            task_id=self.task_id,
            seed=self.seed,
            turns=turns[: self.turns],
            work=self.work,
            state=self.state,
            seconds=self.seconds,
        )
