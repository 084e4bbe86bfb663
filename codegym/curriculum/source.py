"""A curriculum as a task source: what it draws follows from the outcomes of all who use it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from codegym.curriculum.difficulty import Difficulty
from codegym.curriculum.drawing import Drawing
from codegym.curriculum.outcomes import Outcome, as_group, outcomes
from codegym.curriculum.pool import open_pool, slim
from codegym.curriculum.ratings import Rating, ratings_file, read_ratings
from codegym.curriculum.samplers import load_sampler
from codegym.curriculum.samplers.base import Sampler
from codegym.curriculum.spec import Spec, load_spec
from codegym.errors import DataError, UsageError
from codegym.store import EventLog
from codegym.tasks import Joined
from codegym.types import EpisodeResult, Task


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is known of one task.

    Attributes:
        task_id: Its ``instance_id``.
        chance: Expected success, 0 to 1.
        low: Lower end of its 95 % interval.
        high: Upper end.
        solved: Episodes solved, ever.
        episodes: Episodes observed, ever.
    """

    task_id: str
    chance: float
    low: float
    high: float
    solved: int
    episodes: int


def open_curriculum(named: str) -> Curriculum:
    """Open a curriculum by its file, or by the name of a bundled one.

    Raises:
        NotFoundError: It is not there.
        DataError: A file is wrong, or the spec names what is not there, a sampler that cannot be
            used, or asks for what its tasks cannot give.
        UsageError: No task is left.
    """
    return Curriculum(load_spec(named))


class Curriculum:
    """A task source that learns.

    Outcomes are kept in one file, in the order in which they came, and every process that uses the
    curriculum reads them all: so all draw alike, and one that was killed goes on where it was. The
    same seed draws the same task as long as no outcome is added.

    Args:
        spec: What it is made from.
        source: Its tasks; None: those that the spec names.

    Attributes:
        spec: What it was made from.
        pool: Its tasks, without their long texts.
        sampler: Chooses.
        model: What is expected of each task.
        history: All outcomes so far.
        policy_version: Stands for the policy's version where an episode names none.
    """

    def __init__(self, spec: Spec, source: Joined | None = None) -> None:
        self.spec = spec
        self._source = open_pool(spec) if source is None else source
        ratings: dict[str, Rating] = {}
        for part in self._source.parts:
            ratings |= read_ratings(ratings_file(part))
        self.name = spec.name
        self.digest = _digest(spec.digest, self._source.digest, _told(ratings))
        self.pool = tuple(slim(task, ratings.get(task.instance_id)) for task in self._source)
        try:
            self.sampler = load_sampler(
                spec.sampler, spec.options, seed=spec.seed, category=spec.category
            )
        except UsageError as error:
            raise DataError(spec.path, str(error), field="sampler") from error
        if isinstance(self.sampler, Sampler):
            self.sampler.model.know(self.pool)  # all at once, before it is told of any
        self.model = Difficulty(category=spec.category)
        self.rows = self.model.rows(self.pool)
        self._drawing = Drawing(spec, self.pool)
        self.history: list[Outcome] = []
        self.policy_version = ""
        self._tasks = {task.instance_id: task for task in self.pool}
        self._log = EventLog(spec.state or _default_state(spec), f"the curriculum {spec.name}")
        self._read, self._lock = 0, threading.RLock()

    @property
    def state_path(self) -> Path:
        """The file of outcomes; removed, the curriculum begins anew."""
        return self._log.path

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the task sources that it draws from."""
        return self.spec.tasks or tuple(part.name for part in self._source.parts)

    def __len__(self) -> int:
        return len(self.pool)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._source)

    def get(self, task_id: str) -> Task:
        """Return one task. Raises ``NotFoundError``."""
        return self._source.get(task_id)

    def only(self, keep: Callable[[Task], bool]) -> Curriculum:
        """The same curriculum and state, of which only some tasks are drawn."""
        return Curriculum(self.spec, self._source.only(keep))

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw a task. Raises ``UsageError`` where all are mastered, if the spec says so."""
        with self._lock:
            self._prepare()
            drawn = self._drawing.one(self.sampler, rng)
        return self.get(drawn.instance_id)

    def draw(self, n: int, rng: np.random.Generator) -> list[Task]:
        """Draw several at once, without their long texts."""
        with self._lock:
            self._prepare()
            return self._drawing.draw(self.sampler, n, rng)

    def expectations(self, tasks: Sequence[Task]) -> list[Expectation]:
        """What is known of tasks."""
        with self._lock:
            self.refresh()
            rows, model = self.model.rows(tasks), self.model
            low, high = model.interval(rows)
            columns = model.mean(rows), low, high, model.solved(rows), model.episodes(rows)
        return [
            Expectation(task.instance_id, mean, least, most, int(solved), int(episodes))
            for task, (mean, least, most, solved, episodes) in zip(
                tasks, np.stack(columns, axis=1).tolist(), strict=True
            )
        ]

    def observe(self, group: Sequence[EpisodeResult]) -> None:
        """Add a group's outcomes; it is on the disk when this returns."""
        with self._lock:
            self.refresh()
            new = [self._expected(outcome) for outcome in outcomes(group)]
            self._log.append(json.dumps(asdict(outcome)) for outcome in new)
            self.refresh()

    def refresh(self) -> None:
        """Learn from what was added since, by whomever."""
        with self._lock:
            for event in self._log.since(self._read):
                self._learn(Outcome(**json.loads(event.body)))
                self._read = event.number

    def _expected(self, outcome: Outcome) -> Outcome:
        chance = self.model.chance(outcome.task_id)
        return replace(outcome, policy=outcome.policy or self.policy_version, predicted=chance)

    def _learn(self, outcome: Outcome) -> None:
        task = self._tasks.get(outcome.task_id)
        if task is not None:
            self.history.append(outcome)
            self.model.observe(outcome)
            self.sampler.observe(as_group(outcome, task))

    def _prepare(self) -> None:
        self.refresh()
        if self.spec.mastered < 1.0:
            success = float(self.model.mean(self.rows).mean())
            if success >= self.spec.mastered:
                raise UsageError(
                    f"{self.spec.path}: the pool is exhausted: {success:.0%} success is expected "
                    f"of its {len(self)} tasks ('mastered' is {self.spec.mastered:g}); add harder "
                    "ones with `codegym generate` or `codegym curriculum evolve`, or raise "
                    "'mastered'"
                )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _told(ratings: Mapping[str, Rating]) -> str:
    return json.dumps([(name, rating.difficulty) for name, rating in sorted(ratings.items())])


def _default_state(spec: Spec) -> Path:
    """By name alone: what was learned of a task stays when others are added, or options change."""
    return Path.cwd() / ".codegym" / "curricula" / f"{spec.name}.sqlite"
