"""Running a suite that nobody knows, and leaving out what keeps it from coming to its end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from codegym.authoring.packages.judging import (
    CRASH,
    SLOW,
    SLOW_SEC,
    Verdict,
    judge,
    judge_order,
    why_none,
)
from codegym.authoring.proving import REPEATS
from codegym.errors import UsageError
from codegym.grading.ready import Ready
from codegym.grading.runners.pytest import PytestRunner
from codegym.grading.setting import Setting
from codegym.grading.suites import SuiteRun
from codegym.grading.trials import run_on, summarise
from codegym.types import WORKSPACE, RunnerCommand, TestOutcome

_SCRIPT = "/opt/runner/discover.py"
#: So many tests that keep a suite from ending are left out, and no more: each costs a run.
_ROUNDS = 5
_BEGUN, _TIMEOUT = b'{"begun": ', b"Timeout ("


class DiscoveryRunner(PytestRunner):
    """Tells of a test that began and never ended, and can run tests in reverse.

    Such a test is ``missing``; its message says so where its time was over.

    Args:
        limit_sec: Wall time of one test; the run ends with one that takes longer.
        backwards: Whether the last test comes first.
    """

    def __init__(self, limit_sec: float, *, backwards: bool = False) -> None:
        self._arguments = (str(limit_sec), "backwards" if backwards else "forwards")

    def payload(self) -> Mapping[str, bytes]:
        """See ``Runner``."""
        return {**super().payload(), _SCRIPT: _script()}

    def command(
        self,
        ids: Sequence[str],
        channel: int,
        *,
        python: str,
        import_paths: Sequence[str],
        select: Sequence[str] = (),
        deselect: Sequence[str] = (),
        config: Sequence[str] = (),
        root: str = WORKSPACE,
    ) -> RunnerCommand:
        """See ``Runner``."""
        plain = super().command(
            ids,
            channel,
            python=python,
            import_paths=import_paths,
            select=select,
            deselect=deselect,
            config=config,
            root=root,
        )
        return replace(plain, argv=(*plain.argv[:-1], _SCRIPT, *self._arguments))

    def parse(self, report: bytes) -> list[TestOutcome]:
        """See ``Runner``."""
        records = super().parse(report)
        begun = next((each for each in reversed(report.split(b"\n")) if _is_begun(each)), None)
        if begun is None:
            return records
        name = json.loads(begun)["begun"]
        if not isinstance(name, str) or any(each.id == name for each in records):
            return records
        late = "It took too long." if b"\n" + _TIMEOUT in report else ""
        return [*records, TestOutcome(name, "missing", message=late)]


def _is_begun(line: bytes) -> bool:
    """Whether a line of a report tells of a test that began. It may have been forged."""
    try:
        return line.startswith(_BEGUN) and "begun" in json.loads(line)
    except (ValueError, RecursionError):
        return False


@cache
def _script() -> bytes:
    return (Path(__file__).parent / "payload" / "discover.py").read_bytes()


async def try_suite(setting: Setting, ready: Ready) -> tuple[Verdict, float]:
    """Run a suite so often, the last time in reverse, and sort its tests.

    Returns:
        The verdict, and the seconds that the longest run took.

    Raises:
        UsageError: It cannot be used, with the reason.
        SandboxError: The infrastructure broke, more than once.
    """
    stuck: dict[str, str] = {}
    runs = [await _run(setting, ready, stuck) for _ in range(REPEATS - 1)]
    seen = summarise(runs)
    verdict = judge(seen, runs, stuck)
    if problem := why_none(seen, verdict, runs):
        raise UsageError(problem)
    ids = sorted(verdict.passing)
    turned = [await _run(setting, ready, stuck, ids)]
    passed = {each.id for each in turned[0].records if each.outcome == "passed"}
    if verdict.passing - passed - stuck.keys():
        turned.append(await _run(setting, ready, stuck, ids))
    verdict = judge_order(judge(seen, runs, stuck), turned)
    if problem := why_none(seen, verdict, runs):
        raise UsageError(problem)
    return verdict, max(run.result.seconds for run in runs)


async def _run(
    setting: Setting, ready: Ready, stuck: dict[str, str], backwards: Sequence[str] = ()
) -> SuiteRun:
    """Run a suite to its end: what keeps it from that is added to ``stuck``, with the reason."""
    limit_sec = min(SLOW_SEC, ready.suite.timeout_sec / 3)
    runner = DiscoveryRunner(limit_sec, backwards=bool(backwards))
    for _ in range(_ROUNDS):
        suite = replace(ready.suite, deselect=(*ready.suite.deselect, *stuck))
        run = await run_on(setting, replace(ready, suite=suite, runner=runner), ids=backwards)
        ended = [each for each in run.records if each.outcome == "missing"]
        # A suite that is too long as a whole has some test running when its time is over.
        if not ended or run.result.timed_out:
            break
        stuck.update({each.id: SLOW if each.message else CRASH for each in ended})
        if len(stuck) > _ROUNDS:
            named = "; ".join(sorted(stuck))
            raise UsageError(
                f"more than {_ROUNDS} of its tests take over {limit_sec:.0f} s each or end the "
                f"whole run: {named}. Mark them to be skipped in a copy, and add that"
            )
    return run
