"""Tries candidates: fast first, then cold those that are to be tasks. A stopped run goes on."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path

from codegym.grading.setting import Setting
from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate
from codegym.mutation.confirm import confirm
from codegym.mutation.rows import GENERATOR_VERSION
from codegym.mutation.screening import Screen, effect_of
from codegym.mutation.switched.looking import UNBUILT
from codegym.mutation.trial import Reason, Trial, are_most
from codegym.mutation.warm.stage import Seen, Stage
from codegym.store import LayerStore
from codegym.version import __version__

_RECORD = "trial.json"
_VERSION = "2"
#: So many are begun for each that can run: one that takes long holds up only what comes of others.
_AHEAD = 3

#: Whether, by now, a candidate with these failing tests would be none of the tasks wanted.
Unwanted = Callable[[Candidate, Sequence[str]], Reason | None]


@dataclass
class Confirmed:
    """What the cold stage did; what was known from before is not in it.

    Attributes:
        tried: Candidates that were run.
        held: Those of them that are tasks.
        seconds: Wall time.
    """

    tried: int = 0
    held: int = 0
    seconds: float = 0.0


class Trying:
    """Tries candidates in order.

    Args:
        setting: Runs them.
        screen: Says which are not worth running, and what to run for the others.
        stage: Looks at them first.
        store: Keeps what runs showed, by environment and edit: for other seeds too.
        workers: How many run at once.
        unwanted: Asked before a candidate is confirmed; None: all are.
    """

    def __init__(
        self,
        setting: Setting,
        screen: Screen,
        stage: Stage,
        store: LayerStore,
        workers: int,
        unwanted: Unwanted | None = None,
    ) -> None:
        self._setting, self._screen, self._stage = setting, screen, stage
        self._store, self._workers = store, workers
        self._unwanted = unwanted or _all_wanted
        self._free = asyncio.Semaphore(workers)
        self.confirmed = Confirmed()

    async def in_order(
        self, candidates: Iterator[Candidate]
    ) -> AsyncGenerator[tuple[Candidate, Trial], None]:
        """Each candidate with what became of it, in their order whichever ends first.

        Raises:
            SandboxError: The infrastructure broke, more than once.
        """
        async with aclosing(self._stage.waves(candidates)) as waves:
            async for wave in waves:
                async with aclosing(self.settled(wave)) as settled:
                    async for one in settled:
                        yield one

    def waves(self, candidates: Iterator[Candidate]) -> AsyncGenerator[list[Seen], None]:
        """Candidates with what the fast stage says of them, to be judged and settled by others."""
        return self._stage.waves(candidates)

    def quick(self, seen: Seen) -> Trial | None:
        """What a fast look amounts to, without messages; None where there was none."""
        if (reason := seen.reason or self._fallen(seen)) is not None:
            return Trial(reason)
        if seen.look is None:
            return None
        raised = tuple((test, how[1]) for test, how in sorted(seen.look.failed.items()))
        return Trial(failing=_failing(seen), raised=raised)

    async def settled(self, wave: Sequence[Seen]) -> AsyncGenerator[tuple[Candidate, Trial], None]:
        """Confirm what is to be, some ahead of others; what they are asked after is in order."""
        running: dict[int, asyncio.Task[Trial]] = {}
        claimed: set[str] = set()
        ahead, began = 0, time.perf_counter()
        try:
            for at, one in enumerate(wave):
                while ahead < len(wave) and len(running) < _AHEAD * self._workers:
                    if self._is_promising(wave[ahead], claimed):
                        running[ahead] = asyncio.create_task(self.trial_of(wave[ahead].candidate))
                    ahead += 1
                reason = self._reason(one)
                begun = running.pop(at, None)
                if reason is None:
                    trial = await (begun or self.trial_of(one.candidate))
                else:
                    trial = Trial(reason)
                    if begun is not None:
                        begun.cancel()
                yield one.candidate, trial
        finally:
            self.confirmed.seconds += time.perf_counter() - began
            for each in running.values():
                each.cancel()
            await asyncio.gather(*running.values(), return_exceptions=True)

    def _reason(self, seen: Seen) -> Reason | None:
        """Why a candidate that was looked at is no task, as far as is known."""
        if seen.reason is not None:
            return seen.reason
        return self._fallen(seen) or self._unwanted(seen.candidate, _failing(seen))

    def _fallen(self, seen: Seen) -> Reason | None:
        look = seen.look
        if look is None:
            return None
        if look.why == UNBUILT:
            return "collection_error"
        if look.ended != "ran":
            return "timed_out" if look.ended == "timed_out" else "crashed"
        if not look.failed:
            return "survived"
        baseline, _ = self._screen.tests_for(seen.candidate)
        most = are_most(len(look.failed), baseline, seen.candidate.kind)
        return "most_tests_fail" if most else None

    def _is_promising(self, seen: Seen, claimed: set[str]) -> bool:
        """Whether to begin with it ahead of its turn: no other with its effect is under way."""
        if self._reason(seen) is not None:
            return False
        if seen.look is None:
            return True
        effect = effect_of(seen.candidate, _failing(seen))
        new = effect not in claimed
        claimed.add(effect)
        return new

    async def trial_of(self, candidate: Candidate) -> Trial:
        """What is known of a candidate; else what confirming it shows."""
        baseline, covering = self._screen.tests_for(candidate)
        content = json.dumps([*_scope(baseline), candidate.kind, candidate.digest])
        key = f"trial-{hashlib.sha256(content.encode()).hexdigest()}"
        found = self._store.find(key)
        if found is None:
            async with self._free:
                warmth = self._stage.warmth(baseline)
                trial = await confirm(self._setting, baseline, warmth, candidate, covering)
            self.confirmed.tried += 1
            self.confirmed.held += trial.reason is None
            if trial.reason == "timed_out":  # that may be for the load: it is not held against it
                return trial
            text = json.dumps({name: of for name, of in asdict(trial).items() if name != "raised"})
            found = self._store.publish(key, lambda folder: _write(folder / _RECORD, text))
        return _read(found / _RECORD)


def _all_wanted(candidate: Candidate, failing: Sequence[str]) -> None:
    """Where nobody asked for less."""


def _failing(seen: Seen) -> tuple[str, ...]:
    return () if seen.look is None else tuple(sorted(seen.look.failed))


def _scope(baseline: Baseline) -> list[object]:
    """Whatever could make a run of the same edit end otherwise."""
    ready = baseline.ready
    return [
        _VERSION,
        GENERATOR_VERSION,
        __version__,
        ready.environment.digest,
        ready.image.digest,
        ready.suite.name,
        sorted(baseline.seconds),
    ]


def _write(path: Path, text: str) -> None:
    path.write_text(text)


def _read(path: Path) -> Trial:
    fields = json.loads(path.read_text())
    for name in ("failing", "passing", "frames", "ends"):
        fields[name] = tuple(fields[name])
    fields["others"] = tuple((test, said) for test, said in fields["others"])
    return Trial(**fields)
