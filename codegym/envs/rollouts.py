"""Many episodes at once, with no barrier: the one way that runs, trainers and integrations play."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Container, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from codegym.envs import kinds
from codegym.envs.attempt import Attempt, Listener
from codegym.envs.checkpoint import Checkpoint
from codegym.envs.jobs import Job, jobs
from codegym.envs.options import EpisodeOptions
from codegym.envs.stage import Stage, stage_of
from codegym.errors import UsageError
from codegym.grading.setting import Setting
from codegym.types import EpisodeResult, Policy, TaskSource


class Rollouts:
    """Plays episodes of a source's tasks.

    Episode ``index`` (from 0) is sample ``index % samples`` of task ``index // samples``; its task
    and seed follow from ``seed`` and ``index`` alone, however many workers there are.

    Args:
        place: A setting of the running event loop, or a stage elsewhere.
        source: The tasks.
        options: How each episode is played.
        workers: Episodes at once, >= 1.
        seed: Of the whole, >= 0.
        draws: Draw so many tasks from the source; None: each of its tasks once, in order.
        done: Indices to leave out, which another run has finished.
        checkpoints: Where unfinished episodes of another run were, by index.
        checkpoint_sec: Tell the listener of a checkpoint so long after the last one.
        listener: Told of turns as they happen.

    Raises:
        UsageError: A value out of its range; rows that cannot be presented as ``options.kind``.
    """

    def __init__(
        self,
        place: Setting | Stage,
        source: TaskSource,
        options: EpisodeOptions | None = None,
        *,
        workers: int = 1,
        seed: int = 0,
        draws: int | None = None,
        done: Container[int] = frozenset(),
        checkpoints: Mapping[int, Checkpoint] | None = None,
        checkpoint_sec: float = 60.0,
        listener: Listener | None = None,
    ) -> None:
        if workers < 1:
            raise UsageError(f"workers: must be at least 1, got {workers}")
        if seed < 0:
            raise UsageError(f"seed: must be at least 0, got {seed}")
        if draws is not None and draws < 0:
            raise UsageError(f"draws: must be at least 0, got {draws}")
        self.options = options or EpisodeOptions()
        self._stage = stage_of(place)
        self._source = kinds.choose_rows(source, self.options.kind)
        self._workers, self._seed, self._draws = workers, seed, draws
        self._done, self._checkpoints = done, checkpoints or {}
        self._checkpoint_sec, self._listener = checkpoint_sec, listener or Listener()

    async def run(self, policy: Policy, *, samples: int = 1) -> AsyncGenerator[EpisodeResult, None]:
        """Play, and yield each episode as it ends.

        Infrastructure that fails is retried on another sandbox, a few times; then the episode's
        ``fault`` is ``"sandbox"``. A broken task is quarantined: its episodes' ``fault`` is
        ``"task"``. Where the policy raises ``PolicyError`` it is ``"policy"``. None of them has a
        grade. Closing (``contextlib.aclosing``) or cancelling the iterator stops every sandbox.

        Args:
            policy: Asked for each action; by all workers at once.
            samples: Episodes for each task, >= 1.

        Raises:
            UnavailableError: This machine lacks a part.
            UsageError: The policy raised something else (the cause), or what it gave is no action.
        """
        # A generator that is closed does not close the one that it reads.
        async with aclosing(self._play(policy, samples)) as played:
            async for result, _ in played:
                yield result

    async def groups(
        self, policy: Policy, *, size: int
    ) -> AsyncGenerator[list[EpisodeResult], None]:
        """Play ``size`` episodes of each task; yield a task's when its last one ends, in order.

        Episodes that are left out (``done``) are absent from their group; the rest as for ``run``.
        """
        async with aclosing(self._play(policy, size)) as played:
            async for _, group in played:
                if group is not None:
                    yield group

    async def _play(
        self, policy: Policy, samples: int
    ) -> AsyncGenerator[tuple[EpisodeResult, list[EpisodeResult] | None], None]:
        if samples < 1:
            raise UsageError(f"samples: must be at least 1, got {samples}")
        groups = _Groups(self._source)
        pending = jobs(self._source, samples, seed=self._seed, draws=self._draws, done=self._done)
        ahead = _Ahead(self._stage, self.options.kind, pending, groups)
        results: asyncio.Queue[EpisodeResult] = asyncio.Queue(maxsize=self._workers)
        quarantine: dict[str, str] = {}
        workers = [
            asyncio.ensure_future(self._work(policy, ahead, results, quarantine))
            for _ in range(self._workers)
        ]
        finished = asyncio.gather(*workers)
        try:
            while (result := await _next(results, finished)) is not None:
                yield result, groups.add(result)
        finally:
            await _end(workers)
            await asyncio.gather(finished, return_exceptions=True)  # retrieved: nothing is logged

    async def _work(
        self,
        policy: Policy,
        ahead: _Ahead,
        results: asyncio.Queue[EpisodeResult],
        quarantine: dict[str, str],
    ) -> None:
        while (job := ahead.take()) is not None:
            attempt = Attempt(self._stage, self.options, policy, job, self._listener)
            problem = quarantine.get(job.task.instance_id)
            if problem is None:
                result = await attempt.play(
                    self._checkpoints.get(job.index), checkpoint_sec=self._checkpoint_sec
                )
            else:
                result = attempt.faulty("task", problem)
            if result.fault == "task":
                quarantine[job.task.instance_id] = result.error
            await results.put(result)


class _Groups:
    """Collects the episodes of each task; the source learns from each whole group."""

    def __init__(self, source: TaskSource) -> None:
        self._source = source
        self._wanted: dict[int, int] = {}
        self._got: dict[int, list[EpisodeResult]] = {}
        self._group_of: dict[int, int] = {}

    def expect(self, job: Job) -> None:
        """Note that this episode will come."""
        self._group_of[job.index] = job.group
        self._wanted[job.group] = job.group_size

    def add(self, result: EpisodeResult) -> list[EpisodeResult] | None:
        """Take an episode; return its group where that is whole now, in the order of indices."""
        group = self._group_of.pop(result.index)
        got = self._got.setdefault(group, [])
        got.append(result)
        if len(got) < self._wanted[group]:
            return None
        del self._got[group], self._wanted[group]
        got.sort(key=lambda each: each.index)
        self._source.observe(got)
        return got


class _Ahead:
    """Hands out jobs; the next one's task is being made ready while others are played."""

    def __init__(self, stage: Stage, kind: str, pending: Iterator[Job], groups: _Groups) -> None:
        self._stage, self._kind = stage, kind
        self._pending, self._groups = pending, groups
        self._next = self._draw()

    def take(self) -> Job | None:
        """The next job, or None where there is none left."""
        job = self._next
        if job is not None:
            self._next = self._draw()
            if self._next is not None and self._next.group != job.group:
                self._stage.ahead(kinds.present(self._next.task, self._kind))
        return job

    def _draw(self) -> Job | None:
        job = next(self._pending, None)
        if job is not None:
            self._groups.expect(job)
        return job


async def _next(
    results: asyncio.Queue[EpisodeResult], finished: asyncio.Future[list[None]]
) -> EpisodeResult | None:
    """The next result; None where all workers have finished. Raises what a worker raised."""
    if not results.empty():
        return results.get_nowait()
    getting = asyncio.ensure_future(results.get())
    try:
        either: set[asyncio.Future[Any]] = {getting, finished}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if getting.done():
            return getting.result()
    finally:
        getting.cancel()
    finished.result()
    return None


async def _end(tasks: Collection[asyncio.Future[None]]) -> None:
    """Cancel, and wait until each has cleaned up."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
