"""Runs sessions: first one that tells how a suite bears it, then those that try candidates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codegym.grading.ready import Ready
from codegym.grading.setting import Setting
from codegym.grading.trials import run_on
from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate
from codegym.mutation.warm.work import Making
from codegym.store import LayerStore
from codegym.types import Change, ForkingRunner, Look, Manner, VaryingRunner
from codegym.version import __version__

_RECORD, _BYTECODE = "warmth.json", "bytecode.json"
_VERSION = "4"
#: So many mutants that change nothing are tried among those that do: one in so many.
NULL_EVERY = 20
#: Of a suite that bears it, so many tests at most end otherwise; beyond, all of it is tried cold.
_MOST_REFUSED = 0.1
#: A session that ended too early is gone on with so often.
_SESSIONS = 4
_START_SEC = 120.0
#: What a session itself may take of a sandbox's memory; and what each try has at least.
_SESSION_MB, _LEAST_MB = 128, 64


@dataclass(frozen=True)
class Warmth:
    """How a suite bears to be run by forked processes, without an edit.

    Attributes:
        cpu_sec: Processor time of each test that passes like that, every time.
        wait_sec: What it takes besides.
        refused: Tests that don't.
        why: Why none of it is tried like that, or ``""``.
        bytecode: What its modules compile to; it saves most of a short run's time.
    """

    cpu_sec: Mapping[str, float]
    wait_sec: Mapping[str, float] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    why: str = ""
    bytecode: bytes = b""

    def seconds(self, test: str) -> float:
        """Wall time of a test."""
        return self.cpu_sec.get(test, 0.0) + self.wait_sec.get(test, 0.0)

    @property
    def busy(self) -> float:
        """What share of the suite's time a processor works for it; above 0."""
        spent, waited = sum(self.cpu_sec.values()), sum(self.wait_sec.values())
        return spent / (spent + waited) if spent else 1.0

    def making(self) -> Making:
        """What collects work for a session."""
        return Making(self.cpu_sec, self.wait_sec)

    def manner(self, candidate: Candidate, subdir: str) -> Manner:
        """How a tree is run that holds a candidate."""
        prefix = "" if subdir == "." else f"{subdir}/"
        changed = tuple(path.removeprefix(prefix) for path in candidate.files)
        return Manner(bytecode=self.bytecode, changed=changed)


@dataclass(frozen=True)
class Tried:
    """What sessions showed of a list of candidates.

    Attributes:
        looks: Of each, in order.
        nulls: How many mutants that change nothing were tried among them.
        null_valid: How many of those failed a test.
    """

    looks: tuple[Look, ...]
    nulls: int
    null_valid: int


async def feel(setting: Setting, baseline: Baseline, store: LayerStore) -> Warmth:
    """Run a suite in forked processes, twice and the second time backwards, or take what is known.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    ready = baseline.ready
    if not isinstance(ready.runner, ForkingRunner):
        return Warmth({}, why="its runner cannot fork")
    if ready.environment.services:
        return Warmth({}, why="it needs services")
    if baseline.coverage is None:
        return Warmth({}, why="no lines were recorded")
    scope = [_VERSION, __version__, ready.environment.digest, ready.image.digest]
    content = json.dumps([*scope, ready.suite.name, sorted(baseline.seconds)])
    key = f"warmth-{hashlib.sha256(content.encode()).hexdigest()}"
    found = store.find(key)
    if found is None:
        warmth = await _felt(setting, baseline)
        found = store.publish(key, lambda folder: _write(folder, warmth))
    return _read(found)


async def _felt(setting: Setting, baseline: Baseline) -> Warmth:
    tests = sorted(baseline.seconds)
    slow = {tests[0]: baseline.suite.timeout_sec}
    making = Making(slow, slow)
    for order in (tests, tests[::-1]):
        making.add(None, order)
    seen = await _session(setting, baseline.ready, making)
    if seen.refused:
        return Warmth({}, why=f"it has {seen.refused}")
    if [one.ended for _, one in sorted(seen.looks.items())] != ["ran", "ran"]:
        return Warmth({}, why="its tests do not come to their end in a forked process")
    first, second = seen.looks[0], seen.looks[1]
    passed = first.passed & second.passed
    refused = baseline.seconds.keys() - passed
    if len(refused) > _MOST_REFUSED * len(tests):
        return Warmth({}, why=f"{len(refused)} tests do not pass in a forked process")
    return Warmth(
        {one: max(first.seconds[one], second.seconds[one]) for one in sorted(passed)},
        {one: min(first.waited[one], second.waited[one]) for one in sorted(passed)},
        frozenset(refused),
        bytecode=await _compiled(setting, baseline.ready),
    )


async def _compiled(setting: Setting, ready: Ready) -> bytes:
    """What the modules of a suite compile to, where its runner can tell."""
    if not isinstance(ready.runner, VaryingRunner):
        return b""
    run = await run_on(setting, ready, manner=Manner(compiling=True))
    return ready.runner.bytecode(run.result.report)


async def look_at(
    setting: Setting,
    baseline: Baseline,
    warmth: Warmth,
    candidates: Sequence[tuple[Candidate, Sequence[str]]],
) -> Tried:
    """Try candidates, each with the tests that run it, in one session.

    Mutants that change nothing are tried among them. Where one of those fails a test, what came
    since the last that did not says nothing.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    looks: list[Look] = []
    nulls = bad = 0
    for _ in range(_SESSIONS):
        tried = await _batch(setting, baseline, warmth, candidates[len(looks) :])
        looks += tried.looks
        nulls, bad = nulls + tried.nulls, bad + tried.null_valid
        if len(looks) < len(candidates):  # what it was at has ended it
            looks.append(Look("cold", "session_ended"))
        if len(looks) == len(candidates):
            break
    looks += [Look("cold", "session_ended")] * (len(candidates) - len(looks))
    return Tried(tuple(looks), nulls, bad)


