"""A container's one way out: what bubblewrap's does, by the very same tests."""

import runpy
from dataclasses import replace
from pathlib import Path

import pytest_asyncio
from docker_boxes import SHARED

pytestmark = SHARED

checks = runpy.run_path(str(Path(__file__).with_name("test_egress.py")), run_name="egress_tests")
#: Of descriptors, which a keeper has here; of forty sandboxes, each of which takes a container.
_OTHERS = {
    "test_a_stopped_sandbox_has_no_connection_left",
    "test_files_of_many_sandboxes_do_not_fill_anything",
}
globals().update(
    {
        name: body
        for name, body in checks.items()
        if name.startswith("test_") and name not in _OTHERS
    }
)


@pytest_asyncio.fixture(loop_scope="module")
async def far(tmp_path):
    async with checks["far_end"](tmp_path / "far") as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def box(docker_backend, docker_spec, far):
    async with await docker_backend.start(replace(docker_spec, egress=far.socket)) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def backend(docker_backend):
    return docker_backend


@pytest_asyncio.fixture(loop_scope="module")
async def spec(docker_spec):
    return docker_spec


async def test_a_stopped_sandbox_has_no_connection(box, far):
    hold = "import socket,time; s=socket.create_connection(('127.0.0.1',3128)); time.sleep(99)"
    await box.shell(f'python3 -c "{hold}" &')
    await checks["until"](lambda: far.open == 1)
    await box.stop()
    await checks["until"](lambda: far.open == 0)


async def test_large_files_are_sent_once(docker_backend, docker_spec):
    large = bytes(range(256)) * (8 << 10)
    shared = {"/run/x/large": large, "/run/x/tool": b"#!/bin/sh\necho ran\n"}
    for number in range(3):
        files = shared | {"/run/x/own": f"{number}".encode()}
        async with await docker_backend.start(replace(docker_spec, files=files)) as box:
            told = await box.shell("/run/x/tool; cat /run/x/own; stat -c %s /run/x/large")
            assert told.output == f"ran\n{number}{len(large)}\n".encode()
            assert await box.read("/run/x/large") == large
            assert (await box.shell("echo x >> /run/x/own")).exit_code != 0
