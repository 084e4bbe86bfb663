"""A candidate becomes a task when running it shows that it is one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from codegym.authoring.sorting import Reason, Sorted, sort_tests
from codegym.errors import TaskError
from codegym.grading.features import features_of
from codegym.grading.setting import Setting
from codegym.grading.suites import SuiteRun
from codegym.grading.trials import run_on, summarise, work_between
from codegym.tasks import Environment
from codegym.types import Change, Task
from codegym.workspace.trees import gold_tree

REPEATS = 3
#: Stands for the tests of a candidate until running it has found them.
UNKNOWN_TESTS = ("?",)


@dataclass(frozen=True, slots=True)
class Proof:
    """What running a candidate showed: the task, or why it is none."""

    task: Task | None
    reason: Reason | None = None
    detail: str = ""


async def prove(setting: Setting, environment: Environment, candidate: Task) -> Proof:
    """Run a candidate's suite on its start and on its solution, and sort its tests.

    Args:
        setting: Runs it.
        environment: Whose it is.
        candidate: A task whose tests are not known yet.

    Raises:
        SandboxError: The infrastructure broke: nothing is known of the candidate.
        DataError: The environment is broken.
        UnavailableError: This machine lacks something.
    """
    try:
        ready = await setting.ready(candidate, environment)
        gold = await asyncio.to_thread(gold_tree, candidate, environment)
    except TaskError as error:
        return Proof(None, "leak", error.problem)
    solution = work_between(ready.prepared.grading_tree, gold).changes

    async def runs(changes: Sequence[Change], count: int) -> list[SuiteRun]:
        return [await run_on(setting, ready, changes) for _ in range(count)]

    # Most that are no task show it at once.
    start_runs, gold_runs = await runs((), 1), await runs(solution, 1)
    found = _sorted(start_runs, gold_runs)
    if found.reason is None:
        start_runs += await runs((), REPEATS - 1)
        gold_runs += await runs(solution, REPEATS - 1)
        found = _sorted(start_runs, gold_runs)
    if found.reason is not None:
        return Proof(None, found.reason, found.detail)
    return Proof(_completed(candidate, found))


def _sorted(start: Sequence[SuiteRun], gold: Sequence[SuiteRun]) -> Sorted:
    return sort_tests(summarise(start), summarise(gold))


def _completed(candidate: Task, found: Sorted) -> Task:
    task = replace(candidate, fail_to_pass=found.fail_to_pass, pass_to_pass=found.pass_to_pass)
    counted = dict(features_of(task), tests_left_out=found.left_out)
    return replace(task, features=counted)
