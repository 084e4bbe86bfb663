"""Confirms a candidate cold: on its own tree, in fresh sandboxes, three times, in two orders."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from codegym.errors import TaskError
from codegym.grading.ready import Ready
from codegym.grading.setting import Setting
from codegym.grading.suites import SuiteRun
from codegym.grading.trials import run_on
from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate
from codegym.mutation.rows import draft
from codegym.mutation.trial import Trial, are_most, judge, judge_looks
from codegym.mutation.warm.session import Warmth, afresh
from codegym.types import Change, Manner
from codegym.workspace.trees import gold_tree

#: A run of chosen tests may take this many times what is expected, and so many seconds more.
_PATIENCE, _GRACE_SEC = 5.0, 10.0
#: Hashes are seeded otherwise than in the run of the whole suite.
_HASH_SEED = 20_261
#: For each core, so many sandboxes at most: they take memory.
_MOST_WAITING = 3.0
#: A suite that takes longer is cut down to the edit's own tests and the quickest of the others.
_SUITE_SEC = 20.0


def at_once(warmths: Iterable[Warmth], workers: int) -> int:
    """How many to confirm at once to keep so many cores busy: where tests wait, others run."""
    return round(workers * min([_MOST_WAITING, *(1 / one.busy for one in warmths)]))


async def confirm(
    setting: Setting,
    baseline: Baseline,
    warmth: Warmth,
    candidate: Candidate,
    covering: frozenset[str],
) -> Trial:
    """Run the tests that run a candidate's lines, twice, and the suite, once.

    The first two are in one fresh process that imports the edit, forwards and backwards, with
    hashes seeded otherwise; the suite is run as for a grade, on the tree of the task.

    Args:
        setting: Runs it; each run has a sandbox of its own.
        baseline: What the tests do without the edit.
        warmth: How long they take.
        candidate: What is tried.
        covering: Of the tests that pass without the edit, those that run the edited lines.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    changes = [Change(path, data) for path, data in candidate.mutants.items()]
    first = await _twice(setting, baseline.ready, baseline, warmth, covering, changes)
    if first.reason is not None:
        return first
    ids = asked(baseline, warmth, covering)
    try:
        task, home = draft(candidate, baseline.ready), baseline.ready.environment
        ready = await setting.ready(task, home)
        if await asyncio.to_thread(gold_tree, task, home) != baseline.ready.prepared.grading_tree:
            return Trial("unsolvable")
        limit = min(baseline.suite.timeout_sec, _PATIENCE * baseline.suite_sec + _GRACE_SEC)
        chosen = () if len(ids) == len(baseline.seconds) else sorted(ids)
        manner = warmth.manner(candidate, ready.environment.subdir)
        whole = await run_on(setting, ready, ids=chosen, timeout_sec=limit, manner=manner)
        found = judge([whole], baseline, ids)
        if found.reason is not None:
            return found
        if are_most(len(found.failing), baseline, candidate.kind):
            return Trial("most_tests_fail", f"{len(found.failing)} of them")
        others = frozenset(found.failing) - covering
        if others:  # seen once only: no line of the edit was seen to run in them
            covering |= others
            first = await _twice(setting, ready, baseline, warmth, covering)
    except TaskError as error:
        return Trial("leak", error.problem)
    if first.reason is not None:
        return first
    wavering = frozenset(first.failing) ^ (frozenset(found.failing) & covering)
    if wavering:
        return Trial("unstable", f"{min(wavering)} does not end alike every time")
    return found


def asked(baseline: Baseline, warmth: Warmth, covering: frozenset[str]) -> frozenset[str]:
    """The tests that a task is about: all, or of a slow suite those that fit a bound of time."""
    costs = warmth.cpu_sec or baseline.seconds
    found, left = set(covering), _SUITE_SEC
    if sum(costs.values()) <= left:
        return frozenset(baseline.seconds)
    left -= sum(costs.get(one, baseline.seconds[one]) for one in covering)
    for one in sorted(costs, key=lambda test: (costs[test], test)):
        left -= 0.0 if one in found else costs[one]
        if left < 0:
            break
        found.add(one)
    return frozenset(found)


async def _twice(
    setting: Setting,
    ready: Ready,
    baseline: Baseline,
    warmth: Warmth,
    ids: frozenset[str],
    changes: Sequence[Change] = (),
) -> Trial:
    """Some tests of the suite, forwards and backwards, on a tree that holds the edit."""
    if not warmth.why and warmth.refused.isdisjoint(ids):
        seen = await afresh(
            setting, ready, warmth, sorted(ids), changes, Manner(hash_seed=_HASH_SEED)
        )
        if seen.missing:
            return Trial("collection_error", f"{min(seen.missing)} is not there any more")
        if len(seen.looks) == 2 and not seen.refused:
            return judge_looks([one for _, one in sorted(seen.looks.items())], ids)
    runs = [
        await _chosen(setting, ready, baseline, ids, changes, one)
        for one in (Manner(reverse=True, hash_seed=_HASH_SEED), Manner(hash_seed=_HASH_SEED + 1))
    ]
    return judge(runs, baseline, ids)


async def _chosen(
    setting: Setting,
    ready: Ready,
    baseline: Baseline,
    ids: frozenset[str],
    changes: Sequence[Change],
    manner: Manner,
) -> SuiteRun:
    """Some tests of the suite, in the time that they should take several times over."""
    limit = bound_sec(baseline, ids)
    return await run_on(setting, ready, changes, ids=sorted(ids), timeout_sec=limit, manner=manner)


def bound_sec(baseline: Baseline, ids: frozenset[str]) -> float:
    """Wall time that a run of chosen tests may take."""
    return min(baseline.suite.timeout_sec, _PATIENCE * baseline.expected_sec(ids) + _GRACE_SEC)
