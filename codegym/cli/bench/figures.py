"""The figures: each measured, with its floor, in this run."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from codegym.agents.oracle import solution
from codegym.cli.bench import floors
from codegym.cli.bench.measure import Figure, figure, seconds_of, timed_async
from codegym.cli.bench.subjects import Subject
from codegym.envs.episode import Episode
from codegym.envs.options import EpisodeOptions
from codegym.grading.grader import grade
from codegym.grading.setting import Ready, Setting
from codegym.sandbox.base import Sandbox
from codegym.types import Manifest, Task, call

_MS = 1000.0
_MANY = 64
_OPTIONS = EpisodeOptions(max_steps=100_000)


class Bench:
    """Measures against one task.

    Args:
        setting: Of the running event loop.
        task: The task; made ready before anything is measured.
        times: How often each figure is measured, about.
        subject: The setting's backend, as something that is measured.
    """

    def __init__(self, setting: Setting, task: Task, times: int, subject: Subject) -> None:
        self._setting, self._task, self._times, self._subject = setting, task, times, subject

    async def reset(self) -> Figure:
        """A reset of a prepared task."""
        episode = Episode(self._setting, _OPTIONS)
        values = []
        for _ in range(self._times):
            await self._subject.settle()
            values.append(await seconds_of(episode.reset(self._task)))
        await episode.close()
        return figure(
            "reset_ms",
            [_MS * value for value in values],
            self._bare(),
            target=self._subject.targets.get("reset_ms"),
            what="reset of a prepared task, to the first observation; the last sandbox ends too",
            against=self._subject.bare,
        )

    async def attestation(self) -> Figure:
        """What a reset spends on attesting what it mounts."""
        await self._setting.ready(self._task)
        values = await timed_async(lambda: self._setting.ready(self._task), 4 * self._times)
        return figure(
            "attestation_ms",
            [_MS * value for value in values],
            [],
            target=5,
            what="a reset's attestation: its workspace, its grading tree and its image, once more",
            against="",
        )

    async def first_reset(self) -> Figure:
        """A reset of a task that nobody has prepared; the image and the history are there."""
        values = []
        for number in range(max(3, self._times // 5)):
            task = _unseen(self._task, number)
            await self._subject.settle()
            async with self._episode_of(task) as (_, seconds):
                values.append(_MS * seconds)
        return figure(
            "first_reset_ms",
            values,
            self._bare(),
            target=self._subject.targets.get("first_reset_ms"),
            what="reset of a task seen for the first time",
            against=self._subject.bare,
        )

    async def bash_step(self) -> Figure:
        """A step that runs ``/bin/true``."""
        action = call("bash", command="/bin/true")
        async with self._episode_of(self._task) as (episode, _):
            values = await timed_async(lambda: episode.step(action), 4 * self._times)
        return figure(
            "bash_step_ms",
            [_MS * value for value in values],
            [_MS * value for value in floors.bare_shell(self._times * 4)],
            target=self._subject.targets.get("bash_step_ms"),
            what="a bash step that runs /bin/true",
            against="`/bin/true` written to a bare `sh`, and its answer",
        )

    async def grade(self) -> Figure:
        """A grade, against pytest of the same tests in a sandbox of the same image."""
        ready = await self._setting.ready(self._task)
        work = await self._solve(ready)
        ratios, bare = [], []
        for _ in range(max(3, self._times // 8)):
            plain = await self._bare_pytest(ready, work)
            ratios.append(await seconds_of(self._setting.grade(ready, work)) / plain)
            bare.append(1.0)
        return figure(
            "grade_ratio",
            ratios,
            bare,
            target=1.25,
            what="a grade, divided by a bare pytest of the same tests",
            against="a bare `pytest` of the same tests in the same image",
        )

    async def observed_grade(self) -> Figure:
        """A grade in observation, with siblings and controls, against one of plain assertions."""
        ready = await self._setting.ready(self._task)
        work = await self._solve(ready)
        ratios, bare = [], []
        for _ in range(max(5, self._times // 4)):
            plain = await seconds_of(grade(self._setting.backend, ready, work))
            ratios.append(await seconds_of(self._setting.grade(ready, work)) / plain)
            bare.append(1.0)
        return figure(
            "observed_grade_ratio",
            ratios,
            bare,
            target=1.25,
            what="a grade, divided by the same without observation and siblings",
            against="a grade by plain assertions, in the same image",
        )

    async def fork(self) -> Figure:
        """A fork of a running episode, to the end of its first command (it starts with that)."""
        values, first = [], call("bash", command=":")
        async with self._episode_of(self._task) as (episode, _):
            await episode.step(call("write", path="notes.md", content="x" * 10_000))
            for _ in range(self._times):
                await self._subject.settle()
                began = time.perf_counter()
                twin = await episode.fork()
                await twin.step(first)
                values.append(_MS * (time.perf_counter() - began))
                await twin.close()
        return figure(
            "fork_ms",
            values,
            self._bare(),
            target=self._subject.targets.get("fork_ms"),
            what="fork of a running episode, to the end of the fork's first command",
            against=self._subject.bare,
        )

    async def parallel(self) -> Figure:
        """Many sandboxes: start, one command, stop."""
        ready = await self._setting.ready(self._task)

        async def one() -> None:
            async with await self._setting.start(ready) as box:
                await box.shell("/bin/true")

        async def at_once() -> None:
            await asyncio.gather(*(one() for _ in range(_MANY)))

        values = await timed_async(at_once, max(3, self._times // 8))
        return figure(
            "parallel64_s",
            values,
            self._subject.bare_starts_at_once(_MANY, max(3, self._times // 8)),
            target=self._subject.targets.get("parallel64_s"),
            what=f"{_MANY} sandboxes: start, one command, stop; in all",
            against=f"{_MANY} at once of {self._subject.bare}",
        )

    async def memory(self) -> Figure:
        """Memory an idle sandbox (see ``memory``)."""
        ready = await self._setting.ready(self._task)
        async with await self._setting.start(ready):
            before = self._subject.memory_mb()  # with what is shared there already
            boxes = [await self._setting.start(ready) for _ in range(_MANY // 2)]
            try:
                for box in boxes:
                    await box.shell("/bin/true")
                value = (self._subject.memory_mb() - before) / len(boxes)
            finally:
                await asyncio.gather(*(box.stop() for box in boxes))
        return figure(
            "sandbox_mb",
            [value],
            [],
            target=self._subject.targets.get("sandbox_mb"),
            what="memory (PSS) of an idle sandbox: its monitor and shell, and what the gym grew by",
            against="",
        )

    async def import_and_make(self) -> Figure:
        """A fresh interpreter that makes an env."""
        times = max(3, self._times // 8)
        environment = self._task.environment
        make = f"gymnasium.make('CodeGym/FixTests-v0', tasks={environment!r})"
        return figure(
            "import_make_s",
            await asyncio.to_thread(
                floors.fresh_python, f"import codegym, gymnasium; {make}", times
            ),
            await asyncio.to_thread(floors.fresh_python, "import gymnasium", times),
            target=1.2,
            what="a fresh interpreter: import codegym, gymnasium.make",
            against="a fresh interpreter: import gymnasium",
        )

    def measures(self) -> tuple[Callable[[], Awaitable[Figure]], ...]:
        """All figures, in the order that they are shown in; memory while little has been done."""
        return (
            self.memory,
            self.reset,
            self.attestation,
            self.first_reset,
            self.bash_step,
            self.grade,
            self.observed_grade,
            self.fork,
            self.parallel,
            self.import_and_make,
        )

    def _bare(self) -> list[float]:
        """Milliseconds of bare starts."""
        return [_MS * value for value in self._subject.bare_starts(self._times)]

    @asynccontextmanager
    async def _episode_of(self, task: Task) -> AsyncIterator[tuple[Episode, float]]:
        """A running episode, and the seconds that its reset took."""
        episode = Episode(self._setting, _OPTIONS)
        seconds = await seconds_of(episode.reset(task))
        try:
            yield episode, seconds
        finally:
            await episode.close()

    async def _solve(self, ready: Ready) -> Manifest:
        """The work of one who plays the answer."""
        async with self._episode_of(ready.task) as (episode, _):
            for action in solution(ready.task):
                await episode.step(action)
            return episode.work

    async def _bare_pytest(self, ready: Ready, work: Manifest) -> float:
        """Seconds of a plain pytest of the same tests on the same files."""
        async with await self._setting.start(ready) as box:
            await box.apply(work.changes)
            return await _pytest(box, ready)


async def _pytest(box: Sandbox, ready: Ready) -> float:
    argv = [ready.image.python, "-m", "pytest", "-q", *ready.task.test_ids]
    return (await box.exec(argv, timeout_sec=ready.suite.timeout_sec)).seconds


def _unseen(task: Task, number: int) -> Task:
    """The same task with one more file at its start, so that no prepared tree fits it."""
    name = f"bench-{os.getpid()}-{number}-{time.time_ns()}.txt"
    extra = f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n"
    extra += f"@@ -0,0 +1 @@\n+{name}\n"
    return dataclasses.replace(
        task, instance_id=f"{task.instance_id}-{number}", start_patch=task.start_patch + extra
    )
