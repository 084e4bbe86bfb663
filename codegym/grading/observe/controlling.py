"""Runs controls on a policy's work."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from codegym.grading.fresh import run_fresh, together, workers
from codegym.grading.observe.controls import Asked, controls, copies, draws, needs_controls
from codegym.grading.observe.judging import with_protection
from codegym.grading.observe.laying import laid, modules_of
from codegym.grading.observe.modules import Control
from codegym.grading.observe.recording import Recording, file_of, function_of
from codegym.grading.ready import Ready
from codegym.grading.suites import SuiteRun, Watch
from codegym.sandbox.base import Backend
from codegym.types import Change, Grade, Tampering

_OPPOSITE = "a test passed although it failed at once, or asked the opposite"
_NOT_ALWAYS = "a test that passed did not pass every time"


async def controlled(
    backend: Backend, ready: Ready, work: Sequence[Change], recording: Recording, grade: Grade
) -> Grade:
    """Run the controls that a grade needs, on work that passed all else.

    Where copies in one process go wrong, each has one of its own: they may disturb each other.

    Returns:
        The grade: with what protects it, or 0.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    sizes = {
        test_id: recording.controlled[test_id]
        for test_id in ready.task.fail_to_pass
        if test_id in recording.controlled
        and needs_controls(recording, test_id, hidden=test_id in ready.task.hidden)
    }
    if not sizes:
        return grade
    keys = {test_id: recording.tests[test_id].key for test_id in sizes}
    homes = {key: recording.home_of(function_of(key)) for key in keys.values()}
    files = frozenset(map(file_of, homes.values()))
    modules = await asyncio.to_thread(modules_of, ready, ready.prepared.grading_tree, files)
    free = asyncio.Semaphore(workers())

    async def run(asked: Asked, some: Sequence[str]) -> str:
        async with free:
            sources = await asyncio.to_thread(controls, modules, asked)
            laying = laid({path: text.encode() for path, text in sources.items()}, ready)
            kinds = dict(copy for key in some for copy in copies(key, asked[homes[key]]))
            watch = Watch(tuple(kinds), brief=True)
            ran = await run_fresh(backend, ready, [*work, *laying], watch=watch)
        return _problem(kinds, ran)

    async def problem(some: Sequence[str], size: int) -> str:
        drawn = draws(list(dict.fromkeys(homes[key] for key in some)), size)
        return next(filter(None, await together(run(asked, some) for asked in drawn)), "")

    found = ""
    for size in sorted(set(sizes.values()), reverse=True):
        some = [keys[test_id] for test_id, known in sizes.items() if known == size]
        found = found or await problem(some, size)
        if found and size > 1:
            found = await problem(some, 1)
    if found:
        tampering = (*grade.tampering, Tampering("controls", "", found))
        return replace(grade, score=0.0, tampering=tampering)
    return with_protection(grade, recording, ready.task, controlled=frozenset(sizes))


def _problem(kinds: Mapping[str, Control], run: SuiteRun) -> str:
    """What is wrong, if anything: real ones pass once, all others never."""
    passes = Counter(one.id for one in run.records if one.outcome == "passed")
    reports = Counter(one.id for one in run.records)
    if any(passes[key] for key, kind in kinds.items() if kind != "real"):
        return _OPPOSITE
    real = (key for key, kind in kinds.items() if kind == "real")
    return "" if all(passes[key] == reports[key] == 1 for key in real) else _NOT_ALWAYS
