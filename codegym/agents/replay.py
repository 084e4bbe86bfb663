"""``replay``: the actions that a recorded run took."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from codegym.errors import NotFoundError, UsageError
from codegym.runs import open_run
from codegym.types import Action, History, call


@dataclass(frozen=True)
class Replay:
    """Takes the recorded actions of the same task (and the same seed, where there is one).

    Attributes:
        run: The run's folder, or ``FOLDER#EPISODE`` to take one episode's actions for every task.
    """

    run: str
    version: str = field(init=False, default="")
    _scripts: dict[tuple[str, int | None], tuple[str, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        path, _, number = self.run.partition("#")
        if number and not number.isdecimal():
            raise UsageError(f"replay: an episode's number is wanted after '#', got {number!r}")
        run = open_run(Path(path))
        scripts: dict[tuple[str, int | None], tuple[str, ...]] = {}
        for record in run.episodes():
            if number and record.index != int(number):
                continue
            actions = tuple(turn.action.text for turn in run.turns(record.index))
            scripts[record.task_id, record.seed] = actions
            scripts.setdefault((record.task_id, None), actions)
            if number:
                scripts["", None] = actions
        if not scripts:
            raise NotFoundError("finished episode", number or "any", hint=f"{path} has no such")
        object.__setattr__(self, "_scripts", scripts)
        object.__setattr__(self, "version", f"{run.pins.policy}@{run.pins.policy_version}")

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return Path(self.run.partition("#")[0])

    async def act(self, history: History) -> Action:
        """The action that was taken at this turn.

        Raises:
            NotFoundError: The run has no finished episode of this task.
        """
        script = self._script(history)
        turn = len(history.turns)
        return Action(script[turn] if turn < len(script) else call("submit"))

    def _script(self, history: History) -> tuple[str, ...]:
        for key in ((history.task_id, history.seed), (history.task_id, None), ("", None)):
            if key in self._scripts:
                return self._scripts[key]
        known = sorted({task_id for task_id, _ in self._scripts})
        raise NotFoundError("recorded episode of task", history.task_id, known)
