"""A grade in words, short enough for a model to learn from. Nothing of hidden tests is in it.

That the score is 0 although all shown tests pass already says that some check failed, so the text
says as much and no more. Where a task has hidden tests, no message of a test is quoted either: the
code under test runs beside the hidden ones and could copy them into the message of a shown one.
"""

from __future__ import annotations

from collections.abc import Sequence

from codegym.tasks.knobs import Knobs
from codegym.types import Grade, Refusal, Tampering, Task, TestOutcome

MAX_CHARS = 1500
_MAX_MESSAGE_CHARS = 700
_MAX_LINES = 14
_MAX_NAMED = 4


def feedback(grade: Grade, task: Task, note: str = "") -> str:
    """Write a grade's text.

    Args:
        grade: All of it but the text.
        task: Says which tests are hidden.
        note: Something of the run as a whole, such as that it ran out of time.

    Returns:
        At most ``MAX_CHARS`` characters.
    """
    shown = [outcome for outcome in grade.outcomes if outcome.id not in task.hidden]
    failed = [outcome for outcome in shown if outcome.outcome != "passed"]
    parts = [_summary(grade, task, shown)]
    if grade.tampering:
        parts.append(_tampering(grade.tampering))
    if note:
        parts.append(note)
    if failed:
        told = not task.hidden and Knobs.of(task).tracebacks
        parts.append(_failure(failed[0], quote=told))
    elif not grade.solved and not grade.tampering:
        parts.append("All tests you can see pass, but other checks failed.")
    if grade.refused:
        parts.append(_refused(grade.refused))
    if grade.attempts:
        named = ", ".join(dict.fromkeys(attempt.detail for attempt in grade.attempts[:_MAX_NAMED]))
        parts.append(f"Looked for in vain: {named}.")
    text = "\n".join(parts)
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"


def _summary(grade: Grade, task: Task, shown: Sequence[TestOutcome]) -> str:
    passed = {outcome.id for outcome in shown if outcome.outcome == "passed"}
    counts = []
    kinds = (task.fail_to_pass, "tests that failed now"), (task.pass_to_pass, "others still")
    for ids, what in kinds:
        mine = [test_id for test_id in ids if test_id not in task.hidden]
        if mine:
            done = sum(test_id in passed for test_id in mine)
            counts.append(f"{done} of {len(mine)} {what} pass")
    head = "Solved" if grade.solved else "Not solved"
    return f"{head}: {', '.join(counts)}." if counts else f"{head}."


def _tampering(tampering: Sequence[Tampering]) -> str:
    lines = [
        f"  {one.kind}: {one.path + ' ' if one.path else ''}{one.detail}"
        for one in tampering[:_MAX_NAMED]
    ]
    if len(tampering) > _MAX_NAMED:
        lines.append(f"  and {len(tampering) - _MAX_NAMED} more")
    return "\n".join(["The score is 0 because of tampering:", *lines])


def _failure(outcome: TestOutcome, *, quote: bool) -> str:
    said = {"missing": "did not run", "error": "ended in an error", "skipped": "was skipped"}
    head = f"First that does not pass: {outcome.id} {said.get(outcome.outcome, 'failed')}."
    return "\n".join([head, *(f"  {line}" for line in (_last(outcome.message) if quote else []))])


def _last(message: str) -> list[str]:
    """The last lines, whole ones where there are any."""
    lines = message[-_MAX_MESSAGE_CHARS:].splitlines()
    if len(message) > _MAX_MESSAGE_CHARS and len(lines) > 1:
        del lines[0]
    return lines[-_MAX_LINES:]


def _refused(refused: Sequence[Refusal]) -> str:
    named = [f"{one.path} ({one.reason})" if one.path else one.reason for one in refused]
    rest = len(named) - _MAX_NAMED
    tail = f"; and {rest} more" if rest > 0 else ""
    return f"Not taken: {'; '.join(named[:_MAX_NAMED])}{tail}."
