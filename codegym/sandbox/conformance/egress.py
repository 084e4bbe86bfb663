"""The one way out: there with a socket, for as long as the sandbox; and files that can be run."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from codegym.sandbox.base import Backend, Sandbox
from codegym.sandbox.conformance.check import check_backend, expect, says
from codegym.types import EGRESS_PORT, SandboxSpec

_ASK = f"""\
import socket
client = socket.create_connection(("127.0.0.1", {EGRESS_PORT}), 10)
client.sendall(b"abc")
client.shutdown(socket.SHUT_WR)
print(b"".join(iter(lambda: client.recv(1 << 16), b"")).decode())
"""
_LONG = f"""\
import socket
client = socket.create_connection(("127.0.0.1", {EGRESS_PORT}), 10)
client.sendall(b"x" * 3_000_000)
client.shutdown(socket.SHUT_WR)
print(sum(map(len, iter(lambda: client.recv(1 << 16), b""))))
"""


@asynccontextmanager
async def _far_end(name: str) -> AsyncIterator[Path]:
    """What stands where the proxy would: says its name, and what was said to it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(name.encode() + await reader.read())
        writer.close()

    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "proxy.sock"
        async with await asyncio.start_unix_server(serve, socket):
            yield socket


async def _asked(box: Sandbox, code: str = _ASK) -> str:
    return await says(box, f"{box.spec.image.python} - <<'E' 2>&1 | tail -1\n{code}E")


@check_backend
async def a_socket_is_the_one_way_out(backend: Backend, spec: SandboxSpec) -> None:
    """Each sandbox has its own; it is there again after everything inside was ended."""
    async with (
        _far_end("one ") as one,
        _far_end("two ") as two,
        await backend.start(replace(spec, egress=one)) as first,
        await backend.start(replace(spec, egress=two)) as second,
    ):
        said = [await _asked(first), await _asked(second)]
        expect(said == ["one abc", "two abc"], "each has its own", said)
        await first.shell("sleep 60", timeout_sec=0.2)
        expect(await _asked(first) == "one abc", "it is there after a time-out")
        passed = await _asked(first, _LONG)
        expect(passed == "3000004", "much passes, both ways", passed)


@check_backend
async def without_a_socket_nothing_listens(backend: Backend, spec: SandboxSpec) -> None:
    """The port is like any other."""
    async with await backend.start(spec) as box:
        said = await _asked(box)
        expect("refused" in said, "a connection is refused", said)


@check_backend
async def a_fork_has_the_same_way_out(backend: Backend, spec: SandboxSpec) -> None:
    """Its own listener, which outlives the first sandbox's."""
    async with _far_end("one ") as one:
        box = await backend.start(replace(spec, egress=one))
        try:
            twin = await box.fork()
        finally:
            await box.stop()
        async with twin:
            said = await _asked(twin)
            expect(said == "one abc", "a fork gets out", said)


@check_backend
async def files_that_begin_like_scripts_can_be_run(backend: Backend, spec: SandboxSpec) -> None:
    """Laid into the root, and for reading only."""
    script, large = b"#!/bin/sh\necho ran\n", bytes(2 << 20)
    files = {**spec.files, "/run/laid/bin/tool": script, "/run/laid/data": large}
    async with await backend.start(replace(spec, files=files)) as box:
        said = await says(box, "/run/laid/bin/tool; /usr/bin/wc -c < /run/laid/data")
        expect(said.split() == ["ran", str(2 << 20)], "a script is run, a file read", said)
        said = await says(box, "echo x >> /run/laid/data; echo x > /run/laid/bin/new")
        expect(said.count("Read-only") == 2, "neither is written", said)
