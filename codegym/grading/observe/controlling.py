"""Runs controls on a policy's work."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from codegym.grading.fresh import run_fresh, together, workers
from codegym.grading.observe.controls import (
    TOGETHER,
    Asked,
    controls,
    copies,
    draws,
    needs_controls,
)
from codegym.grading.observe.judging import with_protection
from codegym.grading.observe.laying import laid, modules_of
from codegym.grading.observe.modules import TestModule
from codegym.grading.observe.recording import Recording, file_of, function_of
from codegym.grading.ready import Ready
from codegym.grading.suites import SuiteRun, Watch
from codegym.sandbox.base import Backend
from codegym.types import Change, Grade, Tampering

_OPPOSITE = "a test passed although it asked the opposite"
_NOT_ALWAYS = "a test that passed did not pass every time"


async def controlled(
    backend: Backend, ready: Ready, work: Sequence[Change], recording: Recording, grade: Grade
) -> Grade:
    """Run the controls that a grade needs, on work that passed all else.

    Returns:
        The grade: with what protects it, or 0.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    ids = [
        test_id
        for test_id in ready.task.fail_to_pass
        if test_id in recording.controlled
        and needs_controls(recording, test_id, hidden=test_id in ready.task.hidden)
    ]
    if not ids:
        return grade
    keys = [recording.tests[test_id].key for test_id in ids]
    asking = await _Asking.of(backend, ready, work, recording, keys)
    # Where copies in one process disturb each other, each has one of its own.
    problem = await asking.problem(TOGETHER) and await asking.problem(1)
    if problem:
        tampering = (*grade.tampering, Tampering("controls", "", problem))
        return replace(grade, score=0.0, tampering=tampering)
    return with_protection(grade, recording, ready.task, controlled=frozenset(ids))


@dataclass(frozen=True)
class _Asking:
    """Asks tests, as they are and the opposite.

    Attributes:
        homes: The function that a test runs, where it is written, by key.
    """

    backend: Backend
    ready: Ready
    work: Sequence[Change]
    modules: Mapping[str, TestModule]
    homes: Mapping[str, str]

    @classmethod
    async def of(
        cls,
        backend: Backend,
        ready: Ready,
        work: Sequence[Change],
        recording: Recording,
        keys: Sequence[str],
    ) -> _Asking:
        homes = {key: recording.home_of(function_of(key)) for key in keys}
        files = frozenset(map(file_of, homes.values()))
        modules = await asyncio.to_thread(modules_of, ready, ready.prepared.grading_tree, files)
        return cls(backend, ready, work, modules, homes)

    async def problem(self, size: int) -> str:
        """What is wrong, if anything, where so many copies share a process."""
        free = asyncio.Semaphore(workers())

        async def asked(flags: Asked) -> str:
            async with free:
                return await self._asked(flags)

        drawn = draws(list(dict.fromkeys(self.homes.values())), size)
        return next(filter(None, await together(map(asked, drawn))), "")

    async def _asked(self, flags: Asked) -> str:
        sources = controls(self.modules, flags)
        laying = laid({path: text.encode() for path, text in sources.items()}, self.ready)
        inverted = dict(
            copy for key, home in self.homes.items() for copy in copies(key, flags[home])
        )
        watch = Watch(tuple(inverted), brief=True)
        run = await run_fresh(self.backend, self.ready, [*self.work, *laying], watch=watch)
        return _problem(inverted, run)


def _problem(inverted: Mapping[str, bool], run: SuiteRun) -> str:
    """What is wrong, if anything: real ones pass once, inverted ones never."""
    passes = Counter(one.id for one in run.records if one.outcome == "passed")
    reports = Counter(one.id for one in run.records)
    if any(passes[key] for key, opposite in inverted.items() if opposite):
        return _OPPOSITE
    real = (key for key, opposite in inverted.items() if not opposite)
    return "" if all(passes[key] == reports[key] == 1 for key in real) else _NOT_ALWAYS
