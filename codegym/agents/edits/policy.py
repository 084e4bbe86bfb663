"""Policies that repair by one edit: look around, try edits, submit."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from codegym.agents.edits.survey import (
    Survey,
    as_call,
    first_look,
    next_look,
    pieces_of,
    surveyed,
    undo,
)
from codegym.errors import UsageError
from codegym.types import Action, History, Turn, call


@dataclass(frozen=True)
class EditPolicy(ABC):
    """Chooses among edits that operators find; all it does, it does by the tools.

    It runs the tests in its own sandbox after each attempt but the last, and submits as soon as
    the shown ones pass. It takes an action for each 12,000 characters of what it finds out, and
    three for each attempt.

    Attributes:
        attempts: Edits tried before it submits, >= 1.
        candidates: Edits to choose from, at most, >= 1.
    """

    attempts: int = 1
    candidates: int = 96
    version: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.candidates < 1:
            raise UsageError("attempts and candidates: each is 1 or more")
        self._name("1")

    def _name(self, version: str) -> None:
        """Set the version: another number of attempts is another policy."""
        told = f"{version}-{self.attempts}-of-{self.candidates}"
        object.__setattr__(self, "version", told)

    @abstractmethod
    def choose(self, survey: Survey, tried: tuple[int, ...], rng: np.random.Generator) -> int:
        """The number of the edit to try next, none of ``tried``."""

    async def act(self, history: History) -> Action:
        """The next action; it follows from the history alone."""
        return Action(await asyncio.to_thread(self._act, history))

    def _act(self, history: History) -> str:
        turns = history.turns
        if not turns:
            return first_look(history)
        pieces = pieces_of(turns[0].observation.output)
        if len(turns) < pieces:
            return next_look(len(turns))
        looks = tuple(turn.observation.output for turn in turns[: max(pieces, 1)])
        found = surveyed(looks, self.candidates)
        return self._attempt(found, turns[len(looks) :], history.seed)

    def _attempt(self, found: Survey, turns: tuple[Turn, ...], seed: int) -> str:
        """After the looks, each attempt is an edit, a run of the tests, and an undoing."""
        made, step = divmod(len(turns), 3)
        attempts = min(self.attempts, len(found.edits))
        if made >= attempts or (step == 2 and turns[-1].observation.failing == 0):
            return call("submit")
        if step == 1 and made + 1 < attempts:
            return call("run_tests")
        if step == 1:
            return call("submit")
        tried: tuple[int, ...] = ()
        for attempt in range(made + 1):
            rng = np.random.default_rng([seed % 2**63, attempt])
            tried = (*tried, self.choose(found, tried, rng))
        edit = found.edits[tried[-1]]
        return undo([edit.path]) if step == 2 else as_call(edit)
