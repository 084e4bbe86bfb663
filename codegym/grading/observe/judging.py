"""From a report in observation to a grade, and to how far it can be believed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from codegym.grading.observe.agreement import EXACT, Agreement, agree, sibling_agrees
from codegym.grading.observe.guessing import NAME_BITS, bits
from codegym.grading.observe.literals import literals
from codegym.grading.observe.natures import class_names
from codegym.grading.observe.recording import (
    Recording,
    TestRecord,
    file_of,
    pairs,
)
from codegym.grading.observe.sites import Site
from codegym.grading.observe.values import describe, order
from codegym.grading.verdict import grade_of, settle
from codegym.types import (
    ASSURANCES,
    Assurance,
    Evidence,
    Grade,
    Tampering,
    Task,
    TestOutcome,
    Value,
)

#: What a test must have shown to count as observed: more than a truth value.
INFORMATIVE_BITS = 2.0
_ANY_ERROR = {"builtins.BaseException", "builtins.Exception"}


def keys_of(recording: Recording, task: Task) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a grade runs, by key: the task's tests, and the siblings of its failing ones."""
    own = tuple(recording.tests[test_id].key for test_id in dict.fromkeys(task.test_ids))
    return own, tuple(test.key for test in recording.siblings_of(task.fail_to_pass))


def observed(
    recording: Recording,
    task: Task,
    evidence: Evidence,
    records: Sequence[TestOutcome],
    tampering: Sequence[Tampering] = (),
    sources: Collection[bytes] = (),
) -> Grade:
    """Hold a report against the recording: the grade, without the rest of its maker's.

    Args:
        recording: What the tests saw on the solved tree; covers the task's tests.
        task: Its ids are judged.
        evidence: What was seen; untrusted.
        records: What was reported, by key; untrusted.
        tampering: What was found before.
        sources: The files that the answer changes, as they were shown.
    """
    own, held_out = keys_of(recording, task)
    verdict = settle((*own, *held_out), records)
    by_key = {outcome.id: outcome for outcome in verdict.outcomes}
    outcomes, weakened = [], set()
    for test_id in dict.fromkeys(task.test_ids):
        test = recording.tests[test_id]
        outcome = replace(by_key[test.key], id=test_id)
        if outcome.outcome == "passed":
            found = _compared(recording, test, evidence)
            outcome = outcome if found.holds else _failed(outcome, found, test_id in task.hidden)
            if found.differs:
                weakened.add(test_id)
        outcomes.append(outcome)
    passed = sum(
        by_key[test.key].outcome == "passed" and _sibling_holds(recording, test, evidence)
        for test in recording.siblings_of(task.fail_to_pass)
    )
    grade = grade_of(task, outcomes, (*tampering, *verdict.tampering))
    grade = replace(
        grade,
        score=grade.score if passed == len(held_out) else 0.0,
        siblings=len(held_out),
        siblings_passed=passed,
        hard_codable=hard_codable(recording, task, sources),
        forging_bound=forging_bound(recording, task, sources),
    )
    return with_protection(grade, recording, task, weakened=weakened)


def with_protection(
    grade: Grade,
    recording: Recording,
    task: Task,
    *,
    weakened: Collection[str] = (),
    controlled: Collection[str] = (),
) -> Grade:
    """The grade with what protects each failing test.

    Args:
        grade: Any grade of the task.
        recording: What is known of its tests.
        task: The task.
        weakened: Tests that agree with themselves where they do not with the solved tree.
        controlled: Tests whose controls did as they should.
    """
    levels = Counter(
        _assurance(recording, task, test_id, weakened, controlled) for test_id in task.fail_to_pass
    )
    least = next(level for level in ASSURANCES if levels[level])
    return replace(grade, assurance=least, protection=dict(levels))


def _assurance(
    recording: Recording,
    task: Task,
    test_id: str,
    weakened: Collection[str],
    controlled: Collection[str],
) -> Assurance:
    if recording.asks_anew(test_id):
        return "observed"
    if test_id in controlled:
        return "controls"
    if informative(recording, test_id, hidden=test_id in task.hidden) and test_id not in weakened:
        return "observed"
    return "report_only"


def _compared(recording: Recording, test: TestRecord, evidence: Evidence) -> Agreement:
    sites = recording.sites_of(test.key)
    return agree(test.pairs, pairs(evidence.observations.get(test.key, ()), sites), sites)


def _sibling_holds(recording: Recording, test: TestRecord, evidence: Evidence) -> bool:
    sites = recording.sites_of(test.key)
    seen = pairs(evidence.observations.get(test.key, ()), sites)
    return sibling_agrees(test.pairs, seen, sites)


