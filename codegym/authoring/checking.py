"""Proves tasks: the gold patch grades 1, nothing at all grades 0, every time; else quarantine.

Each grade is a whole one, in a fresh sandbox, by the code that grades policies. Looked at too:
that no layer of a task tells its answer (it is attested when it is made ready), and that its image
holds no function of the tree that solves it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from codegym.authoring.protection import Protection, Shares, protection_of, shares
from codegym.errors import TaskError
from codegym.grading.progress import SILENT, Progress
from codegym.grading.setting import Ready, Setting
from codegym.grading.trials import retried, together, work_between, workers
from codegym.sandbox.images import shared_functions
from codegym.store import LayerStore
from codegym.tasks import Joined, Pack, TaskFile, read_quarantine, write_quarantine
from codegym.types import ASSURANCES, Assurance, Grade, Manifest, Task, Tree
from codegym.workspace.trees import gold_tree

REPEATS = 3
_SHOWN_CHARS = 300


@dataclass(frozen=True, slots=True)
class TaskCheck:
    """What a check found of one task.

    Attributes:
        task_id: The task.
        problem: Why it cannot be used, or ``""``.
        gold: Scores of the gold patch, one for each repeat.
        empty: Scores of no work at all, likewise.
        seconds: Wall time of the check.
        protection: What protects its grades; None where it was not graded on both sides.
        part: Which of a source's parts it is of.
    """

    task_id: str
    problem: str
    gold: tuple[float, ...] = ()
    empty: tuple[float, ...] = ()
    seconds: float = 0.0
    protection: Protection | None = None
    part: str = ""

    @property
    def holds(self) -> bool:
        """Whether the task is what it says."""
        return not self.problem


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found.

    Attributes:
        source: Name of the task source.
        repeats: How often each side was graded.
        tasks: Every task, those quarantined before among them, in the source's order.
        released: Tasks that were quarantined before and hold now.
        unwritten: Folders whose quarantine could not be written.
        seconds: Wall time in all.
    """

    source: str
    repeats: int
    tasks: tuple[TaskCheck, ...]
    released: tuple[str, ...] = ()
    unwritten: tuple[Path, ...] = ()
    seconds: float = field(default=0.0)

    @property
    def fallen(self) -> tuple[TaskCheck, ...]:
        """Those that do not hold."""
        return tuple(task for task in self.tasks if not task.holds)

    @property
    def holds(self) -> bool:
        """Whether every task holds."""
        return not self.fallen

    @property
    def shares(self) -> Shares:
        """What protects its tasks' grades."""
        return _shares(self.tasks)

    @property
    def shares_of_parts(self) -> Mapping[str, Shares]:
        """The same of each of the source's parts."""
        parts: dict[str, list[TaskCheck]] = {}
        for task in self.tasks:
            parts.setdefault(task.part, []).append(task)
        return {name: _shares(tasks) for name, tasks in parts.items()}


def _shares(tasks: Sequence[TaskCheck]) -> Shares:
    return shares([task.protection for task in tasks if task.protection])


async def check(
    source: TaskFile | Joined,
    setting: Setting,
    repeats: int = REPEATS,
    progress: Progress = SILENT,
    *,
    store: LayerStore | None = None,
) -> CheckReport:
    """Check all tasks of a source, and write which of them do not hold beside their rows.

    Args:
        source: Its quarantined tasks are checked too, and released where they hold.
        setting: Grades.
        repeats: How often each side is graded.
        progress: Told how it goes.
        store: Where layers are; the setting's.

    Raises:
        SandboxError: The infrastructure broke, more than once: nothing is written.
        DataError: An environment is broken. ``UnavailableError``: this machine lacks something.
    """
    began = time.perf_counter()
    store = store or LayerStore()
    parts = source.parts if isinstance(source, Joined) else (source,)
    tasks = [(part, task) for part in parts for task in part.all_tasks()]
    progress.begin(f"tasks of {source.name}", len(tasks))
    free = asyncio.Semaphore(workers())

    async def one(part: TaskFile, task: Task) -> TaskCheck:
        least = part.info.least_assurance if isinstance(part, Pack) else ASSURANCES[0]
        async with free:
            checked = await _check_task(setting, task, repeats, store, least)
            checked = replace(checked, part=part.name)
        progress.advance(f"{task.instance_id} {'holds' if checked.holds else 'FALLS'}")
        return checked

    checks = await together(one(part, task) for part, task in tasks)
    released, unwritten = [], []
    for part in parts:
        own = [each for each, (owner, _) in zip(checks, tasks, strict=True) if owner is part]
        released += [
            each.task_id for each in own if each.holds and each.task_id in part.quarantined
        ]
        if not _record(part, own):
            unwritten.append(part.path.parent)
    return CheckReport(
        source=source.name,
        repeats=repeats,
        tasks=tuple(checks),
        released=tuple(released),
        unwritten=tuple(unwritten),
        seconds=time.perf_counter() - began,
    )


