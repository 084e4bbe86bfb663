"""TRL's rollout function over ``Rollouts``: episodes at the same time, tokens in and tokens out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from codegym.agents.lm.engines.transformers import TransformersEngine
from codegym.agents.lm.policy import TokenPolicy
from codegym.envs.rollouts import Rollouts
from codegym.envs.session import Session
from codegym.errors import UnavailableError
from codegym.integrations.trl.data import Tasks, task_id_of
from codegym.types import EpisodeResult, SamplingParams, Task, TokenTrace

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Row:
    """One episode as TRL trains on it.

    Attributes:
        prompt_ids: What the model was first given.
        completion_ids: All after that, in order: what it said and what it was answered.
        logprobs: The sampler's, as long; 0.0 where ``env_mask`` is 0.
        env_mask: 1 where the model said it, else 0.
    """

    prompt_ids: list[int]
    completion_ids: list[int]
    logprobs: list[float]
    env_mask: list[int]


@dataclass
class rollouts:  # noqa: N801 - called like the function that TRL takes
    """A ``rollout_func``: plays an episode for each prompt with the trainer's own model.

    Where a context was full, an episode is several sequences; TRL has one row for an episode, and
    is given the last.

    Args:
        tasks: What ``dataset`` was made of.
        workers: Episodes at once.
        max_tokens: Most tokens of one action.
        context_tokens: Most tokens of an episode; 0: all the model can.
    """

    tasks: Tasks
    workers: int = 8
    max_tokens: int = 512
    context_tokens: int = 0
    _calls: int = field(init=False, default=0, repr=False)

    def __post_init__(self) -> None:
        self._session = Session(self.tasks.sandbox)

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, list[Any]]:
        """Play; one completion for each prompt, in order.

        Args:
            prompts: Of ``dataset``; each as often as its group has episodes.
            trainer: A ``GRPOTrainer``.

        Raises:
            UnavailableError: No episode could be graded.
        """
        played = [self.tasks.source.get(task_id_of(prompt)) for prompt in prompts]
        model = trainer.accelerator.unwrap_model(trainer.model)
        learning = model.training
        model.eval()
        try:
            results = self._session.run(self._play(played, model, trainer))
        finally:
            model.train(learning)
        self._observe(results)
        if all(result.fault for result in results):
            raise UnavailableError(f"no episode could be graded: {results[0].error}", "Try again")
        rows = [row_of([turn.action.tokens for turn in each.trajectory.turns]) for each in results]
        return {
            "prompt_ids": [row.prompt_ids for row in rows],
            "completion_ids": [row.completion_ids for row in rows],
            "logprobs": [row.logprobs for row in rows],
            "env_mask": [
                [0] * len(row.env_mask) if result.fault else row.env_mask
                for row, result in zip(rows, results, strict=True)
            ],
            "reward": [None if result.fault else result.reward for result in results],
        }

    async def _play(self, tasks: Sequence[Task], model: Any, trainer: Any) -> list[EpisodeResult]:
        self._calls += 1
        engine = TransformersEngine(
            model,
            trainer.processing_class,
            version=str(trainer.state.global_step),
            max_batch=self.workers,
        )
        params = SamplingParams(
            trainer.args.temperature,
            trainer.args.top_p,
            self.max_tokens,
            seed=self.tasks.seed + self._calls,
        )
        policy = TokenPolicy(
            engine, trainer.processing_class, params, context_tokens=self.context_tokens
        )
        playing = Rollouts(
            await self._session.setting(),
            _Given(tasks),
            self.tasks.how,
            workers=self.workers,
            seed=params.seed or 0,
        )
        try:
            async with aclosing(playing.run(policy)) as results:
                found = [result async for result in results]
        finally:
            await engine.aclose()
        return sorted(found, key=lambda result: result.index)

    def _observe(self, results: Sequence[EpisodeResult]) -> None:
        """Tell the source of each group: TRL puts a task's episodes next to each other."""
        for _, group in groupby(results, key=lambda result: result.task.instance_id):
            self.tasks.source.observe(list(group))


def reward(reward: Sequence[float | None], **_: Any) -> list[float | None]:
    """TRL's reward function for ``rollouts``: what each earned; None where it was faulty."""
    return list(reward)


def row_of(traces: Sequence[TokenTrace | None]) -> Row:
    """One row of an episode's tokens: those of its last sequence."""
    row = Row([], [], [], [])
    for trace in traces:
        if trace is None:
            continue
        so_far = row.prompt_ids + row.completion_ids
        if not so_far or list(trace.prompt_ids[: len(so_far)]) != so_far:
            row = Row(list(trace.prompt_ids), [], [], [])
            so_far = row.prompt_ids
        between = trace.prompt_ids[len(so_far) :]
        row.completion_ids.extend((*between, *trace.completion_ids))
        row.logprobs.extend((*(0.0 for _ in between), *trace.logprobs))
        row.env_mask.extend((*(0 for _ in between), *(1 for _ in trace.completion_ids)))
    return row


class _Given:
    """Exactly these tasks, in this order; what comes of them is told by who knows their groups."""

    digest = ""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._by_id: Mapping[str, Task] = {task.instance_id: task for task in tasks}

    def sample(self, rng: np.random.Generator) -> Task:
        return self._tasks[int(rng.integers(len(self._tasks)))]

    def get(self, task_id: str) -> Task:
        return self._by_id[task_id]

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def observe(self, group: Sequence[EpisodeResult]) -> None:
        pass
