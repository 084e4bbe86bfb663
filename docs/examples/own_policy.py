"""A policy of one's own over many episodes at once."""

import asyncio
from dataclasses import dataclass

from codegym.envs.rollouts import Rollouts
from codegym.loop import open_setting
from codegym.registration import resolve
from codegym.types import Action, History, call


@dataclass(frozen=True)
class Careful:
    """Runs the tests, reads the first failure's file, and gives up. Yours will do better."""

    version = "careful-1"

    async def act(self, history: History) -> Action:
        """Choose the next action from what happened so far."""
        if not history.turns:
            return Action(call("run_tests"))
        if len(history.turns) == 1:
            return Action(call("bash", command="git log --oneline; ls src/*"))
        return Action(call("submit"))


async def main() -> None:
    """Play four episodes, two at a time; each is told of when it ends."""
    async with open_setting("auto", print) as setting:
        rollouts = Rollouts(setting, resolve("kvlog"), workers=2, seed=7, draws=4)
        async for result in rollouts.run(Careful()):
            steps = len(result.trajectory.turns)
            print(result.task.instance_id, "reward", result.reward, "in", steps, "steps")


if __name__ == "__main__":
    asyncio.run(main())
