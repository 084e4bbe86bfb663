"""Recording a run while it happens."""

from __future__ import annotations

from pathlib import Path

from codegym.envs.attempt import Listener
from codegym.envs.checkpoint import Checkpoint
from codegym.envs.jobs import Job
from codegym.network.ways import Keeping
from codegym.runs.folder import RunFolder
from codegym.runs.layout import answers_folder, network_file
from codegym.runs.reader import Run
from codegym.runs.records import TrajectoryHeader
from codegym.types import Observation, Task, Turn


class Recorder(Listener):
    """Writes what rollouts tell into a run's folder.

    Args:
        folder: The run's.
        replayed: A run whose registries' answers are given once more, where it had any.
    """

    def __init__(self, folder: RunFolder, replayed: Run | None = None) -> None:
        self._folder = folder
        self._frozen = _frozen(replayed) if replayed else {}

    def on_start(
        self, index: int, task: Task, seed: int, policy: str, first: Observation, turns: int
    ) -> None:
        """An episode began, or went on after so many turns."""
        self._folder.begin(TrajectoryHeader(index, seed, policy, task, first), turns)

    def on_turn(self, index: int, turn: Turn) -> None:
        """A turn was taken."""
        self._folder.turn(index, turn)

    def on_checkpoint(self, index: int, checkpoint: Checkpoint) -> None:
        """A long episode can go on from here."""
        self._folder.checkpoint(index, checkpoint)

    def keeping(self, job: Job) -> Keeping:
        """All of it; more is added where an episode is played again."""
        task_id = job.task.instance_id
        frozen = self._frozen.get((task_id, job.seed)) or self._frozen.get((task_id, None))
        return Keeping(network_file(self._folder.path, job.index), frozen)


def _frozen(run: Run) -> dict[tuple[str, int | None], Path]:
    """What registries answered, by task and seed, and by task alone: as a replay finds actions."""
    found: dict[tuple[str, int | None], Path] = {}
    for record in run.episodes():
        answers = answers_folder(run.path, record.index)
        if answers.is_dir():
            found[record.task_id, record.seed] = answers
            found.setdefault((record.task_id, None), answers)
    return found
