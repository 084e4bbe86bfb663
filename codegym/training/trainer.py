"""Reinforcement learning, in the order that data flows. Start reading here.

tasks ─► episodes in sandboxes ─► grades and hints ─► experience ─► a step ─► the sampler's weights
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from codegym.agents.lm.engines.transformers import TransformersEngine
from codegym.agents.lm.loading import device_named, digest, find
from codegym.agents.lm.policy import TokenPolicy
from codegym.agents.lm.renderer import Renderer
from codegym.agents.load import closing, load_policy
from codegym.curriculum import Curriculum, load_spec
from codegym.envs.kinds import choose_rows
from codegym.envs.marking import Marker, Tally
from codegym.envs.options import EpisodeOptions
from codegym.envs.rollouts import Rollouts
from codegym.envs.stage import Stage, open_stage
from codegym.errors import UnavailableError, UsageError
from codegym.registration import kind_of, resolve
from codegym.store.memo import ScoreMemo
from codegym.training.checkpoint import Checkpoints
from codegym.training.experience import gather
from codegym.training.feedback import Feedback, Lesson, lesson
from codegym.training.hints import Hint, hints_of, judged
from codegym.training.learner import Learner, Steps
from codegym.training.models import for_training, load
from codegym.training.objective import Improver, Objective
from codegym.training.sequences import Span, TokenSequence
from codegym.training.session import Budget, Session, Watcher
from codegym.types import EpisodeResult, Policy, SamplingParams, Task, TaskSource

_OUTCOMES = "curriculum.sqlite"


@dataclass(frozen=True, slots=True)
class RlConfig:
    """What to train: see ``codegym train rl --help``.

    Attributes:
        init: The model's folder or name.
        out: The folder; one that exists is gone on with.
        env_id: Gymnasium id of the tasks' presentation.
        tasks: The task source.
        groups: Tasks in a step, >= 1.
        samples: Episodes of each, >= 2.
        feedback: How hints are learned from; None: not at all.
        judge: A policy that is asked for hints besides the rules (``chat:MODEL``), or ``""``.
        max_tokens: Most tokens of an action.
        lora: Rank of adapters; 0: all weights are trained.
        memo: Whether grades are remembered, by task, work and image: ``grades.sqlite``. A twentieth
            of what is known is graded again all the same.
        workers: Episodes at once. They may change when it is gone on with, as may ``budget``.
        options: How episodes are played.
    """

    init: str
    out: Path
    env_id: str
    budget: Budget
    tasks: str | None = None
    groups: int = 8
    samples: int = 8
    how: Steps = field(default_factory=Steps)
    objective: Objective = field(default_factory=Objective)
    feedback: Feedback | None = None
    judge: str = ""
    max_tokens: int = 512
    lora: int = 0
    device: str = "auto"
    seed: int = 0
    memo: bool = False
    workers: int = 8
    sandbox: str = "auto"
    options: EpisodeOptions = field(default_factory=EpisodeOptions)

    def pins(self, source: TaskSource) -> dict[str, str]:
        """What makes it this training and no other."""
        free = {"out", "budget", "memo", "workers", "device", "sandbox"}
        given = {f.name: str(getattr(self, f.name)) for f in fields(self) if f.name not in free}
        digests = {"tasks_digest": source.digest, "init_digest": digest(Path(self.init))}
        return {"training": "rl", **given, **digests}


async def train_rl(
    config: RlConfig, watcher: Watcher | None = None, stage: Stage | None = None
) -> int:
    """Play, learn, and play again; go on where an earlier start was stopped.

    Ends when the budget is used up, or when the curriculum has nothing left to draw, which is said.

    Args:
        config: What to train.
        watcher: Told how it goes.
        stage: Where episodes are played; None: in sandboxes of this process.

    Returns:
        Steps taken in all.

    Raises:
        UsageError: An option cannot be used, the folder is of another training, or the loss is no
            number.
        UnavailableError: A part is missing, memory does not suffice, or no episode of a step could
            be graded.
    """
    watcher = watcher or Watcher()
    if config.samples < 2:
        raise UsageError(f"samples: a group needs at least 2 episodes, got {config.samples}")
    device, marker = device_named(config.device), _marker(config)
    find(config.init)  # what is not there is told before the folder is pinned to it
    source = choose_rows(_source(config), kind_of(config.env_id))
    with Checkpoints(config.out, config.pins(source)) as folder:
        outcomes = _Outcomes(config.out / _OUTCOMES, folder.latest)
        model, tokenizer = load(config.init, seed=config.seed)
        model = for_training(model, device, lora=config.lora)
        learner = Learner(model, tokenizer, config.how)
        improver = Improver(learner, config.objective, config.feedback)
        judge = load_policy(config.judge, source) if config.judge else None

        def also(draft: Path) -> Mapping[str, Any]:
            outcomes.save(draft)
            return {"teacher": improver.teacher.state() if improver.teacher else []}

        async with open_stage(config.sandbox, watcher.note, stage, marker) as place:
            with Session(folder, learner, config.budget, watcher, also) as session:
                if improver.teacher is not None:
                    improver.teacher.restore(session.state.get("teacher", []))
                steps = _Steps(config, source, place, improver, model, tokenizer, judge, watcher)
                async with steps.playing():
                    while session.goes_on and (values := await steps.take(session.number)):
                        outcomes.step()
                        session.done({**values, **_graded(marker)})
                return session.number


class _Steps:
    """Takes steps: each a function of the weights, the curriculum's outcomes and its number."""

    def __init__(
        self,
        config: RlConfig,
        source: TaskSource,
        stage: Stage,
        improver: Improver,
        model: Any,
        tokenizer: Any,
        judge: Policy | None,
        watcher: Watcher,
    ) -> None:
        self._config, self._source, self._stage = config, source, stage
        self._improver, self._judge, self._watcher = improver, judge, watcher
        self._renderer = Renderer(tokenizer, config.options.toolbox.functions)
        self._engine = TransformersEngine(
            model,
            tokenizer,
            stop_ids=self._renderer.stop_ids,
            version=_version(config, 0),
            max_batch=max(1, config.workers),
        )
        params = SamplingParams(max_tokens=config.max_tokens, seed=config.seed)
        self._policy = TokenPolicy(self._engine, tokenizer, params)

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        """Let go of the engine, and of the judge, at the end."""
        try:
            async with closing(self._judge) if self._judge else nullcontext():
                yield
        finally:
            await self._engine.aclose()

    async def take(self, number: int) -> dict[str, float] | None:
        """Play and learn; what is worth plotting, or None where there is nothing left to play."""
        await self._engine.refresh(_version(self._config, number))
        began, cpu = time.monotonic(), time.process_time()
        try:
            tasks = self._draw(number)
        except UsageError as error:
            self._watcher.note(f"nothing is left to be drawn after step {number}: {error}")
            return None
        groups = await self._play(tasks, number)
        hints = await self._hints(groups)
        played, played_cpu = time.monotonic(), time.process_time()
        experience = gather(groups, hints, self._teach)
        learned = self._improver.improve(experience)
        return {
            **experience.numbers,
            **learned,
            **self._told(),
            "rollout_sec": played - began,
            "rollout_cpu_sec": played_cpu - cpu,
            "train_sec": time.monotonic() - played,
            "train_cpu_sec": time.process_time() - played_cpu,
        }

    def _draw(self, number: int) -> list[Task]:
        rng = np.random.default_rng([self._config.seed, number])
        return [self._source.sample(rng) for _ in range(self._config.groups)]

    async def _play(self, tasks: Sequence[Task], number: int) -> list[list[EpisodeResult]]:
        config = self._config
        seed = int(np.random.SeedSequence([config.seed, number]).generate_state(1)[0])
        rollouts = Rollouts(
            self._stage,
            _Drawn(tasks, self._source),
            config.options,
            workers=config.workers,
            seed=seed,
        )
        groups: list[list[EpisodeResult]] = []
        total = len(tasks) * config.samples
        async with aclosing(rollouts.groups(self._policy, size=config.samples)) as played:
            async for group in played:
                groups.append(group)
                self._watcher.episode(sum(map(len, groups)), total)
        lost = Counter(result.error for group in groups for result in group if result.fault)
        if lost.total() == total:
            raise UnavailableError(
                f"step {number + 1}: none of {total} episodes could be graded: "
                f"{lost.most_common(1)[0][0]}",
                "What was learned before is kept. `codegym doctor` may say more; the same command "
                "goes on from here",
            )
        return sorted(groups, key=lambda group: group[0].index)

    async def _hints(self, groups: Sequence[Sequence[EpisodeResult]]) -> dict[int, list[Hint]]:
        if self._config.feedback is None:
            return {}
        graded = [result for group in groups for result in group if not result.fault]
        found = {result.index: hints_of(result) for result in graded}
        if self._judge is not None:
            failed = [r for r in graded if r.grade is not None and not r.grade.solved]
            asked = await asyncio.gather(*(judged(self._judge, result) for result in failed))
            for result, hint in zip(failed, asked, strict=True):
                if hint is not None:
                    others = [one for one in found[result.index] if one.turn != hint.turn]
                    found[result.index] = [*others, hint]
        return found

    def _teach(self, sequence: TokenSequence, span: Span, hint: Hint) -> Lesson | None:
        return lesson(sequence, span, hint, self._renderer, self._engine.context_tokens)

    def _told(self) -> dict[str, float]:
        if not isinstance(self._source, Curriculum):
            return {}
        told = self._source.sampler.metrics()
        return {f"curriculum/{name}": float(value) for name, value in told.items()}


