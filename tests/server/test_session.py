"""One client's sandboxes are its own, end with it, and hold up nobody."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from serving import CHECKOUT, TOKEN, served, serving

from codegym.errors import SandboxError
from codegym.sandbox.remote import Remote, messages, wire
from codegym.sandbox.remote.codec import encode
from codegym.sandbox.remote.link import Link
from codegym.sandbox.remote.wire import PIECE, Kind
from codegym.types import Limits


async def linked(server):
    return Link(await server.server.dial(), "the server")


async def until(true, seconds=20.0):
    for _ in range(int(seconds / 0.02)):
        if true():
            return
        await asyncio.sleep(0.02)
    pytest.fail("never")


def running(marker):
    """Processes, of this machine, that have a marker among their words."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found += [entry] if marker.encode() in (entry / "cmdline").read_bytes() else []
            except OSError:
                continue
    return found


async def test_nobody_reaches_a_sandbox_of_another(server, client, spec):
    async with await client.start(spec) as box:
        other = await linked(server)
        for request in (
            messages.Shell(box.number, "id", 5.0, 100),
            messages.Collect(box.number),
            messages.Fork(box.number, 99),
        ):
            with pytest.raises(SandboxError, match="no such sandbox"):
                await other.ask(request, 10)
        await other.ask(messages.Stop(box.number), 10)
        await other.ask(messages.StopAll(), 10)
        other.close()
        assert (await box.shell("echo mine")).output == b"mine\n"


async def test_a_server_that_is_lost_is_told_of_once(local, spec, monkeypatch):
    monkeypatch.setattr("codegym.sandbox.remote.backend._RETRY_SEC", ())
    told = []
    async with serving(local) as server:
        client = server.client()
        client.tell(told.append)
        await client.start(spec)
    await until(lambda: not client._link.alive)
    for _ in range(3):
        with pytest.raises(SandboxError, match="no sandbox server answers"):
            await client.start(spec)
    assert told == [f"the sandbox server at {server.address} is lost; trying again"]
    async with serving(local, port=server.address.port):
        async with await client.start(spec) as box:
            assert (await box.shell("echo back")).output == b"back\n"
        await client.close()
    assert len(told) == 1


@pytest.mark.parametrize(
    "data",
    [
        (1 << 31).to_bytes(4) * 3,
        bytes([Kind.END]) + (1).to_bytes(4) + (PIECE + 1).to_bytes(4) + bytes(PIECE + 1),
        bytes([200]) + bytes(8),
        bytes([Kind.END]) + bytes(8),
        bytes([Kind.END]) + bytes(7) + b"\x09" + (5).to_bytes(4) + b"[[[[[",
    ],
    ids=["noise", "giant frame", "unknown kind", "no message", "no JSON"],
)
async def test_who_breaks_the_protocol_is_cut_off_alone(server, client, spec, data):
    async with await client.start(spec) as box:
        bad = (await server.server.dial()).wire
        bad._writer.write(data)
        with pytest.raises(wire.WireError):
            await bad.receive()
        bad.close()
        assert any("cut off" in line for line in server.said)
        assert (await box.shell("echo ok")).output == b"ok\n"


async def test_a_message_without_an_end_is_bounded(server, monkeypatch):
    monkeypatch.setattr(wire, "MAX_MESSAGE", 10 * PIECE)
    bad = (await server.server.dial()).wire
    for number in range(11):
        await bad.send(Kind.PART, number % 7, bytes(PIECE))
    with pytest.raises(wire.WireError):
        await bad.receive()
    bad.close()
    await until(lambda: any("too large" in line for line in server.said))


@pytest.mark.parametrize("path", ["etc/x", "/a/../etc/x", "//x", "/", "/a//b", "/a/"])
async def test_paths_that_are_not_plain_are_refused(client, spec, path):
    for files in ({path: b"x"}, {path: bytes(1 << 17)}):
        with pytest.raises(SandboxError, match="no plain absolute path"):
            await client.start(replace(spec, files=files))
    with pytest.raises(SandboxError, match="no plain absolute path"):
        await client.start(replace(spec, mount=path))


@pytest.mark.parametrize(
    "bad",
    [
        {"env": {"A": "x\0--bind\0/\0/host"}},
        {"env": {"A\0--bind\0/\0/host": "x"}},
        {"env": {"A=B": "x"}},
        {"env": {"": "x"}},
        {"env": {"A": "\ud800"}},
        {"mount": "/\ud800"},
        {"limits": Limits(cpus=float("nan"))},
        {"limits": Limits(cpus=float("inf"))},
        {"limits": Limits(memory_mb=-1)},
        {"limits": Limits(disk_mb=1 << 80)},
    ],
    ids=ascii,
)
async def test_what_no_gym_would_ask_for_is_refused_and_harms_nobody(client, spec, bad):
    async with await client.start(spec) as box:
        asked = [replace(spec, **bad)]
        if "env" in bad:
            asked.append(replace(spec, image=replace(spec.image, **bad)))
        for each in asked:
            with pytest.raises(SandboxError, match=r"no plain|can be this|no limits|no name"):
                await client.start(each)
        assert (await box.shell("echo ok")).output == b"ok\n"


