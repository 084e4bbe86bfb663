"""Recording a run while it happens."""

from __future__ import annotations

from pathlib import Path

from codegym.envs.attempt import Listener
from codegym.envs.checkpoint import Checkpoint
from codegym.runs.folder import RunFolder
from codegym.runs.layout import network_file
from codegym.runs.records import TrajectoryHeader
from codegym.types import Observation, Task, Turn


class Recorder(Listener):
    """Writes what rollouts tell into a run's folder."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder

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

    def network_log(self, index: int) -> Path | None:
        """Where an episode's requests are written: more is added where it is played again."""
        return network_file(self._folder.path, index)
