"""What has happened in one episode so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from codegym.envs.text import cut_middle
from codegym.types import Action, Observation, ToolResult, Trajectory, Turn


@dataclass
class Log:
    """The turns of an episode, and the observations that they gave.

    Attributes:
        task_id: The task's ``instance_id``.
        seed: The episode's seed.
        max_steps: Actions before truncation.
        max_output_chars: Bound on an observation's ``output``.
        first: The first observation.
        turns: The turns so far.
        terminated: Whether the policy ended it.
        truncated: Whether a limit or a fault did.
    """

    task_id: str
    seed: int
    max_steps: int
    max_output_chars: int
    first: Observation
    turns: list[Turn] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False

    @classmethod
    def begin(
        cls, task_id: str, seed: int, instruction: str, max_steps: int, max_output_chars: int
    ) -> Log:
        """The log of an episode in which nothing has happened yet."""
        first = Observation(instruction, output="", steps_left=max_steps)
        return cls(task_id, seed, max_steps, max_output_chars, first)

    @property
    def ended(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated

    @property
    def last(self) -> Observation:
        """The newest observation."""
        return self.turns[-1].observation if self.turns else self.first

    def add(self, action: Action, result: ToolResult, seconds: float) -> None:
        """Record an action and what came of it; its reward is not known yet."""
        ran_tests, last = result.failing >= 0, self.last
        seen = Observation(
            instruction=last.instruction,
            output=cut_middle(result.output, self.max_output_chars),
            steps_left=max(0, self.max_steps - len(self.turns) - 1),
            last_exit_code=max(-1, min(255, result.exit_code)),
            failing=result.failing if ran_tests else last.failing,
            passing=result.passing if ran_tests else last.passing,
        )
        self.turns.append(Turn(action, seen, 0.0, seconds))

    def reward(self, reward: float) -> None:
        """Give the newest turn its reward."""
        self.turns[-1] = replace(self.turns[-1], reward=reward)

    def trajectory(self, policy: str) -> Trajectory:
        """All of it, with the policy's version."""
        return Trajectory(
            task_id=self.task_id,
            policy=policy,
            seed=self.seed,
            first=self.first,
            turns=tuple(self.turns),
            terminated=self.terminated,
            truncated=self.truncated,
        )

    def copy(self) -> Log:
        """A log that goes on by itself."""
        return replace(self, turns=list(self.turns))


def potential_after(turns: Sequence[Turn], gamma: float) -> float:
    """The potential that a running episode's shaped rewards add up to."""
    potential = 0.0
    for turn in turns:
        potential = (turn.reward + potential) / gamma
    return potential