@pytest.mark.parametrize("bounds", [(float("nan"), 9), (-1.0, 9), (1.0, -1), (1.0, 1 << 40)])
async def test_bounds_of_a_command_that_are_none_are_refused(client, spec, bounds):
    async with await client.start(spec) as box:
        asked = messages.Shell(box.number, "echo ran", *bounds)
        with pytest.raises(SandboxError, match="is none"):
            await box._link.ask(asked, 10)
        assert (await box.shell("echo ok", timeout_sec=20)).output == b"ok\n"


async def test_large_files_are_laid_and_sent_once(client, spec, monkeypatch):
    sent = []

    def noting(message):
        sent.append(message)
        return encode(message)

    monkeypatch.setattr("codegym.sandbox.remote.link.encode", noting)
    one, two = os.urandom(200_000), os.urandom(200_000)

    async def laid(**files):
        asked = replace(spec, files={f"/opt/{name}": data for name, data in files.items()})
        async with await client.start(asked) as box:
            for name, data in files.items():
                assert await box.read(f"/opt/{name}") == data
        starts = [message for message in sent if isinstance(message, messages.Start)]
        sent.clear()
        return [len(start.contents) for start in starts]

    await laid()
    assert await laid(a=one, b=two, c=one, d=b"small") == [0, 2]
    assert await laid(e=two) == [0]
    monkeypatch.setattr("codegym.server.session._MAX_FILES_BYTES", 300_000)
    assert await laid(f=os.urandom(100_000)) == [0, 1]
    assert await laid(a=one) == [0, 1], "what was forgotten is asked for again"


async def test_a_fork_that_is_given_up_leaves_nothing(client, local, spec):
    async with await client.start(spec) as box:
        await box.shell("head -c 8000000 /dev/urandom > data")
        for wait_sec in (0.0, 0.002, 0.01):
            forking = asyncio.ensure_future(box.fork())
            await asyncio.sleep(wait_sec)
            forking.cancel()
            for twin in await asyncio.gather(forking, return_exceptions=True):
                if not isinstance(twin, BaseException):
                    await twin.stop()
        await until(lambda: len(local._boxes) == 1)
        assert (await box.shell("stat -c %s data")).output == b"8000000\n"


async def test_there_are_as_many_as_may_be(local, spec):
    async with serving(local, max_sandboxes=2) as server:
        client = server.client()
        box = await client.start(spec)
        twin = await box.fork()
        for start in (client.start(spec), box.fork()):
            with pytest.raises(SandboxError, match="--max-sandboxes"):
                await start
        await twin.stop()
        async with await client.start(spec) as third:
            assert (await third.shell("echo ok")).output == b"ok\n"
        await client.close()


async def test_a_cancelled_command_is_given_up_and_its_sandbox_goes_on(client, local, spec):
    async with await client.start(spec) as box:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await box.shell("echo x > made; sleep 60")
        (change,) = (await box.collect()).changes
        assert change.path == "made"
        assert (await box.shell("echo ok")).output == b"ok\n"
    assert local._boxes == {}


async def test_a_server_that_does_not_answer_in_time_is_infrastructure(client, spec):
    async with await client.start(spec) as box:
        slow = messages.Shell(box.number, "sleep 60", 100.0, 100)
        with pytest.raises(SandboxError, match="did not answer"):
            await box._link.ask(slow, 0.2)
        assert (await client.start(spec))._link is box._link, "the others need not suffer"


async def test_a_sandbox_that_is_stopped_while_it_runs_stops_at_once(client, local, spec):
    box = await client.start(spec)
    running = asyncio.ensure_future(box.shell("sleep 60"))
    await asyncio.sleep(0.2)
    async with asyncio.timeout(10):
        await box.stop()
        with pytest.raises(SandboxError, match="given up"):
            await running
    assert local._boxes == {}


async def test_a_cancelled_start_leaves_nothing(client, local, spec):
    async with await client.start(spec):  # its layers are there
        for wait_sec in (0.0, 0.001, 0.005, 0.02):
            starting = asyncio.ensure_future(client.start(spec))
            await asyncio.sleep(wait_sec)
            starting.cancel()
            result = (await asyncio.gather(starting, return_exceptions=True))[0]
            if not isinstance(result, asyncio.CancelledError):
                await result.stop()
        await until(lambda: len(local._boxes) == 1)


