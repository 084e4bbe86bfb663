"""Recordings: made once, in the background, by whoever is first; and seen by no policy."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace

import pytest

from codegym.envs.marking import Marker, Remembering
from codegym.grading.observe.stored import dump, load
from codegym.grading.runners.pytest import PytestRunner
from codegym.grading.setting import Setting
from codegym.sandbox.backends import pick
from codegym.types import Manifest

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Counting:
    """A backend that counts the sandboxes that it starts."""

    def __init__(self):
        self._inner = pick("bubblewrap")
        self.name, self.started = self._inner.name, 0

    def __getattr__(self, name):
        return getattr(self._inner, name)

    async def start(self, spec):
        self.started += 1
        return await self._inner.start(spec)


def unseen(task, name):
    """The same task with one more file, so that nothing was recorded of its solved tree."""
    extra = f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n"
    extra += f"@@ -0,0 +1 @@\n+{name}\n"
    return replace(task, instance_id=f"tiny-{name}", start_patch=task.start_patch + extra)


def fresh(task, name):
    return unseen(task, f"{name}-{os.getpid()}-{time.time_ns()}.txt")


async def test_one_recording_for_all_who_ask(range_, tiny):
    backend = Counting()
    setting, other = Setting(backend), Setting(Counting())
    try:
        task = fresh(range_.task, "shared")
        ready = await setting.ready(task, tiny)
        before = backend.started
        first, second = await asyncio.gather(setting.recording(ready), setting.recording(ready))
        assert first is second
        made = backend.started - before
        assert made == 12, made
        # Another task with the same solution, and another process's setting, find it.
        again = await other.ready(replace(task, instance_id="tiny-again"), tiny)
        assert dump(await other.recording(again)) == dump(first)
        assert other.backend.started == 0
        assert (await setting.grade(ready, Manifest())).assurance == "observed"
        assert backend.started == before + made + 1
    finally:
        await setting.close()
        await other.close()


async def test_ready_does_not_wait_for_it_and_a_sandbox_that_stays_begins_it(range_, tiny):
    backend = Counting()
    setting = Setting(backend)
    try:
        ready = await setting.ready(fresh(range_.task, "ahead"), tiny)
        assert backend.started == 0
        box = await setting.start(ready)
        gone = await setting.ready(fresh(range_.task, "gone"), tiny)
        await (await setting.start(gone)).stop()
        assert backend.started == 2
        for _ in range(1200):
            await asyncio.sleep(0.1)
            if backend.started >= 14:
                break
        assert backend.started == 14  # twelve more for the one, none for the other
        await box.stop()
    finally:
        await setting.close()


async def test_who_remembers_grades_records_nothing_before_one_needs_it(range_, tiny):
    setting = Remembering(Counting())
    backend, setting.marker = setting.backend, Marker()
    try:
        ready = await setting.ready(fresh(range_.task, "brief"), tiny)
        box = await setting.start(ready)
        await asyncio.sleep(1.5)  # within which another setting would have begun
        assert backend.started == 1
        await box.stop()
        assert (await setting.grade(ready, Manifest())).score == 0.0
        assert backend.started == 2
        assert (await setting.grade(ready, range_.gold)).score == 1.0
        assert backend.started == 16  # twelve of the recording, the work as it is, and observed
        assert setting.marker.tally.unique == 2
    finally:
        await setting.close()


@pytest.mark.slow
async def test_a_recording_that_was_cut_off_is_not_kept(range_, tiny):
    """Else who keeps the machine busy at the right moment has no test observed for ever after."""
    task = fresh(range_.task, "cut-off")
    ready = await range_.setting.ready(task, tiny)
    hurried = replace(ready, suite=replace(ready.suite, timeout_sec=0.05))
    recording = await range_.setting.recording(hurried)
    assert not recording.covers(task.test_ids)
    assert recording.notes[0].endswith("Nothing of it is observed, this time.")
    assert (await range_.setting.recording(ready)).covers(task.test_ids)


@pytest.mark.slow
async def test_what_is_stopped_leaves_nothing_and_is_made_again(range_, tiny):
    task = fresh(range_.task, "stopped")
    setting = Setting(pick("bubblewrap"))
    ready = await setting.ready(task, tiny)
    waiting = asyncio.ensure_future(setting.recording(ready))
    await asyncio.sleep(0.5)
    await setting.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    recording = await range_.setting.recording(await range_.setting.ready(task, tiny))
    assert recording.covers(task.test_ids)


KILLED = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from codegym.grading.setting import Setting
from codegym.sandbox.backends import pick
from codegym.tasks import load_environment
from grading_keeper_task import task


async def main():
    setting = Setting(pick("bubblewrap"))
    ready = await setting.ready(task, load_environment(Path({folder!r})))
    print("begun", flush=True)
    await setting.recording(ready)
    print("made", flush=True)
    await setting.close()


asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_killed_process_leaves_it_to_the_next(range_, tiny, tmp_path):
    task = fresh(range_.task, "killed")
    (tmp_path / "grading_keeper_task.py").write_text(
        f"from codegym.types import Task\n\ntask = {task!r}\n"
    )
    script = textwrap.dedent(KILLED.format(tests=str(tmp_path), folder=str(tiny.folder)))
    await asyncio.to_thread(_killed_once_begun, script)
    recording = await range_.setting.recording(await range_.setting.ready(task, tiny))
    assert recording.covers(task.test_ids)


def _killed_once_begun(script):
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout.readline() == "begun\n"
            time.sleep(0.3)
        finally:
            running.send_signal(signal.SIGKILL)


async def test_nothing_of_it_is_in_a_policys_sandbox(range_):
    await range_.setting.recording(range_.ready)
    async with await range_.setting.start(range_.ready) as box:
        found = await box.shell(
            "find / -xdev -path /proc -prune -o "
            "\\( -name '*observer*' -o -name '*recording*' \\) -print 2>/dev/null; "
            "grep -rl _cg_observer / --include='*.py' 2>/dev/null; :"
        )
    assert found.output.split() == [b"/opt/runner/run_suite.py"]  # it says what it would import


async def test_it_is_read_as_it_was_written(range_):
    recording = await range_.setting.recording(range_.ready)
    assert load(dump(recording)) == recording
    assert b"2.5" not in b"".join(recording.sources.values())


class Plain:
    """A runner that only reports, as a plug-in may be."""

    name, assurance = "plain", "controls"

    def __init__(self):
        inner = PytestRunner()
        self.payload, self.command, self.parse = inner.payload, inner.command, inner.parse


async def test_a_runner_that_does_not_observe_works_with_its_own_assurance(range_):
    ready = replace(range_.ready, runner=Plain())
    assert await range_.setting.recording(ready) is None
    grade = await range_.setting.grade(ready, range_.gold)
    assert (grade.score, grade.assurance, grade.protection) == (1.0, "controls", {"controls": 1})
    assert (grade.siblings, grade.forging_bound, grade.hard_codable) == (0, 1.0, True)
    assert (await range_.setting.grade(ready, Manifest())).score == 0.0


async def test_where_nothing_is_observed_a_brief_grade_is_one_run(range_, tiny):
    setting = Setting(Counting())
    try:
        ready = replace(await setting.ready(range_.task, tiny), runner=Plain())
        before = setting.backend.started
        assert (await setting.grade(ready, range_.gold, brief=True)).score == 1.0
        assert setting.backend.started == before + 1
    finally:
        await setting.close()
