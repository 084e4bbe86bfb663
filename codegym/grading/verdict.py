"""From what a report claims to a verdict: the expected ids, each exactly once, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from codegym.types import Grade, Tampering, Task, TestOutcome


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a report comes to.

    Attributes:
        outcomes: One for each expected id, in the order expected.
        tampering: What the report should not have held.
    """

    outcomes: tuple[TestOutcome, ...]
    tampering: tuple[Tampering, ...]


def settle(expected: Sequence[str], records: Sequence[TestOutcome]) -> Verdict:
    """Hold a report against the ids that were assigned.

    A missing id stays ``missing``, with the message of the file or class that could not be
    collected, if there was one. An id that is reported twice counts as an error. Such an id, and
    one that was not assigned, can only come from code that writes to the report itself.
    """
    assigned = tuple(dict.fromkeys(expected))
    collectors = _collectors(assigned)
    found: dict[str, TestOutcome] = {}
    broken: dict[str, TestOutcome] = {}
    doubled: Counter[str] = Counter()
    strangers = False
    wanted = frozenset(assigned)
    for record in records:
        if record.id in wanted:
            doubled[record.id] += record.id in found
            found[record.id] = record
        elif record.id in collectors and record.outcome in ("error", "skipped"):
            broken[record.id] = record
        else:
            strangers = True
    outcomes = []
    for test_id in assigned:
        if doubled[test_id]:
            outcomes.append(TestOutcome(test_id, "error", message="reported more than once"))
        elif test_id in found:
            outcomes.append(found[test_id])
        else:
            cause = next((broken[name] for name in _above(test_id) if name in broken), None)
            outcomes.append(TestOutcome(test_id, "missing", message=cause.message if cause else ""))
    return Verdict(tuple(outcomes), _forgeries(any(doubled.values()), strangers))


def _forgeries(doubled: bool, strangers: bool) -> tuple[Tampering, ...]:
    """No id is named, as it could be a hidden one; nor how many, as that could spell one."""
    found = []
    if doubled:
        found.append(Tampering("report", "", "the report has tests more than once"))
    if strangers:
        found.append(Tampering("report", "", "the report has tests that were not asked for"))
    return tuple(found)


def _above(test_id: str) -> list[str]:
    """What a test is collected from, innermost first: class, file, folders, the session."""
    head, bracket, _ = test_id.partition("[")
    names = []
    path = head if bracket else test_id
    while "::" in path:
        path = path.rpartition("::")[0]
        names.append(path)
    while "/" in path:
        path = path.rpartition("/")[0]
        names += [f"{path}/__init__.py", path]
    return [*names, ".", ""]


def _collectors(expected: Sequence[str]) -> frozenset[str]:
    return frozenset(name for test_id in expected for name in _above(test_id))


def grade_of(
    task: Task,
    outcomes: Sequence[TestOutcome],
    tampering: Sequence[Tampering],
) -> Grade:
    """The score and its fractions; the rest of the grade is its maker's."""
    passed = {outcome.id for outcome in outcomes if outcome.outcome == "passed"}
    solved = passed.issuperset(task.test_ids) and not tampering
    return Grade(
        score=1.0 if solved else 0.0,
        outcomes=tuple(outcomes),
        fail_to_pass=_fraction(task.fail_to_pass, passed),
        pass_to_pass=_fraction(task.pass_to_pass, passed),
        tampering=tuple(tampering),
    )


def _fraction(ids: Sequence[str], passed: Collection[str]) -> float:
    return sum(test_id in passed for test_id in ids) / len(ids) if ids else 1.0
