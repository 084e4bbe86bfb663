"""Whether siblings still have the answers that were recorded: some hang on the date.

A recording is kept for long, and what is asked of a calendar is answered otherwise next year. So
before work is refused for its siblings alone, the solved tree is asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegym.grading.observe.agreement import sibling_agrees
from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.recording import Recording, TestRecord
from codegym.types import Grade


def by_siblings_alone(grade: Grade) -> bool:
    """Whether nothing else speaks against the work."""
    own = grade.fail_to_pass == grade.pass_to_pass == 1.0 and not grade.tampering
    return own and grade.siblings_passed < grade.siblings


def still_true(recording: Recording, solved: Sight) -> Recording:
    """The recording without the siblings that are answered otherwise by now.

    One that failed, or was cut off, stays: that a machine is busy takes no sibling away.

    Args:
        recording: Of the task.
        solved: A run of its siblings on the solved tree.
    """

    def holds(test: TestRecord) -> bool:
        seen = solved.pairs(test.key, recording.sites_of(test.key))
        passed = test.key in solved.passed
        return not passed or sibling_agrees(test.pairs, seen, recording.sites_of(test.key))

    def left(variants: Sequence[tuple[TestRecord, ...]]) -> tuple[tuple[TestRecord, ...], ...]:
        kept = (tuple(test for test in variant if holds(test)) for variant in variants)
        return tuple(variant for variant in kept if variant)

    found = {name: left(variants) for name, variants in recording.siblings.items()}
    if found == recording.siblings:
        return recording
    return replace(recording, siblings={name: each for name, each in found.items() if each})
