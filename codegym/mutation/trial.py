"""From what runs of a candidate showed to a verdict: a fault that some tests notice, every time?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from codegym.grading.suites import SuiteRun
from codegym.grading.trials import Observed, summarise
from codegym.mutation.baseline import Baseline
from codegym.types import Kind, Look

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
    "most_tests_fail",
    "unstable",
    "leak",
    "unsolvable",
    "same_effect",
    "enough",
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
    "most_tests_fail": "more than half of all tests fail: nobody would have to look for it",
    "unstable": "the tests do not end alike every time",
    "leak": "the task cannot be prepared without giving its answer away",
    "unsolvable": "its patch does not bring back the repository whose tests pass",
    "same_effect": "another task in the same statement fails the same tests",
    "enough": "there are enough tasks of that operator in that function",
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

#: Of these, what says nothing against a candidate but that there are others like it.
ALIKE: tuple[Reason, ...] = ("same_effect", "enough")

#: A frame of a traceback, as pytest writes it short: file, line and function.
FRAME = re.compile(r"^([^\s:][^:]*):(\d+): ", re.MULTILINE)
_MOST_FRAMES = 400
_MOST_OTHERS = 2
#: Of all tests, what share may fail where a fault is to be found.
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class Trial:
    """What running a candidate showed; the same whenever it is run.

    Attributes:
        reason: Why it is no task, or None.
        detail: That in one sentence.
        failing: Tests that pass without the edit and fail with it.
        passing: Tests that pass either way.
        example: Of the failing tests, the one that is told of.
        message: What it said.
        others: Some more failing tests, of other functions, to what they said.
        frames: The places that failures name, as ``path:line``, sorted.
        ends: Where failures were raised, as far as they say, likewise.
        raised: Of a fast look alone: what each failing test raised, by the name of its class.
    """

    reason: Reason | None = None
    detail: str = ""
    failing: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    example: str = ""
    message: str = ""
    frames: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    ends: tuple[str, ...] = ()
    raised: tuple[tuple[str, str], ...] = ()


def judge_looks(looks: Sequence[Look], wanted: frozenset[str]) -> Trial:
    """What runs of the same tests show, without what they said. Pure."""
    for one in looks:
        if one.ended != "ran":
            return Trial("timed_out" if one.ended == "timed_out" else "crashed", one.why)
    failing = [frozenset(one.failed) & wanted for one in looks]
    passing = [one.passed & wanted for one in looks]
    wavering = frozenset().union(*failing, *passing) - failing[0].intersection(*failing)
    if wavering := wavering - passing[0].intersection(*passing):
        return Trial("unstable", f"{min(wavering)} does not end alike every time")
    if not failing[0]:
        return Trial("survived", f"{len(passing[0])} tests pass all the same")
    return Trial(failing=tuple(sorted(failing[0])), passing=tuple(sorted(passing[0])))


def are_most(failing: int, baseline: Baseline, kind: Kind) -> bool:
    """Whether so many tests fail that nobody would have to look for the fault."""
    return kind == "FixTests" and failing > _MOST * len(baseline.seconds)


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
        example=example,
        message=messages.get(example, ""),
        frames=_frames(messages.values()),
        others=tuple((one, messages.get(one, "")) for one in by_length if one in others.values())[
            :_MOST_OTHERS
        ],
        ends=_ends(messages.values()),
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


def _ends(messages: Iterable[str]) -> tuple[str, ...]:
    found = (FRAME.findall(said)[-1:] for said in messages)
    return tuple(sorted({f"{path}:{line}" for last in found for path, line in last}))[:_MOST_FRAMES]
