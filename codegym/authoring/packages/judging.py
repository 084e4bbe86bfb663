"""From what a suite did to the tests that an environment has, and why it has not the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codegym.grading.suites import SuiteRun
from codegym.grading.trials import Observed, last_line

#: One test that takes longer is no use: every grade would wait for it.
SLOW_SEC = 60.0
FLAKY, ORDER, SLOW = "not the same every time", "depends on the order of tests", "too slow"
NETWORK, SERVICE, PLUGIN = "needs network", "needs a service", "needs a plug-in of pytest"
UNCOLLECTED, CRASH = "cannot be collected", "ends the whole run"

#: So many files are named with what is wrong with them.
_NOTES = 5

_SAID = {
    "failed": "fails",
    "error": "fails before it starts",
    "skipped": "skipped",
    "missing": CRASH,
}
_NETWORK = re.compile(
    r"gaierror|Name or service not known|Temporary failure in name resolution"
    r"|Network is unreachable|NameResolutionError|No route to host"
)
_REFUSED = re.compile(r"Connection ?refused|ECONNREFUSED|Can't connect to .*server", re.IGNORECASE)
_FIXTURE = re.compile(r"fixture '\w+' not found")
_SERVICES = {"5432": "PostgreSQL", "3306": "MySQL", "6379": "Redis", "27017": "MongoDB"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The tests of a suite.

    Attributes:
        passing: Pass every time, in both orders.
        excluded: The others, to the reason.
        notes: What keeps files from being collected, as sentences.
    """

    passing: frozenset[str]
    excluded: Mapping[str, str]
    notes: tuple[str, ...] = ()


_NOTHING: Mapping[str, str] = {}


def judge(seen: Observed, runs: Sequence[SuiteRun], stuck: Mapping[str, str] = _NOTHING) -> Verdict:
    """Sort tests by what they did in runs in the usual order.

    Args:
        seen: What they did in all of them.
        runs: The runs.
        stuck: Tests that kept a run from its end, to the reason.
    """
    slow = {each.id for run in runs for each in run.records if each.seconds > SLOW_SEC}
    said = {each.id: each.message for run in runs for each in run.records if each.message}
    excluded = {
        name: _reason(outcome, said.get(name, ""))
        for name, outcome in seen.outcomes.items()
        if outcome != "passed"
    }
    excluded |= dict.fromkeys(seen.unstable, FLAKY)
    excluded |= {name: _reason("", text) or UNCOLLECTED for name, text in seen.uncollected.items()}
    excluded |= dict.fromkeys(slow - excluded.keys(), SLOW)
    excluded |= stuck
    unread = [name for name, text in sorted(seen.uncollected.items()) if not _reason("", text)]
    notes = [f"{name} {UNCOLLECTED}: {last_line(seen.uncollected[name])}" for name in unread]
    passing = frozenset(seen.outcomes.keys() - excluded.keys())
    return Verdict(passing, _in_order(excluded), tuple(notes[:_NOTES]))


def judge_order(verdict: Verdict, reversed_runs: Sequence[SuiteRun]) -> Verdict:
    """Take out what does not pass when all tests run in reverse.

    Args:
        verdict: Of the usual order.
        reversed_runs: One run, or two where the first differed: what fails in all of them does so
            because of the order.
    """
    passed = [
        {each.id for each in run.records if each.outcome == "passed"} for run in reversed_runs
    ]
    never = verdict.passing.difference(*passed)
    sometimes = verdict.passing - never - frozenset.intersection(*map(frozenset, passed))
    found = dict.fromkeys(never, ORDER) | dict.fromkeys(sometimes, FLAKY)
    excluded = dict(verdict.excluded) | found
    return Verdict(verdict.passing - never - sometimes, _in_order(excluded), verdict.notes)


def deselectable(verdict: Verdict) -> tuple[str, ...]:
    """Of what is excluded, all that holds no other test: a folder or file may, that failed once."""
    return tuple(
        name
        for name in verdict.excluded
        if not any(other.startswith((f"{name}/", f"{name}::")) for other in verdict.passing)
    )


def why_none(seen: Observed, verdict: Verdict, runs: Sequence[SuiteRun]) -> str:
    """Say why a suite cannot be used as it is, or ``""``."""
    if seen.timed_out:
        records = runs[0].records
        last = f"; the last test that ended was {records[-1].id}" if records else ""
        return f"its tests do not end. {seen.problem} Give them more time (--timeout-sec){last}"
    if seen.problem:
        return f"its tests do not run. {seen.problem}"
    reasons = list(verdict.excluded.values())
    if reasons.count(SERVICE) > len(verdict.passing):
        return (
            f"{reasons.count(SERVICE)} of its tests need a service that nobody declared"
            f"{_which(runs)}. Declare it in a file, and name that with --with"
        )
    if verdict.passing:
        return ""
    if seen.uncollected and not seen.outcomes:
        path, said = next(iter(seen.uncollected.items()))
        return f"its tests cannot be collected. {path}: {last_line(said)}"
    if not reasons:
        result = runs[0].result
        said = last_line(result.output.decode(errors="replace"))
        return f"no test was reported; the run ended with {result.exit_code}: {said or 'no output'}"
    counted = ", ".join(f"{count} {reason}" for reason, count in Counter(reasons).items())
    bad = [one for one in runs[0].records if one.outcome in ("failed", "error")]
    example = f". {bad[0].id}: {last_line(bad[0].message)}" if bad else ""
    return f"of its {len(reasons)} tests, none passes every time ({counted}){example}"


def _reason(outcome: str, message: str) -> str:
    if outcome != "skipped":
        for pattern, reason in ((_NETWORK, NETWORK), (_REFUSED, SERVICE), (_FIXTURE, PLUGIN)):
            if pattern.search(message):
                return reason
    return _SAID.get(outcome, outcome)


def _which(runs: Sequence[SuiteRun]) -> str:
    messages = " ".join(each.message for run in runs for each in run.records)
    named = [name for port, name in _SERVICES.items() if re.search(rf"\b{port}\b", messages)]
    return f" ({', '.join(named)}, by the port)" if named else ""


def _in_order(excluded: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(excluded.items()))
