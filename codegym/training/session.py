"""A training under way: its folder, its learner, and when it is written down."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from codegym.errors import UsageError
from codegym.training.checkpoint import Checkpoints
from codegym.training.learner import Learner
from codegym.training.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Budget:
    """How long it goes on.

    Attributes:
        steps: Steps in all, those before a stop included; None: no bound.
        minutes: Wall time of this start, above 0; None: no bound.
        save_every: Steps between checkpoints, >= 1. One is written at the end, however it comes.
    """

    steps: int | None = None
    minutes: float | None = None
    save_every: int = 10

    def __post_init__(self) -> None:
        if self.steps is None and self.minutes is None:
            raise UsageError("give --steps or --minutes: training has no end of its own")
        if self.minutes is not None and not self.minutes > 0:
            raise UsageError(f"minutes: must be above 0, got {self.minutes}")


class Watcher:
    """Told how a training goes; override what is wanted."""

    def note(self, text: str) -> None:
        """Something is worth saying, or takes a while."""

    def step(self, number: int, budget: Budget, values: Mapping[str, float]) -> None:
        """A step was taken."""

    def episode(self, done: int, total: int) -> None:
        """An episode of the step that is being taken has ended."""


class Session:
    """Steps of one training, on the disk before they are lost.

    Args:
        folder: The folder, which is this session's alone.
        learner: As training began.
        budget: How long.
        watcher: Told of each step.
        also: Writes what else belongs to a checkpoint into its folder, and returns what belongs to
            its state.

    Attributes:
        number: Steps that were taken: where the data is gone on from.
        state: What the checkpoint held that is gone on from; empty at the beginning.
    """

    def __init__(
        self,
        folder: Checkpoints,
        learner: Learner,
        budget: Budget,
        watcher: Watcher,
        also: Callable[[Path], Mapping[str, Any]] = lambda _: {},
    ) -> None:
        self._folder, self._learner, self._budget = folder, learner, budget
        self._watcher, self._also = watcher, also
        self.number, self.state = 0, dict[str, Any]()
        if folder.latest is not None:
            self.state = learner.load(folder.latest)
            self.number = self.state["number"]
        self._saved = self.number if folder.latest else -1
        self._whole = learner.step
        self._until = time.monotonic() + 60 * (
            math.inf if budget.minutes is None else budget.minutes
        )
        if folder.latest is not None:
            ends = "going on after" if self.goes_on else "nothing is left to do after"
            watcher.note(f"{ends} step {self.number}")
        self._held = ExitStack()
        self._metrics = self._held.enter_context(Metrics(folder.path, self.number))

    @property
    def goes_on(self) -> bool:
        """Whether there is a next step."""
        steps = math.inf if self._budget.steps is None else self._budget.steps
        return self.number < steps and time.monotonic() < self._until

    def done(self, values: Mapping[str, float]) -> None:
        """Note a step; from time to time a checkpoint is written."""
        self.number += 1
        self._whole = self._learner.step
        self._metrics.add(self.number, values)
        self._watcher.step(self.number, self._budget, values)
        if self.number % self._budget.save_every == 0:
            self.save()

    def save(self) -> None:
        """Write a checkpoint, unless the newest is of this step or the weights are of none.

        They are of none where they are no numbers, or where a step of several updates failed.
        """
        stopped = self._learner.step != self._whole
        if self._saved == self.number or stopped or not self._learner.sound():
            return
        self._metrics.sync()

        def write(folder: Path) -> None:
            self._learner.save(folder, number=self.number, **self._also(folder))

        self._folder.save(self.number, write)
        self._saved = self.number

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        with self._held:
            self.save()
