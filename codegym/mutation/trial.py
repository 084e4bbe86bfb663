"""Trying a candidate: does running it show a fault that some tests notice, the same every time?"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from codegym.errors import TaskError
from codegym.grading.ready import Ready
from codegym.grading.setting import Setting
from codegym.grading.suites import SuiteRun
from codegym.grading.trials import Observed, run_on, summarise
from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate
from codegym.mutation.rows import draft
from codegym.types import Change

Reason = Literal[
    "does_not_parse",
    "equivalent",
    "duplicate",
    "not_text",
    "copied",
    "uncovered",
    "survived",
    "collection_error",
    "timed_out",
    "crashed",
    "all_tests_fail",
    "unstable",
    "leak",
    "same_effect",
    "not_harder",
    "not_needed",
    "not_hidden",
    "not_exclusive",
]

#: What each reason means, for a person.
REASONS: Mapping[Reason, str] = {
    "does_not_parse": "what the edit leaves is no program",
    "equivalent": "the edit changes nothing of what is run",
    "duplicate": "another edit makes the very same file",
    "not_text": "the file is not UTF-8, and a row holds text only",
    "copied": "another file of the repository, or the image, holds what was taken away",
    "uncovered": "no test that a task could have runs the edited lines",
    "survived": "the tests that run the edited lines pass all the same",
    "collection_error": "tests cannot be collected any more, so none of them can fail",
    "timed_out": "the tests do not end in time",
    "crashed": "the test runner itself stops",
    "all_tests_fail": "no test passes any more",
    "unstable": "the tests do not end alike every time",
    "leak": "the task cannot be prepared without giving its answer away",
    "same_effect": "another task in the same function fails the same tests in the same way",
    "not_harder": "together the edits are noticed by as many tests as one of them alone",
    "not_needed": "one of the edits may stay, or goes unnoticed beside the others",
    "not_hidden": "failures still show the place of the fault",
    "not_exclusive": "other tests than the feature's need what was below it",
}

#: Of these, what is seen before anything is run.
UNFIT: tuple[Reason, ...] = (
    "does_not_parse",
    "equivalent",
    "duplicate",
    "not_text",
    "copied",
    "uncovered",
)

#: A run of chosen tests may take this many times what is expected, and so many seconds more.
_PATIENCE, _GRACE_SEC = 5.0, 10.0
#: A frame of a traceback, as pytest writes it short: file, line and function.
FRAME = re.compile(r"^([^\s:][^:]*):(\d+): ", re.MULTILINE)
_MOST_FRAMES = 400
_MOST_OTHERS = 2
#: What differs from run to run: addresses, temporary files, durations.
_PASSING = re.compile(r"0x[0-9a-f]{4,}|/tmp/[^\s'\"]+|\d+\.\d{3,}")


@dataclass(frozen=True, slots=True)
class Trial:
    """What running a candidate showed; the same whenever it is run.

    Attributes:
        reason: Why it is no task, or None.
        detail: That in one sentence.
        failing: Tests that pass without the edit and fail with it.
        passing: Tests that pass either way.
        effect: Hash of what the failing tests say.
        example: Of the failing tests, the one that is told of.
        message: What it said.
        others: Some more failing tests, of other functions, to what they said.
        frames: The places that failures name, as ``path:line``, sorted.
    """

    reason: Reason | None = None
    detail: str = ""
    failing: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    effect: str = ""
    example: str = ""
    message: str = ""
    frames: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()


async def attempt(
    setting: Setting, baseline: Baseline, candidate: Candidate, covering: frozenset[str]
) -> Trial:
    """Run a candidate: the tests that run its lines, then the whole suite, as it is graded.

    Args:
        setting: Runs it; each run has a sandbox of its own.
        baseline: What the tests do without the edit.
        candidate: What is tried.
        covering: Of the tests that pass without the edit, those that run the edited lines.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    edits = [Change(path, data) for path, data in candidate.mutants.items()]
    first = await _chosen(setting, baseline.ready, baseline, covering, edits)
    found = judge([first], baseline, covering)
    if found.reason is not None:
        return found
    try:
        ready = await setting.ready(draft(candidate, baseline.ready), baseline.ready.environment)
        limit = min(baseline.suite.timeout_sec, _PATIENCE * baseline.suite_sec + _GRACE_SEC)
        whole = await run_on(setting, ready, timeout_sec=limit)
        found = judge([whole], baseline, frozenset(baseline.seconds))
        if found.reason is not None:
            return found
        # The others run no line of the edit: they did the same without it, several times.
        wanted = covering.union(found.failing)
        if wanted != covering:
            first = await _chosen(setting, ready, baseline, wanted)
    except TaskError as error:
        return Trial("leak", error.problem)
    again = judge([first, whole], baseline, wanted)
    return found if again.reason is None else again


