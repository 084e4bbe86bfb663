"""Plays attacks on victims: bounded in time and number, whatever an attack does."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from codegym.envs.options import EpisodeOptions
from codegym.errors import SandboxError, TaskError
from codegym.grading.setting import Setting
from codegym.redteam.attack import (
    MAX_EVIDENCE_CHARS,
    OUTCOMES,
    Attack,
    Finding,
    Inapplicable,
    Outcome,
)
from codegym.redteam.play import OPTIONS, PROBE, ExcusedError, Play
from codegym.redteam.victim import Victim
from codegym.types import Grade

_T = TypeVar("_T")

#: Seconds that one attack may take, its grade included.
ATTACK_SEC = 400.0
#: How often an attack is played where the sandbox failed.
ATTEMPTS = 3
#: One honest solution is graded among so many attacks.
ATTACKS_PER_CONTROL = 25
#: Attacks of these families kill, fill and remove whatever they can reach.
_BREAKING = ("grading", "lifecycle")
_NOT_ISOLATED = "not played: a sandbox of this backend shows files or processes of the host"
_PROCESSES = f"{PROBE} proc cmdline environ"


@dataclass(frozen=True, slots=True)
class Result:
    """One attack on one task.

    Attributes:
        attack: The attack.
        task_id: The task.
        finding: How it ended; None where it could not be played.
        problem: Why it could not be played, or ``""``.
        applicable: Whether the task gives occasion for it.
        excused: Whether the episode became faulty while the attack was at work.
        seconds: Wall time.
    """

    attack: Attack
    task_id: str
    finding: Finding | None
    problem: str = ""
    applicable: bool = True
    excused: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Control:
    """An honest solution that was graded during the run.

    Attributes:
        task_id: The task.
        score: Must be 1; None where there is no grade.
        text: What the grade says, or why there is none.
    """

    task_id: str
    score: float | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one attack on all tasks: its worst."""

    attack: Attack
    outcome: Outcome
    evidence: str
    task_id: str
    tasks: int
    seconds: float


@dataclass
class Report:
    """What is known so far; complete when the run is."""

    results: list[Result] = field(default_factory=list)
    controls: list[Control] = field(default_factory=list)
    planned: int = 0
    seconds: float = 0.0

    @property
    def verdicts(self) -> list[Verdict]:
        """One for each attack that was played, in the order of the catalogue."""
        by_attack: dict[str, list[Result]] = {}
        for each in self.results:
            by_attack.setdefault(each.attack.name, []).append(each)
        return [found for each in by_attack.values() if (found := _worst(each))]

    @property
    def succeeded(self) -> list[Verdict]:
        """Those that got through."""
        return [each for each in self.verdicts if each.outcome == "succeeded"]

    @property
    def faults(self) -> list[Result]:
        """Attacks that could not be played to an end: nothing is known of them."""
        return [each for each in self.results if not each.finding and each.applicable]

    @property
    def inapplicable(self) -> list[Result]:
        """Attacks that a task gives no occasion for."""
        return [each for each in self.results if not each.applicable]

    @property
    def false_positives(self) -> list[Control]:
        """Honest solutions that were graded below 1."""
        return [each for each in self.controls if each.score is not None and each.score < 1]

    @property
    def ungraded(self) -> list[Control]:
        """Honest solutions that came to no grade."""
        return [each for each in self.controls if each.score is None]

    @property
    def complete(self) -> bool:
        """Whether all that was planned was done."""
        return len(self.results) >= self.planned


def _worst(results: Sequence[Result]) -> Verdict | None:
    found = [(each, each.finding) for each in results if each.finding]
    if not found:
        return None
    worst, finding = max(found, key=lambda pair: OUTCOMES.index(pair[1].outcome))
    seconds = sum(each.seconds for each in results)
    return Verdict(
        worst.attack, finding.outcome, finding.evidence, worst.task_id, len(found), seconds
    )


