"""One loop per process, whatever happens to the process."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from codegym.envs.loop_thread import LoopThread, loop_thread


@pytest.fixture
def loop():
    made = LoopThread()
    yield made
    made.close()


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


async def give(value):
    await asyncio.sleep(0)
    return value


def test_it_runs_and_raises(loop):
    assert loop.run(give(3)) == 3

    async def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        loop.run(fail())
    assert loop.run(give(4)) == 4


def test_one_for_a_process_also_for_threads_that_race():
    found = []
    threads = [threading.Thread(target=lambda: found.append(loop_thread())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(each) for each in found}) == 1


def test_calls_from_many_threads_run_at_once(loop):
    both = threading.Barrier(2, timeout=10)

    async def meet():
        await asyncio.to_thread(both.wait)

    threads = [threading.Thread(target=loop.run, args=(meet(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)


def test_it_cannot_wait_for_itself(loop):
    async def nested():
        loop.run(give(1))

    with pytest.raises(RuntimeError, match="cannot wait for itself"):
        loop.run(nested())


def test_an_interrupt_waits_for_the_cleanup(loop):
    order = []

    async def work():
        threading.Timer(0.05, interrupt).start()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.1)
            order.append("cleaned")

    with pytest.raises(KeyboardInterrupt):
        loop.run(work())
    assert order == ["cleaned"]
    assert loop.run(give(5)) == 5


def test_an_interrupt_disturbs_no_other_call(loop):
    kept = []
    other = threading.Thread(target=lambda: kept.append(loop.run(asyncio.sleep(0.4, "kept"))))
    other.start()
    threading.Timer(0.05, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        loop.run(asyncio.sleep(60))
    other.join(10)
    assert kept == ["kept"]


def test_closing_runs_what_was_registered_newest_first_and_is_idempotent(loop):
    order = []

    async def note(name):
        order.append(name)

    loop.at_exit(lambda: note("first"))
    loop.at_exit(lambda: note("second"))
    loop.close()
    loop.close()
    assert order == ["second", "first"]
    with pytest.raises(RuntimeError, match="is closed"):
        loop.run(give(1))


def test_closing_cancels_what_still_runs(loop):
    ended = threading.Event()

    async def linger():
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def begin():
        loop.kept = asyncio.ensure_future(linger())
        await asyncio.sleep(0)

    loop.run(begin())
    loop.close()
    assert ended.is_set()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_gets_its_own():
    parent = loop_thread()
    assert parent.run(give(1)) == 1
    pid = os.fork()
    if pid == 0:
        child = loop_thread()
        good = child is not parent and child.run(give(7)) == 7
        parent.close()  # not the child's to close
        os._exit(0 if good else 1)
    deadline = time.monotonic() + 20
    while (done := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert os.waitstatus_to_exitcode(done[1]) == 0
    assert parent.run(give(2)) == 2


def test_a_process_that_used_it_ends_by_itself():
    script = """
import asyncio
from codegym.envs.loop_thread import loop_thread
loop = loop_thread()
async def close(): print("closed")
loop.at_exit(close)
async def begin(): loop.kept = asyncio.ensure_future(asyncio.sleep(1000))
loop.run(begin())
print("end")
"""
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert (done.stdout, done.stderr) == ("end\nclosed\n", "")


def test_importing_it_starts_nothing():
    script = "import threading, codegym.envs.loop_thread; print(threading.active_count())"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"
