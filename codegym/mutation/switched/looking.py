"""Looks at many candidates in one sandbox: built once, then each with the tests that reach it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from codegym.errors import SandboxError
from codegym.grading.ready import Ready, project_root
from codegym.grading.runners.switched import Build, SwitchedRunner, Try
from codegym.grading.services import start_services
from codegym.grading.setting import Setting
from codegym.grading.trials import retried
from codegym.mutation.baseline import Baseline
from codegym.mutation.candidates import Candidate
from codegym.mutation.switched.dialects import DIALECTS
from codegym.mutation.switched.weaving import Woven, weave
from codegym.mutation.warm.session import Tried
from codegym.sandbox.base import REPORT_FD, Sandbox
from codegym.types import Change, Look, RunnerCommand

#: A compiler tells of types only where names are right, and of borrows only where types are.
_MOST_BUILDS = 8
_BUILD_SEC = 600.0
#: Why a look ended that nothing was run for.
UNBUILT = "does_not_compile"


#: Of so many candidates, one more is tried that changes nothing.
_NULL_EVERY = 20


def can_switch(baseline: Baseline) -> bool:
    """Whether candidates of an environment can be looked at with one of its suites."""
    runner = baseline.ready.runner
    return baseline.ready.environment.language in DIALECTS and isinstance(runner, SwitchedRunner)


async def look_at_all(
    setting: Setting, baseline: Baseline, candidates: Sequence[Candidate]
) -> Tried:
    """Look at candidates.

    Returns:
        A look at each. It is ``"cold"`` for one that has to be run by itself: where no switch can
        hold it, where the files that hold switches do not do without an edit what the repository
        does, and where what it does may look otherwise in a process of its own.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    numbered = dict(enumerate(candidates, start=1))
    found = await retried(lambda: _Look(setting, baseline, numbered).result())
    nulls = [look for number, look in found.items() if number not in numbered]
    return Tried(
        looks=tuple(found.get(number, _COLD) for number in numbered),
        nulls=len(nulls),
        null_valid=sum(bool(look.failed) for look in nulls),
    )


_COLD = Look("cold", "no_switch")


class _Look:
    def __init__(
        self, setting: Setting, baseline: Baseline, candidates: Mapping[int, Candidate]
    ) -> None:
        self._setting, self._baseline, self._candidates = setting, baseline, candidates
        self._ready: Ready = baseline.ready
        self._laid: dict[str, bytes] = {}

    async def result(self) -> dict[int, Look]:
        """Looks by number; those of nulls are above all others."""
        runner = self._ready.runner
        if not isinstance(runner, SwitchedRunner):
            return {}
        spec = self._ready.grading_spec
        spec = replace(spec, files={**spec.files, **runner.switcher()})
        async with await self._setting.backend.start(spec) as box:
            if await start_services(box, self._ready.environment):
                return {}
            woven, unbuilt = await self._build(box, runner)
            seen = {number: Look("crashed", UNBUILT) for number in unbuilt}
            if woven is not None:
                seen |= await self._try(box, runner, woven)
        return seen

    async def _build(
        self, box: Sandbox, runner: SwitchedRunner
    ) -> tuple[Woven | None, frozenset[int]]:
        """Build without what does not compile; None where that comes to nothing."""
        left, unbuilt = dict(self._candidates), frozenset[int]()
        for _ in range(_MOST_BUILDS):
            woven = await asyncio.to_thread(self._woven, left)
            if not woven.functions:
                return None, unbuilt
            await self._lay(box, woven)
            built = await self._built(box, runner, woven)
            if built is None or built.well:
                return woven if built else None, unbuilt
            places = [(self._path(path), line) for path, line in built.errors]
            bad = {number for place in places for number in woven.at(*place)}
            # Else it is the switch that does not compile, and all in that function are left to
            # runs of their own.
            lost = bad or {number for place in places for number in woven.around(*place)}
            if not lost:
                return None, frozenset()
            unbuilt |= bad
            left = {number: one for number, one in left.items() if number not in lost}
        return None, unbuilt

    def _woven(self, candidates: Mapping[int, Candidate]) -> Woven:
        environment, tree = self._ready.environment, self._ready.prepared.grading_tree
        files = {
            path: file.data
            for path, file in tree.items()
            if path.endswith(".rs") and file.mode != "120000"
        }
        return weave(environment.language, candidates, files)

    async def _lay(self, box: Sandbox, woven: Woven) -> None:
        """Write what differs from what is there; a file that holds no edit any more as it was."""
        tree = self._ready.prepared.grading_tree
        wanted = {path: woven.files.get(path, tree[path].data) for path in self._laid}
        wanted |= woven.files
        changes = [
            Change(path, data, tree[path].mode == "100755")
            for path, data in wanted.items()
            if self._laid.get(path) != data
        ]
        await box.apply(changes)
        self._laid = wanted

    async def _built(self, box: Sandbox, runner: SwitchedRunner, woven: Woven) -> Build | None:
        command = runner.building(self._command(runner), map(self._inside, woven.files))
        return runner.built(await self._report(box, command, _BUILD_SEC))

    async def _try(self, box: Sandbox, runner: SwitchedRunner, woven: Woven) -> dict[int, Look]:
        tests, edits = self._baseline.seconds, dict(woven.functions)
        for at, number in enumerate(sorted(woven.functions)[::_NULL_EVERY], start=1):
            edits[len(self._candidates) + at] = woven.functions[number]
        command = runner.trying(self._command(runner), edits, tests)
        limit = _BUILD_SEC + len(edits) * (5 * self._baseline.suite_sec + 30.0)
        found = runner.tried(await self._report(box, command, limit))
        if found.unfit:  # the files do not do without edits what the repository does
            return {}
        return {number: _looked(runner, one) for number, one in found.edits.items()}

    async def _report(self, box: Sandbox, command: RunnerCommand, timeout_sec: float) -> bytes:
        ran = await box.exec(
            command.argv,
            stdin=command.stdin,
            env=command.env,
            timeout_sec=timeout_sec,
            max_output_bytes=64_000,
            report=True,
        )
        if ran.restarted == "memory":
            raise SandboxError("a look at many edits was stopped for want of memory")
        return command.own(ran.report)

    def _command(self, runner: SwitchedRunner) -> RunnerCommand:
        suite, environment = self._ready.suite, self._ready.environment
        return runner.command(
            (),
            REPORT_FD,
            python=self._ready.image.python,
            import_paths=suite.import_paths,
            select=suite.select,
            deselect=suite.deselect,
            config=suite.config,
            root=project_root(environment),
        )

    def _inside(self, path: str) -> str:
        """A file of the repository as the project knows it."""
        subdir = self._ready.environment.subdir
        return path if subdir == "." else path.removeprefix(f"{subdir}/")

    def _path(self, inside: str) -> str:
        subdir = self._ready.environment.subdir
        return inside if subdir == "." else f"{subdir}/{inside}"


def _looked(runner: SwitchedRunner, one: Try) -> Look:
    if one.ended == "ran":
        return Look("ran", "", dict.fromkeys(sorted(one.failed), ("failed", "")))
    if one.ended == "timed_out":
        return Look("timed_out")
    # Where tests that share a process here have one each in a grade, others may pass all the same.
    return Look("cold", "crashed") if runner.apart else Look("crashed")