def _failed(outcome: TestOutcome, found: Agreement, hidden: bool) -> TestOutcome:
    """The test failed outside; a hidden one says nothing."""
    if hidden:
        message = ""
    elif found.site is None:
        message = "it made assertions that it should not have come to"
    elif found.value is None:
        message = f"line {found.site.line}: `{found.site.text}`: was not come to as often as it is"
    else:
        message = f"line {found.site.line}: `{found.site.text}`: got {describe(found.value)}"
    return replace(outcome, outcome="failed", message=message)


def informative(recording: Recording, test_id: str, *, hidden: bool) -> bool:
    """Whether a test's own values are more than a truth value, and unsolved code lacks any.

    Several truth values in some order are, and so is the class of an exception.

    Those of a hidden test do not count where its source, which code under test can read, has them;
    those of a test that is shown are known anyway.
    """
    if test_id in recording.blind:
        return False
    test = recording.tests[test_id]
    sites = recording.sites_of(test.key)
    values = _exact_values(test, sites, sealed=hidden)
    told = sum(map(bits, values)) + _raised_bits(test, sites, sealed=hidden)
    return told + _order_bits(test, sites) >= INFORMATIVE_BITS


def _raised_bits(test: TestRecord, sites: Mapping[int, Site], *, sealed: bool) -> float:
    """Bits in the classes of what is raised; that it is any exception at all is a truth value."""
    meant = {
        pair.expected.parts[0]
        for pair in test.pairs
        if (site := sites[pair.site]).form == "raises"
        and pair.expected is not None
        and (not sealed or site.sealed or site.sides == "both")
    }
    return NAME_BITS * sum(not _ANY_ERROR & (class_names(one) or _ANY_ERROR) for one in meant)


def _order_bits(test: TestRecord, sites: Mapping[int, Site]) -> float:
    """Bits in the order that different truth values come in."""
    truths = [
        site.op == "true" if site.form == "truth" else bool(pair.actual.leaf)
        for pair in test.pairs
        if (site := sites[pair.site]).form == "truth"
        or (site.op in EXACT and pair.actual.kind == "bool")
    ]
    return math.log2(math.comb(len(truths), sum(truths)))


def _exact_values(test: TestRecord, sites: Mapping[int, Site], *, sealed: bool) -> set[Value]:
    """Values that a test cannot pass without; where ``sealed``, that its source does not tell."""
    return {
        pair.actual
        for pair in test.pairs
        if (site := sites[pair.site]).op in EXACT
        and (not sealed or site.sealed or site.sides == "both")
    }


def hard_codable(recording: Recording, task: Task, sources: Collection[bytes] = ()) -> bool:
    """Whether a table of the shown tests' inputs, with one answer for all others, passes, or may.

    It may where no sibling takes an answer that neither shown tests nor ``sources`` have: its input
    may be in the table, and where not, what it takes may be the one answer. So may a truth value
    be, shown or not.
    """
    known = _shown(recording, task).union(*map(literals, sources))
    return task.hidden.isdisjoint(task.fail_to_pass) and not any(
        value not in known and bits(value) >= INFORMATIVE_BITS
        for test in recording.siblings_of(task.fail_to_pass)
        for value in test.lacking
    )


def _shown(recording: Recording, task: Task) -> set[Value]:
    """The values of shown tests."""
    return {
        pair.actual
        for test_id in task.test_ids
        if test_id not in task.hidden
        for pair in recording.tests[test_id].pairs
    }


def forging_bound(recording: Recording, task: Task, sources: Collection[bytes] = ()) -> float:
    """The chance that values are guessed by one who knows the tests that are shown.

    Only values that an assertion holds to exactly count, each once. Counted are those of siblings
    that unsolved code does not give, and those of failing tests that are hidden. Known are all
    values of shown tests, and whatever is written in ``sources`` and in the modules of tests as
    they are laid into a grade, siblings' inputs among it.
    """
    shown = _shown(recording, task)
    lacking: set[Value] = set()
    files: set[str] = set()
    for test_id in task.fail_to_pass:
        test = recording.tests[test_id]
        files |= {file_of(test.key), *recording.files_of(test)}
        if test_id in task.hidden - recording.blind:
            lacking |= _exact_values(test, recording.sites_of(test.key), sealed=True)
    for test in recording.siblings_of(task.fail_to_pass):
        lacking.update(test.lacking)
    written = map(literals, (*sources, *(recording.sources.get(path, b"") for path in files)))
    # All together, in no container that has a size to be guessed: what was said once is known.
    together = Value("std", parts=tuple(sorted(lacking - shown, key=order)))
    return float(2.0 ** -bits(together, shown.union(*written)))
