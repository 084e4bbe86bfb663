"""The fake that ships: enough of a sandbox to test tools with."""

import pytest

from codegym.errors import SandboxError
from codegym.sandbox.fake import FakeBackend
from codegym.types import Change, CommandResult, Image, SandboxSpec


async def test_it_answers_keeps_files_and_forks(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    backend = FakeBackend(lambda command: CommandResult(3, command.upper().encode()))
    box = await backend.start(SandboxSpec(Image("d", ()), tmp_path))
    assert (await box.shell("echo")).output == b"ECHO"
    assert (await box.exec(["/bin/ls", "-l"])).exit_code == 3
    await box.write("/workspace/new", b"new")
    twin = await box.fork()
    await twin.apply([Change("old", None)])
    assert (await box.read("old"), await box.read("/workspace/new")) == (b"old", b"new")
    with pytest.raises(ValueError, match="no such file"):
        await twin.read("old")
    assert (await twin.collect()).changes == (Change("new", b"new"), Change("old", None))
    await box.stop()
    with pytest.raises(SandboxError):
        await box.shell("echo")