async def look_at_nulls(
    setting: Setting,
    baseline: Baseline,
    warmth: Warmth,
    candidates: Sequence[tuple[Candidate, Sequence[str]]],
) -> list[Look]:
    """Try what changes nothing in the places of candidates, in one session.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    making = warmth.making()
    for candidate, tests in candidates:
        making.add(candidate, tests, null=True)
    return list((await _session(setting, baseline.ready, making)).looks.values())


async def _batch(
    setting: Setting,
    baseline: Baseline,
    warmth: Warmth,
    candidates: Sequence[tuple[Candidate, Sequence[str]]],
) -> Tried:
    making, places, nulls = warmth.making(), list[int](), list[int]()
    for at, (candidate, tests) in enumerate(candidates):
        if at % NULL_EVERY == 0:
            nulls.append(making.add(candidate, tests, null=True))
        places.append(making.add(candidate, tests))
    nulls.append(making.add(*candidates[-1], null=True))
    found = (await _session(setting, baseline.ready, making)).looks
    bad = [one for one in nulls if one in found and found[one].failed]
    run = [one for one in nulls if one in found and found[one].ended == "ran"]
    doubtful = _doubtful(places, nulls, bad)
    looks: list[Look] = []
    for place in places:
        if place not in found:
            break
        looks.append(Look("cold", "null_mutant") if place in doubtful else found[place])
    return Tried(tuple(looks), len(run), len(bad))


def _doubtful(places: Sequence[int], nulls: Sequence[int], bad: Sequence[int]) -> set[int]:
    """What lies between a null mutant that failed a test and the next before and after it."""
    found: set[int] = set()
    for one in bad:
        at = nulls.index(one)
        start = nulls[at - 1] if at else -1
        end = nulls[at + 1] if at + 1 < len(nulls) else max(places) + 1
        found.update(place for place in places if start < place < end)
    return found


@dataclass(frozen=True)
class Seen:
    """What one session reported.

    Attributes:
        refused: Why it could not fork, or ``""``.
        missing: Tests that were not collected.
        looks: Those that it came to, by place.
    """

    refused: str
    missing: frozenset[str]
    looks: Mapping[int, Look]


async def afresh(
    setting: Setting,
    ready: Ready,
    warmth: Warmth,
    tests: Sequence[str],
    changes: Sequence[Change],
    manner: Manner,
) -> Seen:
    """Run tests forwards and backwards in one new process, that imports a tree as it is.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    making = warmth.making()
    for order in (tests, tests[::-1]):
        making.add(None, order)
    return await _session(setting, ready, making, changes, manner)


async def _session(
    setting: Setting,
    ready: Ready,
    making: Making,
    changes: Sequence[Change] = (),
    manner: Manner | None = None,
) -> Seen:
    runner = ready.runner
    if not isinstance(runner, ForkingRunner):
        return Seen("no such runner", frozenset(), {})
    work = making.work(max(_LEAST_MB, ready.environment.limits.memory_mb - _SESSION_MB))
    limit = _START_SEC + 2 * sum(one.cpu_sec + one.idle_sec for one in work.mutants)
    run = await run_on(setting, ready, changes, timeout_sec=limit, work=work, manner=manner)
    session = runner.session(run.result.report, work)
    refused = "" if session.refused is None else session.refused
    return Seen(refused, session.missing, session.looks)


def _write(folder: Path, warmth: Warmth) -> None:
    (folder / _BYTECODE).write_bytes(warmth.bytecode)
    found = {
        "cpu_sec": dict(warmth.cpu_sec),
        "wait_sec": dict(warmth.wait_sec),
        "refused": sorted(warmth.refused),
        "why": warmth.why,
    }
    (folder / _RECORD).write_text(json.dumps(found))


def _read(folder: Path) -> Warmth:
    found = json.loads((folder / _RECORD).read_text())
    refused, bytecode = frozenset(found["refused"]), (folder / _BYTECODE).read_bytes()
    return Warmth(found["cpu_sec"], found["wait_sec"], refused, found["why"], bytecode)
