"""``pointer:RUN``: what ``codegym train sb3`` trained, as a policy."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from codegym.agents.edits.policy import EditPolicy
from codegym.agents.edits.survey import Survey
from codegym.errors import DataError, NotFoundError, UsageError
from codegym.integrations.sb3 import require
from codegym.integrations.sb3.algorithms import algorithm
from codegym.integrations.sb3.board import cells_of, observed
from codegym.runs.pins import file_digest


@dataclass(frozen=True)
class Pointer(EditPolicy):
    """Chooses as a model of ``codegym train sb3`` does, and acts by the tools.

    Attributes:
        run: The training's folder.
    """

    run: str = ""
    _model: Any = field(init=False, repr=False, compare=False)
    _masks: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.run:
            raise UsageError("pointer: run names the folder of a training")
        model, pins = Path(self.run) / "model.zip", Path(self.run) / "train.json"
        if not model.is_file() or not pins.is_file():
            raise NotFoundError("training", self.run, hint="codegym train sb3 makes one")
        try:
            told = json.loads(pins.read_text(encoding="utf-8"))
            kind, limit = algorithm(told["algo"]), int(told["candidates"])
        except (ValueError, KeyError) as error:
            raise DataError(pins, f"cannot be read: {error!r}") from error
        require()
        object.__setattr__(self, "candidates", limit)
        self._name(f"{told['algo']}-{file_digest(model)[:16]}")
        object.__setattr__(self, "_model", kind.load().load(model, device="cpu"))
        object.__setattr__(self, "_masks", kind.masks)

    def choose(self, survey: Survey, tried: tuple[int, ...], rng: np.random.Generator) -> int:  # noqa: ARG002
        """As the model does: what it sees is what it saw in training."""
        cells = cells_of(survey.edits, survey.heat, self.candidates)
        observation = observed(cells, tried, len(tried) / self.attempts)
        mask = observation["cand"][:, 0] > 0
        more = {"action_masks": mask} if self._masks else {}
        action, _ = self._model.predict(observation, deterministic=True, **more)
        choice = int(action)
        return choice if mask[choice] else int(np.flatnonzero(mask)[0])
