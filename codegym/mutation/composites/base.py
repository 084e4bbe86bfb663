"""What a composite is, and what composites are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate
from codegym.mutation.composites.calls import Calls
from codegym.mutation.trial import Reason, Trial
from codegym.syntax import Parsed
from codegym.tasks import Environment
from codegym.types import Change, Kind, Task, Tree


@dataclass(frozen=True, slots=True)
class Tried:
    """A single edit that alone would be a task, and what running it showed."""

    candidate: Candidate
    trial: Trial

    @property
    def failing(self) -> frozenset[str]:
        """The tests that fail with it."""
        return frozenset(self.trial.failing)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a policy left that did not solve a task: the task, and its files as it left them."""

    task: Task
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Ground:
    """What composites are made of.

    Attributes:
        environment: Its newest commit is mutated.
        tree: That commit's files.
        files: Those that may be mutated.
        baselines: Of each suite.
        calls: Who calls whom in the files.
        singles: Single edits that were tried and are tasks, in the order drawn.
        attempts: What policies left that did not solve tasks of this environment.
        most: Most single edits that are joined.
        seed: Decides what is proposed first.
    """

    environment: Environment
    tree: Tree
    files: Mapping[str, Parsed]
    baselines: Sequence[Baseline]
    calls: Calls
    singles: Sequence[Tried] = ()
    attempts: Sequence[Attempt] = ()
    most: int = 3
    seed: int = 0

    def chance(self, name: str) -> np.random.Generator:
        """Chance that depends on the seed and on a name, and on nothing else."""
        digest = hashlib.sha256(f"{self.seed}\0{name}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest, "big"))


class Composite(Protocol):
    """One way in which several edits make one fault, or a feature goes.

    Attributes:
        id: Unique, for example ``"composite.pair"``.
        version: Changes whenever the same ground would give others.
        tier: How hard its faults are thought to be to find, 4 or 5.
        kind: The kind of task that it makes.
        of_singles: Whether it is made of single edits that were tried.
        says: What it does, in a sentence.
    """

    @property
    def id(self) -> str:
        """Its name."""
        ...

    @property
    def version(self) -> str:
        """Its version."""
        ...

    @property
    def tier(self) -> int:
        """Its tier."""
        ...

    @property
    def kind(self) -> Kind:
        """Its kind."""
        ...

    @property
    def of_singles(self) -> bool:
        """Whether it needs single edits."""
        ...

    @property
    def says(self) -> str:
        """What it does."""
        ...

    def propose(self, ground: Ground) -> Iterator[Candidate]:
        """Candidates, the same for the same ground."""
        ...

    def parts(self, candidate: Candidate, /) -> Sequence[Candidate]:
        """What is left of one of its candidates when some edits are undone: to be run as well."""
        ...

    def fault(self, candidate: Candidate, trial: Trial, parts: Sequence[Trial], /) -> Reason | None:
        """Why a candidate is none although its tests fail as a task's do, or None. Pure.

        Args:
            candidate: One that it proposed.
            trial: What running it showed: some tests fail, others pass. Where it was only looked at
                fast, there are no messages, nor places that they name.
            parts: What running its parts showed, in their order.
        """
        ...


class Unconditional:
    """Of a composite whose candidates are tasks wherever tests notice them."""

    def parts(self, _candidate: Candidate, /) -> Sequence[Candidate]:
        """Nothing else is run."""
        return ()

    def fault(self, _candidate: Candidate, _: Trial, _parts: Sequence[Trial], /) -> Reason | None:
        """Nothing else is asked."""
        return None


@dataclass(frozen=True, slots=True)
class Joining:
    """How edits are to be joined.

    Attributes:
        composites: Those wanted.
        orders: How many faults a task may have; without 1, single edits are only tried, for
            composites to be made of.
        attempts: What policies left that did not solve tasks, for composites to start from.
        wanted: Which candidates may be tasks, where composites are made; others are only parts.
    """

    composites: Sequence[Composite] = ()
    orders: range = range(1, 2)
    attempts: Sequence[Attempt] = ()
    wanted: Callable[[Candidate], bool] = field(default=lambda _: True)

    def ground(
        self,
        environment: Environment,
        tree: Tree,
        files: Mapping[str, Parsed],
        baselines: Sequence[Baseline],
        seed: int,
    ) -> Ground:
        """What composites are made of, before any single edit was tried."""
        most = max(self.orders.stop - 1, 2)
        calls, attempts = Calls(files), self.attempts
        return Ground(environment, tree, files, baselines, calls, (), attempts, most, seed)


#: Single edits alone.
SINGLE: Final = Joining()
