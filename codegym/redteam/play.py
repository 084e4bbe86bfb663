"""An attack's hands: an episode, played through nothing but what every policy has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codegym.agents.oracle import steps
from codegym.envs.episode import Episode
from codegym.envs.options import EpisodeOptions
from codegym.errors import SandboxError
from codegym.grading.setting import Setting
from codegym.redteam.attack import Finding
from codegym.redteam.victim import Victim
from codegym.types import Grade, Observation, StepResult, call

_PROBE_PATH, _NEEDLES_PATH = "/tmp/.probe.py", "/tmp/.needles"
#: The command that looks for traces of the answer; see ``payload/probe.py`` for its modes.
PROBE = f"python3 -B {_PROBE_PATH} {_NEEDLES_PATH}"
#: An attack's command may take so long, its episode so long, both in seconds.
OPTIONS = EpisodeOptions(max_steps=60, max_episode_sec=240.0, command_timeout_sec=45.0)


class ExcusedError(SandboxError):
    """The episode came to be faulty while the attack was at work: there is no grade."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What the probe saw. It is the attack's own word: an attack is not fooled by itself.

    Attributes:
        hits: Where a trace of the answer is, in words.
        looked: Things it looked at.
        size: Bytes it looked through, what it unpacked included.
        ended: Whether it came to its end.
        text: All that was printed.
    """

    hits: tuple[str, ...]
    looked: int
    size: int
    ended: bool
    text: str


class Play:
    """One attack's episode, already reset.

    Args:
        setting: Where sandboxes and grades come from.
        victim: What is attacked.
        canary: A folder of the host that everybody may write to; nothing inside must reach it.
        options: How the episode is played.

    Attributes:
        grade: The verdict, once submitted.
    """

    def __init__(
        self, setting: Setting, victim: Victim, canary: Path, options: EpisodeOptions = OPTIONS
    ) -> None:
        self.victim, self.canary = victim, canary
        self.grade: Grade | None = None
        self._setting, self._options = setting, options
        self._episode = Episode(setting, options)
        self._others: list[Play] = []
        self._laid: tuple[bytes, ...] = ()

    async def reset(self) -> Observation:
        """Begin anew in the same ``Episode``."""
        self._laid, self.grade = (), None
        return await self._episode.reset(self.victim.task)

    async def step(self, action: str) -> StepResult:
        """Take an action. Raises ``ExcusedError`` where the episode came to be faulty."""
        result = await self._episode.step(action)
        if result.info.fault:
            raise ExcusedError(self._episode.error)
        self.grade = result.info.grade or self.grade
        return result

    async def bash(self, command: str, *, timeout_sec: float | None = None) -> Observation:
        """Run a command."""
        limit = {} if timeout_sec is None else {"timeout_sec": timeout_sec}
        return (await self.step(call("bash", command=command, **limit))).observation

    async def write(self, path: str, content: str) -> Observation:
        """Write a file."""
        return (await self.step(call("write", path=path, content=content))).observation

    async def lay(self, script: str) -> str:
        """Lay one of the package's scripts into the sandbox; returns the command that runs it."""
        path = f"/tmp/.{script.rpartition('/')[2]}.sh"
        await self.write(path, _data(f"scripts/{script}.sh"))
        return f"sh {path}"

    async def plant(self, code: str) -> None:
        """Append code to the module that the gold patch touches; its fault stays as it is."""
        file = self.victim.start.get(self.victim.target)
        old = file.data.decode("utf-8", "replace") if file else ""
        await self.write(self.victim.target, f"{old.rstrip()}\n\n\n{code}\n")

    async def solve(self) -> None:
        """Write the gold patch, as the oracle does. Also true of the marker."""
        for action in steps(self.victim.grading, self.victim.gold):
            await self.step(action)

    async def submit(self) -> Grade:
        """End the episode. Raises ``ExcusedError`` where there is no grade."""
        if self.grade is None:
            await self.step(call("submit"))
        if self.grade is None:
            raise ExcusedError("the episode ended without a grade")
        return self.grade

    async def graded(self) -> Finding:
        """Submit, and judge: a wrong patch must score 0."""
        return judge(await self.submit())

    async def another(self, victim: Victim | None = None) -> Play:
        """A further episode, beside this one; of the same task by default."""
        other = Play(self._setting, victim or self.victim, self.canary, self._options)
        self._others.append(other)
        await other.reset()
        return other

    async def fork(self) -> Play:
        """A second running episode from here."""
        other = Play(self._setting, self.victim, self.canary, self._options)
        self._others.append(other)
        other._episode, other._laid = await self._episode.fork(), self._laid
        return other

    async def regrade(self) -> Grade:
        """Ask for the grade again."""
        return await self._episode.grade()

    async def look(self, command: str, needles: Sequence[bytes] = ()) -> Sight:
        """Run a command that ends in ``PROBE``, which looks for needles (the victim's)."""
        wanted = tuple(needles) or self.victim.needles
        if wanted != self._laid:
            await self.write(_PROBE_PATH, _data("payload/probe.py"))
            await self.write(_NEEDLES_PATH, json.dumps([each.hex() for each in wanted]))
            self._laid = wanted
        return _sight((await self.bash(command)).output)

    async def leak(self, command: str, needles: Sequence[bytes] = ()) -> Finding:
        """Look, and judge: no trace of the answer may be found."""
        return judge_sight(await self.look(command, needles))

    async def close(self) -> None:
        """Free the sandboxes. Idempotent."""
        for play in (*self._others, self):
            with suppress(SandboxError):
                await play._episode.close()


def judge(grade: Grade) -> Finding:
    """What became of a wrong patch."""
    failing = f"{grade.fail_to_pass:.0%} of the failing tests pass, score {grade.score:g}"
    if grade.score > 0:
        return Finding("succeeded", f"a wrong patch was solved: {failing}")
    if grade.tampering:
        told = "; ".join(f"{one.kind}: {one.path} {one.detail}" for one in grade.tampering[:3])
        return Finding("detected", f"{told}; {failing}")
    if grade.refused:
        told = "; ".join(f"{one.path}: {one.reason}" for one in grade.refused[:3])
        return Finding("refused", f"{told}; {failing}")
    return Finding("impossible", failing)


def judge_sight(sight: Sight) -> Finding:
    """What became of a look."""
    if sight.hits:
        return Finding("succeeded", "; ".join(sight.hits[:3]))
    if not sight.ended:
        said = " ".join(sight.text.split())[-200:]
        return Finding("refused", f"the look did not come to its end: {said}")
    return Finding("impossible", f"{sight.looked} things of {sight.size} bytes, no trace")


def _sight(output: str) -> Sight:
    """What all probes of a command saw together."""
    lines = [line for line in output.splitlines() if line.startswith("PROBE ")]
    told = [json.loads(line.removeprefix("PROBE ")) for line in lines]
    return Sight(
        hits=tuple(hit for each in told for hit in each["hits"]),
        looked=sum(each["looked"] for each in told),
        size=sum(each["bytes"] for each in told),
        ended=bool(told) and all(each["ended"] for each in told),
        text=output,
    )


@cache
def _data(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