class _Drawn:
    """The tasks of one step; their outcomes go to where they were drawn from."""

    def __init__(self, tasks: Sequence[Task], source: TaskSource) -> None:
        self._tasks, self._source = tasks, source
        self.digest = source.digest

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw a task."""
        return self._tasks[int(rng.integers(len(self._tasks)))]

    def get(self, task_id: str) -> Task:
        """Return one task."""
        return self._source.get(task_id)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def observe(self, group: Sequence[EpisodeResult]) -> None:
        """Tell the source."""
        self._source.observe(group)


class _Outcomes:
    """What the curriculum knew after the last whole step; later outcomes will be had again."""

    def __init__(self, file: Path, checkpoint: Path | None) -> None:
        self._file, self._known = file, b""
        kept = checkpoint / "outcomes" / _OUTCOMES if checkpoint else None
        file.unlink(missing_ok=True)
        if kept is not None and kept.exists():
            shutil.copy(kept, file)
            self.step()

    def step(self) -> None:
        """A step was taken: what is known now belongs to it."""
        self._known = self._file.read_bytes() if self._file.exists() else b""

    def save(self, draft: Path) -> None:
        """Put it into a checkpoint."""
        if self._known:
            (draft / "outcomes").mkdir()
            (draft / "outcomes" / _OUTCOMES).write_bytes(self._known)


def _source(config: RlConfig) -> TaskSource:
    """The task source. A curriculum's outcomes are the training's own: they are gone on from."""
    scheme, _, name = (config.tasks or "").partition(":")
    if scheme != "curriculum":
        return resolve(config.tasks)
    return Curriculum(replace(load_spec(name), state=config.out.absolute() / _OUTCOMES))


def _marker(config: RlConfig) -> Marker | None:
    """What remembers grades, of which it knows the score alone."""
    if not config.memo:
        return None
    if config.options.reward != "solved" or config.feedback is not None:
        raise UsageError(
            "a memo remembers whether work solves its task and nothing else: it goes with "
            "--set episode.reward=solved and --feedback off"
        )
    return Marker(ScoreMemo(config.out / "grades.sqlite"), config.seed)


def _graded(marker: Marker | None) -> dict[str, float]:
    """What was graded since the last step: see ``Tally``."""
    if marker is None:
        return {}
    tally, marker.tally = marker.tally, Tally()
    return {f"graded/{name}": float(count) for name, count in asdict(tally).items()}


def _version(config: RlConfig, number: int) -> str:
    return f"{config.out.name}@{number}"
