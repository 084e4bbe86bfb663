"""Whether what the fast stage sees is what an import of the edit shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codegym.grading.setting import Setting
from codegym.grading.trials import run_on, together
from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate
from codegym.mutation.confirm import bound_sec
from codegym.mutation.trial import judge
from codegym.mutation.warm.stage import Seen
from codegym.types import Change

_PATIENCE, _GRACE_SEC = 20.0, 60.0
#: Of a process that was killed, as one is for want of memory.
_KILLED = 137


@dataclass(frozen=True, slots=True)
class Difference:
    """A candidate whose failing tests are others when it is imported.

    Attributes:
        candidate: It.
        fast: How the fast stage saw it end, and the tests that failed. ``"stopped"``: it would not
            end in the time that the cold stage gives it; where it also keeps what it makes, time or
            memory is up first, as each bound is.
        cold: The same of an ordinary run.
    """

    candidate: Candidate
    fast: tuple[str, frozenset[str]]
    cold: tuple[str, frozenset[str]]


async def differences(
    setting: Setting,
    baseline: Baseline,
    seen: Sequence[tuple[Seen, frozenset[str]]],
    workers: int,
) -> list[Difference]:
    """Run candidates once more, each in a fresh sandbox, as a suite is run for a grade.

    Args:
        setting: Runs them.
        baseline: What the tests do without an edit.
        seen: What was looked at, with the tests that run it.
        workers: How many at once.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    found: list[Difference] = []
    for start in range(0, len(seen), workers):
        part = seen[start : start + workers]
        works = (_compared(setting, baseline, one, tests) for one, tests in part)
        found += [each for each in await together(works) if each is not None]
    return found


async def _compared(
    setting: Setting, baseline: Baseline, seen: Seen, tests: frozenset[str]
) -> Difference | None:
    look = seen.look
    if look is None:
        return None
    ended: str = look.ended if look.ended != "ran" or look.failed else "survived"
    fast = "stopped" if ended == "timed_out" else ended, frozenset(look.failed)
    changes = [Change(path, data) for path, data in seen.candidate.mutants.items()]
    limit = _GRACE_SEC + _PATIENCE * baseline.expected_sec(tests)
    if look.ended == "timed_out":  # so is a task whose tests wait for half a minute
        limit = bound_sec(baseline, tests)
    run = await run_on(setting, baseline.ready, changes, ids=sorted(tests), timeout_sec=limit)
    trial = judge([run], baseline, tests)
    ended, failing = trial.reason or "ran", frozenset(trial.failing)
    if ended == "all_tests_fail":
        ended, failing = "ran", tests
    elif ended == "timed_out" or (ended == "crashed" and run.result.exit_code == _KILLED):
        ended = "stopped"
    cold = ended, failing
    return None if fast == cold else Difference(seen.candidate, fast, cold)
