"""A sandbox's one way out: there with a socket and as long as the sandbox, else nothing at all."""

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from codegym.sandbox.egress import MAX_CONNECTIONS

ASK = """python3 - <<'E'
import socket
s = socket.create_connection(("127.0.0.1", 3128), 5)
s.sendall(b"{text}")
s.shutdown(socket.SHUT_WR)
print(b"".join(iter(lambda: s.recv(9999), b"")).decode(), end="")
E"""
LISTENERS = "cat /proc/net/tcp /proc/net/tcp6 | grep -c ' 0A '"


class Far:
    """What stands where the proxy would: says what was said to it, backwards."""

    def __init__(self, name):
        self.name, self.accepted, self.open = name, 0, 0

    async def serve(self, reader, writer):
        self.accepted += 1
        self.open += 1
        try:
            said = await reader.read()
            writer.write(f"{self.name} {said[::-1].decode()}".encode())
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def far_end(folder, name="far"):
    folder.mkdir(exist_ok=True)
    far = Far(name)
    server = await asyncio.start_unix_server(far.serve, folder / "proxy.sock")
    far.socket = folder / "proxy.sock"
    try:
        yield far
    finally:
        server.close()


def ask(text="abc"):
    return ASK.format(text=text)


async def said(box, text="abc"):
    return (await box.shell(ask(text))).output.decode()


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


async def until(true):
    for _ in range(400):
        if true():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("never")


@pytest.fixture
async def far(tmp_path):
    async with far_end(tmp_path / "far") as made:
        yield made


@pytest.fixture
async def box(backend, spec, far):
    async with await backend.start(replace(spec, egress=far.socket)) as made:
        yield made


async def test_what_connects_inside_is_forwarded_and_nothing_else_listens(box, far):
    assert await said(box) == "far cba"
    assert (await box.shell(LISTENERS)).output == b"1\n"
    (result,) = [await box.exec(["/bin/bash", "-c", ask("of exec")])]
    assert result.output == b"far cexe fo"
    assert far.accepted == 2


async def test_without_a_socket_nothing_listens(backend, spec):
    async with await backend.start(spec) as box:
        assert (await box.shell(LISTENERS)).output == b"0\n"
        assert "ConnectionRefusedError" in await said(box)


@pytest.mark.parametrize("ending", ["sleep 60", "exit 3"])
async def test_it_is_there_again_when_everything_inside_was_ended(box, ending):
    assert (await box.shell(ending, timeout_sec=0.3)).restarted
    assert await said(box) == "far cba"
    assert (await box.shell(LISTENERS)).output == b"1\n"


async def test_nobody_inside_can_take_its_place(box):
    own = "python3 -c 'import socket; socket.create_server((\"127.0.0.1\", 3128))'"
    assert "Address already in use" in (await box.shell(own)).output.decode()
    await box.shell(f"{own} & exit 0")
    assert await said(box) == "far cba"


async def test_a_fork_has_the_same_way_and_goes_on_alone(box, far):
    twin = await box.fork()
    assert await said(twin, "twin") == "far niwt"
    assert await said(box) == "far cba"
    await box.stop()
    assert await said(twin) == "far cba"
    await twin.stop()
    assert far.accepted == 3


async def test_a_stopped_sandbox_has_no_connection_left(box, far):
    hold = "import socket,time; s=socket.create_connection(('127.0.0.1',3128)); time.sleep(99)"
    await box.shell(f'python3 -c "{hold}" &')
    await until(lambda: far.open == 1)
    before = descriptors()
    await box.stop()
    await until(lambda: far.open == 0)
    assert descriptors() < before


async def test_where_no_proxy_is_there_a_connection_ends_at_once(backend, spec, tmp_path):
    async with await backend.start(replace(spec, egress=tmp_path / "none" / "proxy.sock")) as box:
        told = await box.shell(ask(), timeout_sec=10)
        assert not told.timed_out
        assert "far" not in told.output.decode()


async def test_more_connections_than_may_be_wait_until_one_ends(box, far):
    count = MAX_CONNECTIONS + 20
    script = f"""
import socket, sys
made = []
for _ in range({count}):
    made.append(socket.create_connection(("127.0.0.1", 3128), 5))
made[-1].settimeout(0.3)
made[-1].sendall(b"last"); made[-1].shutdown(1)
try:
    print(made[-1].recv(99))
except TimeoutError:
    print("waits")
for each in made[:-1]:
    each.close()
made[-1].settimeout(10)
print(made[-1].recv(99).decode())
"""
    await box.write("many.py", script.encode())
    assert (await box.shell("python3 many.py")).output == b"waits\nfar tsal\n"
    assert far.accepted == count


async def test_each_sandbox_has_its_own(backend, spec, far, tmp_path):
    async with (
        far_end(tmp_path / "other", "other") as other,
        await backend.start(replace(spec, egress=far.socket)) as one,
        await backend.start(replace(spec, egress=other.socket)) as two,
    ):
        assert await asyncio.gather(said(one), said(two)) == ["far cba", "other cba"]


LENGTH = """python3 - <<'E'
import socket
s = socket.create_connection(("127.0.0.1", 3128), 5)
s.shutdown(socket.SHUT_WR)
print(sum(map(len, iter(lambda: s.recv(1 << 16), b""))))
E"""


async def test_a_long_answer_arrives_whole(backend, spec, tmp_path):
    async def serve(reader, writer):
        await reader.read()
        for _ in range(200):
            writer.write(b"x" * 100_000)
            await writer.drain()
        writer.close()

    path = tmp_path / "proxy.sock"
    server = await asyncio.start_unix_server(serve, path)
    async with server, await backend.start(replace(spec, egress=path)) as box:
        assert (await box.shell(LENGTH)).output == b"20000000\n"


async def test_files_of_many_sandboxes_do_not_fill_anything(backend, spec):
    """Each has a file of its own; what they share is there once."""
    large = os.urandom(4 << 20)
    shared = {"/run/x/large": large, "/run/x/tool": b"#!/bin/sh\necho ran\n"}
    for number in range(40):  # 160 MB, if each had its own
        files = shared | {"/run/x/own": f"{number}".encode()}
        async with await backend.start(replace(spec, files=files)) as box:
            told = await box.shell("/run/x/tool; cat /run/x/own; stat -c %s /run/x/large")
            assert told.output == f"ran\n{number}{4 << 20}\n".encode()
