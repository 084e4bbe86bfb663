"""Layers that coroutines build: one builds, errors pass through, a cancelled one leaves nothing."""

import asyncio
import threading
from pathlib import Path

import pytest

from codegym.errors import DataError, UnavailableError
from codegym.sandbox.images.publishing import publish
from codegym.store import LayerStore

KEY = "venv-0123456789abcdef"


@pytest.fixture
def store(tmp_path):
    return LayerStore(tmp_path / "layers")


async def fill(dest):
    await asyncio.sleep(0.01)
    (dest / "file").write_text("x")


def overflow():
    Path("/dev/full").write_bytes(b"x")


def left(store):
    return sorted(path.name for path in store.root.iterdir() if path.name != ".locks")


async def test_it_is_built_once_by_many_tasks(store):
    calls = []

    async def build(dest):
        calls.append(dest)
        await fill(dest)

    paths = await asyncio.gather(*(publish(store, KEY, build) for _ in range(30)))
    assert set(paths) == {store.root / KEY}
    assert len(calls) == 1
    assert (paths[0] / "file").read_text() == "x"
    assert left(store) == [KEY]


async def test_an_error_passes_through_and_leaves_nothing(store):
    async def build(dest):
        await fill(dest)
        raise DataError("x.lock", "is wrong")

    with pytest.raises(DataError, match="is wrong"):
        await publish(store, KEY, build)
    assert left(store) == []
    assert (await publish(store, KEY, fill) / "file").exists()


async def test_a_disk_that_fills_in_the_midst_is_explained_and_nothing_is_left(store):
    async def build(dest):
        await fill(dest)
        overflow()

    with pytest.raises(UnavailableError, match=r"disk that holds .* is full.*cache prune"):
        await publish(store, KEY, build)
    assert left(store) == []


async def test_of_two_builders_the_second_builds_when_the_first_fails(store):
    async def fail(dest):
        await fill(dest)
        raise DataError("x.lock", "is wrong")

    first, second = await asyncio.gather(
        publish(store, KEY, fail), publish(store, KEY, fill), return_exceptions=True
    )
    results = sorted(map(str, (first, second)))
    assert results in ([str(store.root / KEY), "x.lock: is wrong"], [str(store.root / KEY)] * 2)


async def test_a_cancelled_builder_leaves_nothing(store):
    building = asyncio.Event()

    async def build(dest):
        (dest / "half").write_text("x")
        building.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(publish(store, KEY, build))
    await building.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left(store) == []


async def test_waiting_for_another_builder_can_be_cancelled_and_blocks_nobody(store):
    entered, release = threading.Event(), threading.Event()

    def slow(dest):
        entered.set()
        release.wait(30)

    other = threading.Thread(target=store.publish, args=(KEY, slow))
    other.start()
    await asyncio.to_thread(entered.wait)
    waiting = asyncio.create_task(publish(store, KEY, fill))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()
    await asyncio.to_thread(other.join)
    assert left(store) == [KEY]
    assert list((store.root / KEY).iterdir()) == []  # the other's, not ours


async def test_a_builder_cancelled_while_it_waits_does_not_build_afterwards(store):
    entered, release = threading.Event(), threading.Event()

    def failing(dest):
        entered.set()
        release.wait(30)
        raise DataError("x", "the other one failed")

    def run():
        with pytest.raises(DataError):
            store.publish(KEY, failing)

    other = threading.Thread(target=run)
    other.start()
    await asyncio.to_thread(entered.wait)
    waiting = asyncio.create_task(publish(store, KEY, fill))
    await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.wait({waiting})
    release.set()
    await asyncio.to_thread(other.join)
    assert (await publish(store, KEY, fill) / "file").read_text() == "x"  # the lock is free again
    assert left(store) == [KEY]