async def test_a_client_that_reads_nothing_holds_up_nobody(server, client, local, spec):
    async with await client.start(spec) as box:
        deaf = await linked(server)
        deaf._reading.cancel()
        start = messages.Start(
            box=1,
            layers=tuple([await client._uploads.digest(each) for each in spec.image.layers]),
            workspace=await client._uploads.digest(spec.workspace),
            image="",
            image_env=spec.image.env,
            python="",
            limits=spec.limits,
            env={},
            files={},
            large={},
            contents=(),
            mount=spec.mount,
            state=spec.state,
            way=0,
        )
        deaf.tell(start)
        for _ in range(40):
            deaf.tell(messages.Shell(1, "yes | head -c 4000000", 20.0, 4_000_000))
        await until(lambda: len(local._boxes) == 2)
        await asyncio.sleep(0.5)
        for _ in range(5):
            assert (await box.shell("echo ok", timeout_sec=10)).output == b"ok\n"
        deaf.close()
        await until(lambda: len(local._boxes) == 1)


CLIENT = """
import asyncio, os, pathlib, sys
from codegym.sandbox.remote import Remote
from codegym.types import Image, SandboxSpec

async def main():
    layers = tuple(map(pathlib.Path, sys.argv[4:]))
    image = Image("d", layers, {"PATH": "/usr/bin:/bin"})
    backend = Remote(sys.argv[1])
    for _ in range(2):
        box = await backend.start(SandboxSpec(image, pathlib.Path(sys.argv[3])))
        await box.shell(f"sh -c 'sleep {sys.argv[2]}' & setsid sleep {sys.argv[2]} &")
    if os.fork() == 0:  # it has a copy of every descriptor, and lives on
        os.setsid()
        print(os.getpid(), flush=True)
        os.close(1)
        import time
        time.sleep(60)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_a_client_that_is_killed_leaves_nothing(server, local, spec):
    marker = f"9{secrets.randbelow(10**8):08}"
    words = [str(server.address), marker, str(spec.workspace), *map(str, spec.image.layers)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CLIENT, *words), stdout=subprocess.PIPE, cwd=CHECKOUT
    )
    child = int(await process.stdout.readline())
    try:
        await until(lambda: len(running(f"sleep\0{marker}")) >= 4)
        process.kill()
        await process.wait()
        await until(lambda: not running(f"sleep\0{marker}") and local._boxes == {})
        assert any("is gone, and so are its 2 sandboxes" in line for line in server.said)
        os.kill(child, 0)  # the fork is still there
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.fixture
async def reached():
    """Makes a client of a server in another process."""
    made = []

    def reach(url):
        made.append(Remote(url))
        return made[-1]

    yield reach
    for each in made:
        await each.close()


async def test_a_server_that_is_killed_is_infrastructure_and_may_come_back(spec, reached):
    with served() as first:
        client = reached(first.url)
        box = await client.start(spec)
        running = asyncio.ensure_future(box.shell("sleep 60"))
        await asyncio.sleep(0.3)
        first.kill()
        with pytest.raises(SandboxError, match="lost"):
            await running
        with pytest.raises(SandboxError, match="lost"):
            await box.collect()
        await box.stop()
    with served(port=int(first.url.rpartition(":")[2])):
        async with await client.start(spec) as fresh:
            assert (await fresh.shell("echo ok")).output == b"ok\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_server_that_is_told_to_end_ends_cleanly(spec, reached, number):
    marker = f"9{secrets.randbelow(10**8):08}"
    with served() as server:
        assert server.told == {"url": server.url, "backend": "bubblewrap", "max_sandboxes": 256}
        box = await reached(server.url).start(spec)
        await box.shell(f"setsid sleep {marker} &")
        await until(lambda: running(f"sleep\0{marker}"))
        server.send_signal(number)
        assert await asyncio.to_thread(server.wait, 20) == 0
        assert not running(f"sleep\0{marker}")
        with pytest.raises(SandboxError):
            await box.shell("true")


def test_a_token_is_made_where_none_is_given():
    with served(env={"CODEGYM_TOKEN": ""}) as server:
        assert len(server.told["token"]) >= 40


async def test_a_server_that_is_gone_for_good_is_infrastructure(spec, reached, monkeypatch):
    monkeypatch.setattr("codegym.sandbox.remote.backend._RETRY_SEC", (0.01, 0.01))
    client = reached("http://127.0.0.1:9")
    with pytest.raises(SandboxError, match="codegym serve sandbox"):
        await client.start(spec)
    assert TOKEN not in repr(vars(client))