def _record(part: TaskFile, checks: Sequence[TaskCheck]) -> bool:
    """Bring the quarantine up to date; returns False where the folder cannot be written to."""
    before, checked = read_quarantine(part.path), {each.task_id for each in checks}
    kept = {one: before[one] for one in before if part.narrowed and one not in checked}
    reasons = kept | {each.task_id: each.problem for each in checks if not each.holds}
    if reasons == before:
        return True
    try:
        write_quarantine(part.path, reasons)
    except OSError:
        return False
    return True


async def _check_task(
    setting: Setting, task: Task, repeats: int, store: LayerStore, least: Assurance
) -> TaskCheck:
    began = time.perf_counter()
    gold: list[Grade] = []
    empty: list[Grade] = []
    protection = None
    try:
        ready = await retried(lambda: setting.ready(task))
        solved = await asyncio.to_thread(gold_tree, task, ready.environment)
        problem = await asyncio.to_thread(_similar, ready, solved, store)
        problem = problem or await _graded(setting, ready, solved, repeats, gold, empty)
        if gold and empty:
            protection = await protection_of(setting, ready, gold[0], empty[0])
            problem = problem or _unprotected(protection, least)
    except TaskError as error:
        problem = error.problem
    return TaskCheck(
        task.instance_id,
        problem,
        tuple(grade.score for grade in gold),
        tuple(grade.score for grade in empty),
        time.perf_counter() - began,
        protection,
    )


def _unprotected(protection: Protection, least: Assurance) -> str:
    if ASSURANCES.index(protection.assurance) >= ASSURANCES.index(least):
        return ""
    return f"its grades are {protection.assurance}, and the pack asks for {least}"


def _similar(ready: Ready, solved: Tree, store: LayerStore) -> str:
    known = set(shared_functions(ready.image, ready.prepared.start_tree, store))
    matches = [m for m in shared_functions(ready.image, solved, store) if m not in known]
    if not matches:
        return ""
    first = matches[0]
    return (
        f"the image holds {len(matches)} functions of the solved tree, {first.function} of "
        f"{first.path} as {first.image_function} in {first.image_path} among them"
    )


async def _graded(
    setting: Setting,
    ready: Ready,
    solved: Tree,
    repeats: int,
    gold: list[Grade],
    empty: list[Grade],
) -> str:
    """Grade both sides so often, noting the grades; says the first thing that is wrong."""
    solution = work_between(ready.prepared.start_tree, solved)

    async def of(work: Manifest) -> Grade:
        return await retried(lambda: setting.grade(ready, work))

    for _ in range(repeats):
        for work, grades, expected in ((solution, gold, 1.0), (Manifest(), empty, 0.0)):
            grade = await of(work)
            grades.append(grade)
            if problem := _wrong(grade, expected, ready.task):
                return problem
    return ""


def _wrong(grade: Grade, expected: float, task: Task) -> str:
    if grade.score != expected:
        side = "the gold patch" if expected else "no work at all"
        return f"{side} graded {grade.score:g}: {_account(grade)}"
    if expected:
        return ""
    # A task asks for exactly its failing tests, and all of them.
    outcomes: Mapping[str, str] = {each.id: each.outcome for each in grade.outcomes}
    passing = [test_id for test_id in task.fail_to_pass if outcomes.get(test_id) == "passed"]
    failing = [test_id for test_id in task.pass_to_pass if outcomes.get(test_id) != "passed"]
    if passing:
        return f"without any work, {passing[0]} of FAIL_TO_PASS passes already"
    if failing:
        return f"without any work, {failing[0]} of PASS_TO_PASS does not pass"
    return ""


def _account(grade: Grade) -> str:
    if grade.tampering:
        return f"{grade.tampering[0].path}: {grade.tampering[0].detail}"
    if grade.refused:
        return (
            f"{grade.refused[0].path} did not cross ({grade.refused[0].reason}); {_failed(grade)}"
        )
    return _failed(grade)


def _failed(grade: Grade) -> str:
    bad = [each for each in grade.outcomes if each.outcome != "passed"]
    if not bad:
        return "all its tests pass"
    return f"{bad[0].id} {bad[0].outcome} {bad[0].message.strip()[-_SHOWN_CHARS:]}".strip()
