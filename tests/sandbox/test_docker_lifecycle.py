"""Whose fault an end is, and what comes after it."""

import asyncio

import pytest
from docker_boxes import SHARED

from codegym.errors import SandboxError
from codegym.sandbox.backends import pick

pytestmark = [*SHARED, pytest.mark.slow]  # containers are started and ended by the dozen


async def test_a_dead_keeper_is_infrastructure_and_is_replaced(docker_spec):
    backend = pick("docker")
    try:
        box = await backend.start(docker_spec)
        running = asyncio.ensure_future(box.exec(["/bin/sleep", "60"]))
        await asyncio.sleep(0.2)
        for keeper in backend.pool._keepers:
            backend.engine.kill(keeper._container)
        with pytest.raises(SandboxError, match="keeper"):
            await running
        with pytest.raises(SandboxError):
            await box.shell("echo lost")
        async with await backend.start(docker_spec) as fresh:
            assert (await fresh.shell("echo ok")).output == b"ok\n"
    finally:
        await backend.close()


async def test_a_container_killed_from_outside_keeps_its_files(docker_backend, docker_spec):
    """Docker does not tell a kill from ``exit 137``, and what an agent may do must be scored."""
    async with await docker_backend.start(docker_spec) as box:
        await box.shell("echo kept > f; cd package; export A=1")
        running = asyncio.ensure_future(box.exec(["/bin/sleep", "60"]))
        await asyncio.sleep(0.2)
        docker_backend.engine.kill(box._unit.container)
        result = await running
        assert (result.exit_code, result.restarted) == (137, "exit")
        seen = (await box.shell("cat ../f; pwd; echo $A")).output
        assert seen == b"kept\n/workspace/package\n1\n"


async def test_a_sandbox_that_kills_all_it_can_is_its_own_doing(docker_backend, docker_spec):
    async with await docker_backend.start(docker_spec) as box:
        result = await box.exec(["/bin/sh", "-c", "kill -9 1; kill -9 -1; exit 5"])
        assert result.exit_code != 0
        assert (await box.shell("echo ok")).output == b"ok\n"


async def test_a_shell_that_gave_up_its_pipes_is_killed(docker_backend, docker_spec):
    """It ignores every signal, and waits for something that never comes."""
    async with await docker_backend.start(docker_spec) as box:
        command = "echo x > f; trap '' TERM HUP INT PIPE; exec 3<&- 4>&- 5<&- 6>&-; exec sleep 600"
        assert (await box.shell(command, timeout_sec=30)).restarted == "exit"
        assert [change.path for change in (await box.collect()).changes] == ["f"]


async def test_a_shell_that_was_replaced_cannot_put_off_its_end(docker_backend, docker_spec):
    box = await docker_backend.start(docker_spec)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await box.shell("trap '' TERM HUP INT PIPE; exec sleep 600")
    await box.stop()
    assert box._unit.ended.done()


async def test_a_sandbox_that_was_stopped_says_so(docker_backend, docker_spec):
    box = await docker_backend.start(docker_spec)
    await box.stop()
    await box.stop()
    for call in (box.shell("true"), box.collect(), box.fork()):
        with pytest.raises(SandboxError, match="stopped"):
            await call


async def test_many_start_and_stop_at_once(docker_backend, docker_spec):
    boxes = await asyncio.gather(*(docker_backend.start(docker_spec) for _ in range(10)))
    seen = await asyncio.gather(*(box.shell("echo $$") for box in boxes))
    assert {result.output for result in seen} == {b"1\n"}
    assert len({box._unit.container for box in boxes}) == 10
    await asyncio.gather(*(box.stop() for box in boxes))
    assert not docker_backend._boxes