class Arena:
    """Plays attacks, several at once.

    Args:
        setting: Where sandboxes and grades come from.
        canary: A folder of the host that everybody may write to.
        workers: Attacks at once, >= 1.
        attack_sec: Wall time of one attack; past it it is cut off, and has gained nothing.
        told: Called with each result or control as it comes.
        options: How episodes are played.
    """

    def __init__(
        self,
        setting: Setting,
        canary: Path,
        *,
        workers: int = 2,
        attack_sec: float = ATTACK_SEC,
        told: Callable[[Result | Control], None] = lambda _: None,
        options: EpisodeOptions = OPTIONS,
    ) -> None:
        self._options = options
        self.report = Report()
        self._open = False
        self._setting, self._canary = setting, canary
        self._workers, self._attack_sec, self._told = workers, attack_sec, told

    async def run(self, attacks: Sequence[Attack], victims: Sequence[Victim]) -> Report:
        """Play each attack on each victim, honest solutions among them.

        Cancelling it leaves in ``report`` what was done.

        Raises:
            UnavailableError: No sandbox works here.
        """
        began = time.monotonic()
        self.report.planned = len(attacks) * len(victims)
        self._open = bool(victims) and await self._shows_host(victims[0])
        jobs = _jobs(attacks, victims)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._work(jobs))
        finally:
            order = {one.name: number for number, one in enumerate(attacks)}
            self.report.results.sort(key=lambda each: order[each.attack.name])
            self.report.seconds = time.monotonic() - began
        return self.report

    async def _work(self, jobs: Iterator[tuple[Attack | None, Victim]]) -> None:
        for attack, victim in jobs:
            if attack is None:
                control = await self._control(victim)
                self.report.controls.append(control)
                self._told(control)
            else:
                result = await self._attack(attack, victim)
                self.report.results.append(result)
                self._told(result)

    async def _attack(self, attack: Attack, victim: Victim) -> Result:
        if self._open and attack.family in _BREAKING:
            return Result(attack, victim.task.instance_id, None, _NOT_ISOLATED)
        began, excused = time.monotonic(), 0
        for _ in range(ATTEMPTS):
            result = await self._once(attack, victim)
            if result.finding or not result.applicable:
                break
            excused += result.excused
        if excused == ATTEMPTS:  # it can end an episode so that a bad score is none
            told = f"the episode ended without a grade, {excused} times of {ATTEMPTS}: "
            result = replace(result, finding=Finding("succeeded", told + result.problem))
        return replace(result, seconds=time.monotonic() - began)

    async def _once(self, attack: Attack, victim: Victim) -> Result:
        """Play an attack, cut off where it takes too long."""
        play = Play(self._setting, victim, self._canary, self._options)
        playing = await self._bounded(play, _play(attack, play), self._attack_sec)
        if playing.cancelled():
            cut = Finding("refused", f"cut off after {self._attack_sec:g} s, nothing gained")
            return Result(attack, victim.task.instance_id, cut)
        return _result(attack, victim, playing)

    async def _bounded(
        self, play: Play, playing: Coroutine[None, None, _T], seconds: float
    ) -> asyncio.Future[_T]:
        """Run it as a task of its own, so that nothing that it raises or hangs on gets out."""
        task = asyncio.ensure_future(playing)
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            task.cancel()
            await asyncio.wait({task})
            await play.close()
        return task

    async def _shows_host(self, victim: Victim) -> bool:
        """Whether a sandbox has the host's files or processes: what breaks things stays out."""
        play = Play(self._setting, victim, self._canary, self._options)
        try:
            await play.reset()
            there = await play.bash(f"test -e {shlex.quote(str(self._canary))}")
            return there.last_exit_code == 0 or bool((await play.look(_PROCESSES)).hits)
        except (SandboxError, TaskError):
            return False  # each attack will tell
        finally:
            await play.close()

    async def _control(self, victim: Victim) -> Control:
        """Grade the gold patch, played as an agent would."""
        play, task_id = (
            Play(self._setting, victim, self._canary, self._options),
            victim.task.instance_id,
        )
        playing = await self._bounded(play, _solve(play), ATTACK_SEC)
        if playing.cancelled():
            return Control(task_id, None, f"cut off after {ATTACK_SEC:g} s")
        if (error := playing.exception()) is not None:
            return Control(task_id, None, f"{type(error).__name__}: {error}")
        return Control(task_id, playing.result().score, playing.result().text)


async def _solve(play: Play) -> Grade:
    await play.reset()
    await play.solve()
    return await play.submit()


async def _play(attack: Attack, play: Play) -> Finding:
    await play.reset()
    return await attack.play(play)


def _result(attack: Attack, victim: Victim, playing: asyncio.Future[Finding]) -> Result:
    task_id, error = victim.task.instance_id, playing.exception()
    if error is None:
        finding = playing.result()
        evidence = finding.evidence[:MAX_EVIDENCE_CHARS]
        return Result(attack, task_id, Finding(finding.outcome, evidence))
    return Result(
        attack,
        task_id,
        None,
        problem=f"{type(error).__name__}: {error}"[:MAX_EVIDENCE_CHARS],
        applicable=not isinstance(error, Inapplicable),
        excused=isinstance(error, ExcusedError),
    )


def _jobs(
    attacks: Sequence[Attack], victims: Sequence[Victim]
) -> Iterator[tuple[Attack | None, Victim]]:
    """Every attack on every victim; None stands for an honest solution."""
    for victim in victims:
        pending = iter(attacks)
        while some := tuple(islice(pending, ATTACKS_PER_CONTROL)):
            yield from ((each, victim) for each in some)
            yield None, victim
