"""Grades edits: in sandboxes, or from memory where the same was graded before."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, astuple, dataclass, replace
from typing import Final

from codegym.envs.boxes import persistently
from codegym.grading.ready import Ready
from codegym.grading.setting import Setting
from codegym.grading.trace import scan
from codegym.store.memo import ScoreMemo
from codegym.types import Grade, Manifest, Trajectory
from codegym.version import __version__

#: This share of what is known is graded again all the same.
AGAIN: Final = 0.05
_REMEMBERED: Final = "The same work was graded before."


@dataclass
class Tally:
    """What was graded.

    Attributes:
        unique: In a sandbox, for the first time.
        hits: From memory.
        again: In a sandbox although it was known.
        differences: How many of those came out otherwise: a grade that cannot be relied on.
    """

    unique: int = 0
    hits: int = 0
    again: int = 0
    differences: int = 0


class Marker:
    """Grades work. For one event loop.

    Args:
        memo: Where scores are remembered; None: every grading is in a sandbox.
        seed: Draws what is graded again.

    Attributes:
        tally: What was graded so far.
    """

    def __init__(self, memo: ScoreMemo | None = None, seed: int = 0) -> None:
        self.tally = Tally()
        self._memo, self._seed = memo, seed
        self._asked: dict[str, int] = {}
        self._running: dict[str, asyncio.Future[Grade]] = {}

    async def score(self, setting: Setting, ready: Ready, work: Manifest) -> float:
        """The score of a policy's work, 1.0 where it solves the task, else 0.0.

        Raises:
            SandboxError: In several attempts. ``TaskError``: the task is broken.
        """

        def cold() -> Awaitable[Grade]:
            return persistently(lambda: setting.grade(ready, work, brief=True))

        return (await self.grade(cold, ready, work)).score

    async def grade(
        self, cold: Callable[[], Awaitable[Grade]], ready: Ready, work: Manifest
    ) -> Grade:
        """The grade of a policy's work; one that was known has nothing but its score.

        Who asks for what is being graded at the moment waits for that.

        Args:
            cold: Grades it in a sandbox; what it raises is raised.
            ready: The task.
            work: What the policy left.
        """
        if self._memo is None:
            self.tally.unique += 1
            return await cold()
        key = key_of(ready, work)
        if key in self._running:
            self.tally.hits += 1
            return await asyncio.shield(self._running[key])
        future = self._running[key] = asyncio.ensure_future(self._remembered(self._memo, key, cold))
        future.add_done_callback(lambda _: self._running.pop(key))
        return await asyncio.shield(future)

    async def _remembered(
        self, memo: ScoreMemo, key: str, cold: Callable[[], Awaitable[Grade]]
    ) -> Grade:
        known = memo.get(key)
        if known is None:
            found = await cold()
            self.tally.unique += 1
        elif drawn(self._seed, key, self._asks(key)):
            found = await cold()
            self.tally.again += 1
            self.tally.differences += found.score != known
        else:
            self.tally.hits += 1
            return Grade(known, text=_REMEMBERED)
        if known != found.score:
            memo.put(key, found.score)
        return found

    def _asks(self, key: str) -> int:
        self._asked[key] = self._asked.get(key, 0) + 1
        return self._asked[key]


def drawn(seed: int, key: str, times: int) -> bool:
    """Whether a grade is looked at again: follows from the seed, whatever else is graded."""
    digest = hashlib.sha256(f"{seed} {key} {times}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < AGAIN * 2**64


def key_of(ready: Ready, work: Manifest) -> str:
    """What makes a grade this one: task, work and image."""
    row = asdict(ready.task) | {"hidden": sorted(ready.task.hidden)}
    scope = [__version__, ready.environment.digest, ready.image.digest, row]
    total = hashlib.sha256(json.dumps(scope, sort_keys=True, default=str).encode())
    for change in work.changes:
        total.update(repr(astuple(change)).encode())
    return total.hexdigest()


class Remembering(Setting):
    """A setting of which work that was graded before is known. Its grades then are scores.

    Attributes:
        marker: Remembers; to be set before the first grade.
    """

    foresees = False
    marker: Marker

    async def grade(
        self,
        ready: Ready,
        work: Manifest,
        trajectory: Trajectory | None = None,
        *,
        brief: bool = True,
    ) -> Grade:
        """See ``Setting.grade``; it is brief."""

        async def cold() -> Grade:
            return await super(Remembering, self).grade(ready, work, brief=brief)

        found = await self.marker.grade(cold, ready, work)
        tried = scan(trajectory, ready.scene.package_names) if trajectory else ()
        return replace(found, attempts=tried)
