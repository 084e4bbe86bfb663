"""Work that breaks its own grading scores 0; a machine that breaks it is no reason for a 0.

See ``tests/runs/test_run_folder.py`` and ``tests/test_loop.py`` for full disks and killed gyms.
"""

import asyncio
import contextlib
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from codegym.envs.boxes import persistently
from codegym.errors import SandboxError
from codegym.types import Change, Manifest

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: Put at the end of the module under test, whose fault is left where it is.
FILL = "with open({!r}, 'wb') as file:\n    while True: file.write(bytes(1 << 20))"
BREAKAGES = {
    "disk full": FILL.format("/tmp/x"),
    "workspace full": FILL.format("/workspace/x"),
    "out of memory": "x = []\nwhile True: x.append(bytearray(1 << 24))",
    "kills itself": "import os\nos.kill(os.getpid(), 9)",
    "kills all it can": "import os\nos.kill(-1, 9)\nos.kill(1, 9)",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGABRT)",
    "no descriptors left": "import os\nx = []\nwhile True: x.append(os.open('/', os.O_RDONLY))",
}


@pytest.mark.parametrize("code", BREAKAGES.values(), ids=BREAKAGES)
async def test_work_that_breaks_its_grading_scores_0(range_, code):
    grade = await range_.grade(f"cat >> src/tinycalc/order.py <<'X'\n{code}\nX\n")
    assert grade.score == 0.0
    assert (await range_.setting.grade(range_.ready, range_.gold)).score == 1.0


async def test_what_grows_beyond_the_disk_when_it_is_laid_is_scored(range_):
    limits = replace(range_.environment.limits, disk_mb=16)
    environment = replace(range_.environment, limits=limits)
    ready = replace(range_.ready, environment=environment)
    box = await range_.setting.start(ready)
    async with box:
        sparse = "for i in 1 2 3; do truncate -s 6M src/tinycalc/$i; done"
        assert (await box.shell(sparse)).exit_code == 0
        work = await box.collect()
    assert len(work.changes) == 3
    grade = await range_.setting.grade(ready, work)
    assert grade.score == 0.0
    assert "more than the disk holds" in grade.text


def below(pid):
    """All processes below one, with their command lines."""
    try:
        children = list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
        found = {child: Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
    except (FileNotFoundError, ProcessLookupError):  # one has just ended
        return {}
    for child in children:
        found |= below(child)
    return found


def lasting(gold):
    """The gold solution, whose tests last until something has struck them."""
    slow = b"\nimport time; time.sleep(3)\n"
    return Manifest(tuple(Change(change.path, change.data + slow) for change in gold.changes))


#: Of the solution too: says when the last tests run, which siblings come before, and waits.
LATE = b"""
import ctypes, time
_mean = mean
def mean(numbers):
    ctypes.CDLL(None).prctl(15, b"late", 0, 0, 0)
    time.sleep(1)
    return _mean(numbers)
"""


def at_it(running, named):
    """Whether tests run, in a process that calls itself so."""
    for pid, words in running.items():
        if b"run_suite.py" in words:
            with contextlib.suppress(OSError):
                if not named or Path(f"/proc/{pid}/comm").read_text().strip() == named:
                    return True
    return False


async def strike(backend, command, named=""):
    """Once tests run, kill the first process of a command; as the machine might."""
    while True:
        running = below(backend.launcher()._process.pid)
        if at_it(running, named):
            os.kill(next(pid for pid, words in running.items() if command in words), signal.SIGKILL)
            return
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("command", [b"run_suite.py", b"bwrap\0", b"/bin/bash\0"])
async def test_what_the_machine_kills_is_graded_on_another_sandbox(range_, command):
    await range_.setting.grade(range_.ready, range_.gold)  # all that is made once is there
    async with asyncio.timeout(60):
        striking = asyncio.ensure_future(strike(range_.setting.backend, command))
        gold = lasting(range_.gold)
        grade = await persistently(lambda: range_.setting.grade(range_.ready, gold))
        await striking
    assert grade.score == 1.0, grade.text


@pytest.mark.slow
async def test_what_is_killed_after_siblings_is_run_again(range_):
    """By then more tests have reported than the task has."""
    await range_.setting.grade(range_.ready, range_.gold)
    path = "src/tinycalc/arith.py"
    late = Change(path, range_.ready.prepared.start_tree[path].data + LATE)
    work = Manifest((*range_.gold.changes, late))
    for _ in range(5):  # a busy machine may look at it too late
        striking = asyncio.ensure_future(strike(range_.setting.backend, b"run_suite.py", "late"))
        grade = await range_.setting.grade(range_.ready, work)
        if striking.done():
            break
        striking.cancel()
    striking.result()  # it struck
    assert grade.siblings > 0
    assert grade.score == 1.0, grade.text


async def test_a_sandbox_that_dies_is_an_error_and_never_a_0(range_):
    await range_.setting.grade(range_.ready, range_.gold)
    async with asyncio.timeout(60):
        striking = asyncio.ensure_future(strike(range_.setting.backend, b"bwrap\0"))
        with pytest.raises(SandboxError):
            await range_.setting.grade(range_.ready, lasting(range_.gold))
        await striking
