"""Whether what the fast stage sees is what an import of the edit shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codegym.grading.setting import Setting
from codegym.grading.trials import run_on, together
from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate
from codegym.mutation.confirm import bound_sec
from codegym.mutation.trial import Trial, judge, judge_looks
from codegym.mutation.warm.session import Warmth, afresh
from codegym.mutation.warm.stage import Seen
from codegym.types import Change, Manner

_PATIENCE, _GRACE_SEC = 20.0, 60.0


@dataclass(frozen=True, slots=True)
class Difference:
    """A candidate whose failing tests are others when it is imported.

    Attributes:
        candidate: It.
        fast: How the fast stage saw it end, and the tests that failed.
        cold: The same of an ordinary run.
    """

    candidate: Candidate
    fast: tuple[str, frozenset[str]]
    cold: tuple[str, frozenset[str]]


async def differences(
    setting: Setting,
    baseline: Baseline,
    warmth: Warmth,
    seen: Sequence[tuple[Seen, frozenset[str]]],
    workers: int,
) -> list[Difference]:
    """Run candidates once more, each in a fresh sandbox, as a suite is run for a grade.

    One that was stopped is held against a fresh process that has the same bounds: without any, it
    may run for hours, or until a test that waits for nothing gives up.

    Args:
        setting: Runs them.
        baseline: What the tests do without an edit.
        warmth: How long they take.
        seen: What was looked at, with the tests that run it.
        workers: How many at once.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    found: list[Difference] = []
    for start in range(0, len(seen), workers):
        part = seen[start : start + workers]
        works = (_compared(setting, baseline, warmth, one, tests) for one, tests in part)
        found += [each for each in await together(works) if each is not None]
    return found


async def _compared(
    setting: Setting, baseline: Baseline, warmth: Warmth, seen: Seen, tests: frozenset[str]
) -> Difference | None:
    look = seen.look
    if look is None:
        return None
    ended: str = look.ended if look.ended != "ran" or look.failed else "survived"
    changes = [Change(path, data) for path, data in seen.candidate.mutants.items()]
    if look.ended == "timed_out" and not warmth.why:
        trial = await _within_bounds(setting, baseline, warmth, tests, changes)
    else:
        limit = _GRACE_SEC + _PATIENCE * baseline.expected_sec(tests)
        if look.ended == "timed_out":
            limit = bound_sec(baseline, tests)
        run = await run_on(setting, baseline.ready, changes, ids=sorted(tests), timeout_sec=limit)
        trial = judge([run], baseline, tests)
    fast, cold = (ended, frozenset(look.failed)), (trial.reason or "ran", frozenset(trial.failing))
    if trial.reason == "all_tests_fail":
        cold = "ran", tests
    return None if fast == cold else Difference(seen.candidate, fast, cold)


async def _within_bounds(
    setting: Setting,
    baseline: Baseline,
    warmth: Warmth,
    tests: frozenset[str],
    changes: Sequence[Change],
) -> Trial:
    """What a fresh process that imports the edit shows, with the bounds of a look."""
    seen = await afresh(setting, baseline.ready, warmth, sorted(tests), changes, Manner())
    if seen.missing or seen.refused or not seen.looks:
        return Trial("collection_error", seen.refused)
    return judge_looks([one for _, one in sorted(seen.looks.items())], tests)
