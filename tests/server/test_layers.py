"""Layers at a server: sent once, refused where they are wrong, watched afterwards."""

import asyncio
import shutil
from dataclasses import replace

import pytest
from serving import serving

from codegym.errors import SandboxError, UnavailableError, UsageError
from codegym.sandbox.bubblewrap import Bubblewrap
from codegym.sandbox.remote.codec import decode, encode
from codegym.sandbox.remote.folders import digest_of, entries_of
from codegym.sandbox.remote.messages import REPLIES, Done, Failed, Go, Put
from codegym.sandbox.remote.wire import Kind, Messages, WireError
from codegym.store import LayerStore
from codegym.types import SandboxSpec


@pytest.fixture
def layer():
    def build(folder):
        (folder / "file").write_text("content\n")

    return LayerStore().publish("tree-0c0f0e02", build)


@pytest.fixture
def empty(tmp_path):
    """A server's store that holds nothing yet."""
    tmp_path.chmod(0o755)
    return LayerStore(tmp_path / "layers")


def put_of(layer):
    entries = tuple(entries_of(layer))
    return Put(digest_of(entries), False, entries)


async def reply(wire):
    messages = Messages()
    while (whole := messages.add(await wire.receive())) is None:
        pass
    return decode(whole, REPLIES)


async def sent(server, put, data, kind=Kind.DATA):
    """What a server answers to a layer: at first, and once it was sent."""
    wire = (await server.server.dial()).wire
    try:
        await wire.send_message(0, encode(put))
        first = await reply(wire)
        if not isinstance(first, Go):
            return first, None
        await wire.send(kind, 0, data)
        return first, await reply(wire)
    finally:
        wire.close()


def kept(store):
    return [path for path in store.root.iterdir() if path.name != ".locks"]


async def test_a_layer_is_taken_once(local, empty, layer):
    async with serving(local, store=empty) as server:
        assert await sent(server, put_of(layer), b"content\n") == (Go(), Done())
        assert [path.name for path in kept(empty)] == [f"layer-{put_of(layer).digest}"]
        assert await sent(server, put_of(layer), b"") == (Done(), None)


async def test_wrong_bytes_leave_nothing(local, empty, layer):
    async with serving(local, store=empty) as server:
        for data in (b"Content\n", b"content\nand more"):
            _, answer = await sent(server, put_of(layer), data)
            assert isinstance(answer, Failed)
            assert kept(empty) == []


async def test_a_list_that_lies_is_refused_before_anything_is_sent(local, empty, layer):
    put = put_of(layer)
    out = tuple(replace(each, path=f"../{each.path}") for each in put.entries if each.path)
    top = tuple(each for each in put.entries if not each.path)
    async with serving(local, store=empty) as server:
        for bad in (replace(put, digest="0" * 64), Put(digest_of(top + out), False, top + out)):
            answer, _ = await sent(server, bad, b"")
            assert isinstance(answer, Failed)
        assert kept(empty) == []
        digest = f"../../{put.digest}"
        answer, _ = await sent(server, replace(put, digest=digest), b"")
        assert isinstance(answer, Failed)


async def test_one_that_is_broken_off_leaves_nothing(local, empty, layer):
    async with serving(local, store=empty) as server:
        with pytest.raises(WireError):
            await sent(server, put_of(layer), b"", kind=Kind.EOF)
        wire = (await server.server.dial()).wire
        await wire.send_message(0, encode(put_of(layer)))
        assert await reply(wire) == Go()
        wire.close()
        await asyncio.sleep(0.2)
        assert kept(empty) == []
        assert await sent(server, put_of(layer), b"content\n") == (Go(), Done())


async def test_an_empty_server_is_sent_all_once_and_says_how_much(spec, tmp_path):
    tmp_path.chmod(0o755)
    store = LayerStore(tmp_path / "layers")
    backend = Bubblewrap(store)
    async with serving(backend, store=store) as server:
        client, told = server.client(), []
        client.tell(told.append)
        boxes = await asyncio.gather(*(client.start(spec) for _ in range(4)))
        assert [(await box.shell("cat README")).output for box in boxes] == [b"hello\n"] * 4
        sending = [line for line in told if line.startswith("sending")]
        assert len(kept(store)) == 2
        assert len(sending) == 1, "four asked for it, and the workspace is too small to be told of"
        assert "MB to http://127.0.0.1" in sending[0]
        await client.close()
        again, told = server.client(), []
        again.tell(told.append)
        async with await again.start(spec) as box:
            assert (await box.shell("id -u")).output == b"1000\n"
        assert told == []
        await again.close()
        await _pruned_and_changed(server, spec, store)
    async with serving(backend, store=store) as server:
        await _changed(server, spec)
    await backend.close()


async def _pruned_and_changed(server, spec, store):
    """A layer that is gone is sent anew; one that was changed is never started from."""
    client = server.client()
    (workspace,) = [path for path in kept(store) if path.name.startswith("workspace-")]
    shutil.rmtree(workspace)
    async with await client.start(spec) as box:
        assert (await box.shell("cat README")).output == b"hello\n"
    (workspace / "README").write_text("the answer\n")
    await _changed(server, spec)
    await client.close()


async def _changed(server, spec):
    client = server.client()
    with pytest.raises(UnavailableError, match="rm -r"):
        await client.start(spec)
    await client.close()


async def test_a_layer_of_elsewhere_is_refused(client, spec, tmp_path):
    with pytest.raises(UsageError, match="not a layer"):
        await client.start(SandboxSpec(spec.image, tmp_path))


async def test_a_layer_that_is_gone_here_is_told(client, spec):
    gone = LayerStore().root / "tree-0c0f0e03"
    with pytest.raises(SandboxError, match="pruned"):
        await client.start(SandboxSpec(spec.image, gone))
