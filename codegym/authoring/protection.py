"""What protects the grades of a source's tasks, and whether observation agrees with assertion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from codegym.grading.setting import Ready, Setting
from codegym.grading.trials import run_on
from codegym.grading.verdict import settle
from codegym.types import ASSURANCES, Assurance, Grade, Task, TestOutcome

#: A bound at or below this is as good as no chance.
SMALL_BOUND = 1e-6


@dataclass(frozen=True, slots=True)
class Protection:
    """What protects one task's grade.

    Attributes:
        tests: How many FAIL_TO_PASS tests have each assurance.
        siblings: How many held-out variants have to pass.
        familiar: Those of them that are answered as shown tests are, where it counts.
        hard_codable: Whether a table of the tests' inputs would pass, or may.
        forging_bound: The chance that the values are guessed.
        failing: Without any work, tests that fail by both, assertion and observation.
        assertion_only: Tests that then fail by assertion only, by id.
        observation_only: By observation only.
        notes: Why its tests are not observed, for a person.
    """

    tests: Mapping[Assurance, int] = field(default_factory=dict)
    siblings: int = 0
    familiar: int = 0
    hard_codable: bool = True
    forging_bound: float = 1.0
    failing: int = 0
    assertion_only: tuple[str, ...] = ()
    observation_only: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def assurance(self) -> Assurance:
        """That of the test with the least."""
        return next((level for level in ASSURANCES if self.tests.get(level)), "report_only")


async def protection_of(setting: Setting, ready: Ready, gold: Grade, empty: Grade) -> Protection:
    """What the grades of a task's two sides tell of it, and a run of its tests as they are.

    Args:
        setting: Runs them.
        ready: The task.
        gold: A grade of its solution.
        empty: A grade of no work.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    failing, assertion_only, observation_only, notes, familiar = 0, [], [], list[str](), 0
    recording = await setting.recording(ready)
    if recording is not None and recording.covers(ready.task.test_ids):
        familiar = len(recording.siblings_of(ready.task.fail_to_pass, familiar=True))
        run = await run_on(setting, ready, ids=ready.task.test_ids)
        asserted = _failed(ready.task, settle(ready.task.test_ids, run.records).outcomes)
        observed = _failed(ready.task, empty.outcomes)
        failing = len(asserted & observed)
        assertion_only = sorted(asserted - observed)
        observation_only = sorted(observed - asserted)
    elif recording is not None:
        left = [test_id for test_id in ready.task.test_ids if test_id not in recording.tests]
        said = f"{left[0]} cannot be observed" + (f", nor {len(left) - 1} more" * (len(left) > 1))
        notes = [*recording.notes] or [said]
    return Protection(
        tests=gold.protection,
        siblings=gold.siblings,
        familiar=familiar,
        hard_codable=gold.hard_codable,
        forging_bound=gold.forging_bound,
        failing=failing,
        assertion_only=tuple(assertion_only),
        observation_only=tuple(observation_only),
        notes=tuple(notes),
    )


def _failed(task: Task, outcomes: Sequence[TestOutcome]) -> frozenset[str]:
    return frozenset(task.test_ids) - {one.id for one in outcomes if one.outcome == "passed"}


@dataclass(frozen=True, slots=True)
class Shares:
    """The same of many tasks.

    Attributes:
        tasks: How many.
        fail_to_pass: How many FAIL_TO_PASS tests they have.
        tests: Share of FAIL_TO_PASS tests by assurance; none where there are no tasks.
        siblings: Share of tasks with siblings that take another answer than a shown test.
        familiar: Share of tasks whose siblings take shown answers, to other inputs.
        hard_codable: Share of tasks that a table of inputs would pass, or may.
        forging_bound: Median over tasks.
        small_bound: Share of tasks whose bound is ``SMALL_BOUND`` or less.
        failing: Tests that fail without any work, by assertion and by observation.
        assertion_only: By assertion only.
        observation_only: By observation only.
    """

    tasks: int
    fail_to_pass: int
    tests: Mapping[Assurance, float]
    siblings: float
    familiar: float
    hard_codable: float
    forging_bound: float
    small_bound: float
    failing: int
    assertion_only: int
    observation_only: int


def shares(found: Sequence[Protection]) -> Shares:
    """Put those of many tasks together."""
    counts: Counter[Assurance] = Counter()
    for one in found:
        counts.update(one.tests)
    total = counts.total()
    each = max(1, len(found))
    return Shares(
        tasks=len(found),
        fail_to_pass=total,
        tests={level: counts[level] / total for level in reversed(ASSURANCES)} if total else {},
        siblings=sum(one.siblings > one.familiar for one in found) / each,
        familiar=sum(one.siblings == one.familiar > 0 for one in found) / each,
        hard_codable=sum(one.hard_codable for one in found) / each,
        forging_bound=median(one.forging_bound for one in found) if found else 1.0,
        small_bound=sum(one.forging_bound <= SMALL_BOUND for one in found) / each,
        failing=sum(one.failing for one in found),
        assertion_only=sum(len(one.assertion_only) for one in found),
        observation_only=sum(len(one.observation_only) for one in found),
    )
