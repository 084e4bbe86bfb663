"""Runs controls on a policy's work."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from codegym.grading.fresh import run_fresh, together, workers
from codegym.grading.observe.controls import controls, draws, needs_controls
from codegym.grading.observe.judging import with_protection
from codegym.grading.observe.laying import laid, modules_of
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
    homes = {key: recording.home_of(function_of(key)) for key in keys}
    files = frozenset(map(file_of, homes.values()))
    modules = await asyncio.to_thread(modules_of, ready, ready.prepared.grading_tree, files)
    drawn = draws(list(dict.fromkeys(homes.values())))
    free = asyncio.Semaphore(workers())

    async def run(inverted: Mapping[str, bool]) -> SuiteRun:
        sources = {path: text.encode() for path, text in controls(modules, inverted).items()}
        changes = [*work, *laid(sources, ready)]
        async with free:
            return await run_fresh(backend, ready, changes, watch=Watch(tuple(keys), brief=True))

    runs = await together(run(inverted) for inverted in drawn)
    problem = _problem(zip(drawn, runs, strict=True), homes)
    if problem:
        tampering = (*grade.tampering, Tampering("controls", "", problem))
        return replace(grade, score=0.0, tampering=tampering)
    return with_protection(grade, recording, ready.task, controlled=frozenset(ids))


def _problem(runs: Iterable[tuple[Mapping[str, bool], SuiteRun]], homes: Mapping[str, str]) -> str:
    """What is wrong, if anything: real ones pass, inverted ones do not."""
    for inverted, run in runs:
        counts = Counter(record.id for record in run.records)
        passed = {one.id for one in run.records if one.outcome == "passed" and counts[one.id] == 1}
        for key, home in homes.items():
            if inverted[home] and any(
                one.id == key and one.outcome == "passed" for one in run.records
            ):
                return _OPPOSITE
            if not inverted[home] and key not in passed:
                return _NOT_ALWAYS
    return ""