async def _chosen(
    setting: Setting,
    ready: Ready,
    baseline: Baseline,
    ids: frozenset[str],
    changes: Sequence[Change] = (),
) -> SuiteRun:
    """Some tests of the suite, in the time that they should take several times over."""
    limit = min(baseline.suite.timeout_sec, _PATIENCE * baseline.expected_sec(ids) + _GRACE_SEC)
    return await run_on(setting, ready, changes, ids=sorted(ids), timeout_sec=limit)


def judge(runs: list[SuiteRun], baseline: Baseline, wanted: frozenset[str]) -> Trial:
    """What runs show of the tests that they were to run. Pure."""
    seen = summarise(runs)
    if refused := _refused(seen, wanted):
        return refused
    known = {one: seen.outcomes[one] for one in wanted if one in seen.outcomes}
    failing = sorted(one for one, said in known.items() if said in ("failed", "error"))
    passing = sorted(one for one, said in known.items() if said == "passed")
    if wavering := sorted(seen.unstable & wanted):
        return Trial("unstable", f"{wavering[0]} does not end alike every time")
    if not failing:
        return Trial("survived", f"{len(passing)} tests pass all the same")
    if not passing and wanted == baseline.seconds.keys():
        return Trial("all_tests_fail", f"all {len(failing)} of them")
    messages = {one.id: one.message for one in runs[-1].records if one.id in failing}
    by_length = sorted(failing, key=lambda one: (len(messages.get(one, "")), one))
    example, others = by_length[0], {one.partition("[")[0]: one for one in by_length[::-1]}
    others.pop(example.partition("[")[0])
    return Trial(
        failing=tuple(failing),
        passing=tuple(passing),
        effect=_effect(messages),
        example=example,
        message=messages.get(example, ""),
        frames=_frames(messages.values()),
        others=tuple((one, messages.get(one, "")) for one in by_length if one in others.values())[
            :_MOST_OTHERS
        ],
    )


def _refused(seen: Observed, wanted: frozenset[str]) -> Trial | None:
    if seen.timed_out:
        return Trial("timed_out", seen.problem)
    if seen.uncollected:
        return Trial("collection_error", f"{min(seen.uncollected)} cannot be collected")
    if seen.problem:
        return Trial("crashed", seen.problem)
    gone = wanted - seen.outcomes.keys() - seen.unstable
    if gone:
        return Trial("collection_error", f"{min(gone)} is not there any more")
    return None


def raised(message: str) -> list[str]:
    """What was raised: the lines of a failure that pytest marks, without its mark."""
    return [line[1:].strip() for line in message.splitlines() if line.startswith("E ")]


def _frames(messages: Iterable[str]) -> tuple[str, ...]:
    found = {f"{path}:{line}" for said in messages for path, line in FRAME.findall(said)}
    return tuple(sorted(found))[:_MOST_FRAMES]


def _effect(messages: Mapping[str, str]) -> str:
    """A hash of failures, apart from where they are raised and from what differs each time."""
    total = hashlib.sha256()
    for test_id in sorted(messages):
        said = _PASSING.sub("", "\n".join(raised(messages[test_id])))
        total.update(f"{test_id}\0{said}\0".encode("utf-8", "replace"))
    return total.hexdigest()
