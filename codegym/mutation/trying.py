"""Runs candidates, several at once, and keeps what that showed: a stopped run goes on."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from dataclasses import asdict
from pathlib import Path

from codegym.grading.setting import Setting
from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate
from codegym.mutation.rows import GENERATOR_VERSION
from codegym.mutation.screening import Screen
from codegym.mutation.trial import Trial, attempt
from codegym.store import LayerStore
from codegym.version import __version__

_RECORD = "trial.json"
#: So many are begun for each that can run: one that takes long holds up only what comes of others.
_AHEAD = 3


class Trying:
    """Tries candidates in order.

    Args:
        setting: Runs them.
        screen: Says which are not worth running, and what to run for the others.
        store: Keeps what runs showed, by environment and edit: for other seeds too.
        workers: How many run at once.
    """

    def __init__(self, setting: Setting, screen: Screen, store: LayerStore, workers: int) -> None:
        self._setting = setting
        self._screen = screen
        self._store = store
        self._workers = workers
        self._free = asyncio.Semaphore(workers)

    async def in_order(
        self, candidates: Iterator[Candidate]
    ) -> AsyncGenerator[tuple[Candidate, Trial], None]:
        """Each candidate with what became of it, in their order whichever ends first.

        Raises:
            SandboxError: The infrastructure broke, more than once.
        """
        waiting: deque[tuple[Candidate, Trial | asyncio.Task[Trial]]] = deque()
        running = 0
        try:
            while True:
                while running < _AHEAD * self._workers:
                    candidate = next(candidates, None)
                    if candidate is None:
                        break
                    reason = self._screen.fault(candidate)
                    begun = None if reason else asyncio.create_task(self.trial_of(candidate))
                    running += begun is not None
                    waiting.append((candidate, begun or Trial(reason)))
                if not waiting:
                    return
                candidate, outcome = waiting.popleft()
                if isinstance(outcome, asyncio.Task):
                    running -= 1
                    outcome = await outcome
                yield candidate, outcome
        finally:
            left = [one for _, one in waiting if isinstance(one, asyncio.Task)]
            for one in left:
                one.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def trial_of(self, candidate: Candidate) -> Trial:
        """What is known of a candidate; else what running it shows."""
        baseline, covering = self._screen.tests_for(candidate)
        content = json.dumps([*_scope(baseline), candidate.kind, candidate.digest])
        key = f"trial-{hashlib.sha256(content.encode()).hexdigest()}"
        found = self._store.find(key)
        if found is None:
            async with self._free:
                trial = await attempt(self._setting, baseline, candidate, covering)
            if trial.reason == "timed_out":  # that may be for the load: it is not held against it
                return trial
            text = json.dumps(asdict(trial))
            found = self._store.publish(key, lambda folder: _write(folder / _RECORD, text))
        return _read(found / _RECORD)


def _scope(baseline: Baseline) -> list[object]:
    """Whatever could make a run of the same edit end otherwise."""
    ready = baseline.ready
    return [
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
    failing, passing, frames = (tuple(fields.pop(one)) for one in ("failing", "passing", "frames"))
    others = tuple((test, said) for test, said in fields.pop("others"))
    return Trial(failing=failing, passing=passing, frames=frames, others=others, **fields)
