"""A reward and a policy for CodeGym, found through entry points."""

from dataclasses import dataclass

from codegym.types import Action, Grade, History, Trajectory, call


@dataclass(frozen=True)
class Frugal:
    """1 for a solution, less ``cost`` for each step it took; never below 0."""

    cost: float = 0.01

    range = (0.0, 1.0)

    def __call__(self, grade: Grade, trajectory: Trajectory) -> float:
        """The reward of a finished episode."""
        return max(0.0, grade.score - self.cost * len(trajectory.turns))


@dataclass(frozen=True)
class Tester:
    """Runs the tests ``runs`` times, then submits. It solves nothing."""

    runs: int = 1

    version = "tester-1"

    async def act(self, history: History) -> Action:
        """Choose the next action from what happened so far."""
        name = "run_tests" if len(history.turns) < self.runs else "submit"
        return Action(call(name))
