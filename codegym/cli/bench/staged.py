"""A stage for measuring all but sandboxes: fake ones that take their time, grades that are none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from codegym.grading.runners import runner
from codegym.grading.setting import Ready, Setting
from codegym.sandbox.base import DEFAULT_OUTPUT_BYTES, DEFAULT_TIMEOUT_SEC, Sandbox
from codegym.sandbox.fake import FakeBackend, FakeSandbox
from codegym.store import LayerStore
from codegym.tasks import Environment
from codegym.tasks.sources import environment as environment_named
from codegym.types import (
    CommandResult,
    EpisodeResult,
    Grade,
    Image,
    Manifest,
    SandboxSpec,
    Task,
    Trajectory,
)
from codegym.workspace.prepare import Workshop

RESET_SEC, TOOL_SEC = 0.25, 0.5
OUTPUT = "1 failed, 11 passed\n"


class Staged(Setting):
    """A setting over sandboxes that wait, and run nothing.

    Args:
        folder: Where trees are laid out.
    """

    def __init__(self, folder: Path) -> None:
        store = LayerStore(folder)
        super().__init__(_Waiting(), store=store)
        self._shop, self._made = Workshop(store, None), dict[str, Ready]()

    async def ready(self, task: Task, environment: Environment | None = None) -> Ready:
        """The task's trees, and no image."""
        if task.instance_id not in self._made:
            home = environment or environment_named(task.environment)
            suite = home.suite(task.suite)
            prepared = await asyncio.to_thread(self._shop.prepare, task, home)
            tests = runner(suite.runner)
            self._made[task.instance_id] = Ready(
                task, home, suite, Image("staged", ()), prepared, tests
            )
        return self._made[task.instance_id]

    def ahead(self, task: Task, environment: Environment | None = None) -> asyncio.Future[Ready]:
        """Begin to make it ready."""
        return asyncio.ensure_future(self.ready(task, environment))

    async def start(self, ready: Ready, spec: SandboxSpec | None = None) -> Sandbox:
        """A sandbox that has waited."""
        return await self.backend.start(spec or ready.start_spec)

    async def grade(
        self,
        ready: Ready,  # noqa: ARG002 - nothing is looked at
        work: Manifest,  # noqa: ARG002
        trajectory: Trajectory | None = None,  # noqa: ARG002
        *,
        brief: bool = False,  # noqa: ARG002
    ) -> Grade:
        """No tests are run."""
        return Grade(0.0)


class One:
    """A source of one task."""

    digest = ""

    def __init__(self, task: Task) -> None:
        self.task = task

    def sample(self, rng: np.random.Generator) -> Task:  # noqa: ARG002 - there is no choice
        """The task."""
        return self.task

    def get(self, task_id: str) -> Task:  # noqa: ARG002 - there is no other
        """The task."""
        return self.task

    def __iter__(self) -> Iterator[Task]:
        return iter((self.task,))

    def observe(self, group: Sequence[EpisodeResult]) -> None:
        """Nothing is learned."""


class _Waiting(FakeBackend):
    async def start(self, spec: SandboxSpec) -> Sandbox:
        await asyncio.sleep(RESET_SEC)
        return _Slow(spec, lambda _: CommandResult(1, OUTPUT.encode()))


class _Slow(FakeSandbox):
    async def shell(
        self,
        command: str,
        *,
        timeout_sec: float = DEFAULT_TIMEOUT_SEC,
        max_output_bytes: int = DEFAULT_OUTPUT_BYTES,
    ) -> CommandResult:
        await asyncio.sleep(TOOL_SEC)
        return await super().shell(
            command, timeout_sec=timeout_sec, max_output_bytes=max_output_bytes
        )
