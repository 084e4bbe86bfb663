"""Nothing is left behind, however things end."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from as_user import CHECKOUT

from codegym.errors import SandboxError, UnavailableError, UsageError
from codegym.sandbox.backends import pick
from codegym.sandbox.bubblewrap import BubblewrapSandbox
from codegym.sandbox.client import Launcher
from codegym.store import LayerStore
from codegym.types import Image, SandboxSpec

GYM = """
import asyncio, sys
from codegym.sandbox.bubblewrap import Bubblewrap
from codegym.types import *
from pathlib import Path

async def main():
    backend = Bubblewrap()
    image = Image("d", tuple(map(Path, sys.argv[3:])), {"PATH": "/usr/bin:/bin"})
    boxes = [await backend.start(SandboxSpec(image, Path(sys.argv[2]))) for _ in range(3)]
    for box in boxes:
        await box.shell(f"(trap '' TERM; setsid sleep {sys.argv[1]} &) ; sleep {sys.argv[1]} &")
        await box.shell("head -c 1000000 /dev/zero > f")
    boxes.append(await boxes[0].fork())
    print(backend.launcher()._process.pid, flush=True)
    END

asyncio.run(main())
"""
ENDS = {
    "normally": "return",
    "by sys.exit": "sys.exit(3)",
    "by an error": "raise RuntimeError",
    "by os._exit": "import os; os._exit(4)",
    "by kill -9": "await asyncio.sleep(100)",
    "by Ctrl-C": "await asyncio.sleep(100)",
}


def left(launcher, marker, temporary):
    """Processes, mounts, control groups and temporary files that one gym process made."""
    commands = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                commands.append((entry / "cmdline").read_bytes())
            except OSError:
                continue
    return [
        *(command for command in commands if marker.encode() in command),
        *([launcher] if Path(f"/proc/{launcher}").exists() else []),
        *(at for at, *_ in os.walk("/sys/fs/cgroup") if f"/codegym-{launcher}-" in at),
        *temporary.iterdir(),
        *(
            line
            for line in Path("/proc/self/mountinfo").read_text().splitlines()
            if " /b/" in line or "/oldroot" in line
        ),
    ]


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_behind(end, spec, tmp_path):
    marker = f"9{secrets.randbelow(10**8):08}"
    gym = subprocess.Popen(
        [
            *(sys.executable, "-c", GYM.replace("END", ENDS[end]), marker, str(spec.workspace)),
            *map(str, spec.image.layers),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=CHECKOUT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    launcher = int(gym.stdout.readline())
    if end == "by kill -9":
        during = left(launcher, marker, tmp_path)
        assert sum(isinstance(entry, bytes) for entry in during) >= 7  # gym and six sleepers
        assert not any(" /b/" in str(entry) for entry in during), "no mount shows outside"
        gym.kill()
    if end == "by Ctrl-C":
        os.killpg(gym.pid, signal.SIGINT)
    gym.wait(30)
    gym.stdout.close()
    deadline = time.monotonic() + 20
    while left(launcher, marker, tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left(launcher, marker, tmp_path) == []


def serving(pid):
    """The launcher's process that serves: the last below ``pid`` that is not bubblewrap."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        if b"launcher.serve" in Path(f"/proc/{child}/cmdline").read_bytes():
            return serving(int(child))
    return pid


async def test_a_dead_launcher_is_infrastructure_and_is_replaced(backend, spec):
    box = await backend.start(spec)
    os.kill(serving(backend.launcher()._process.pid), signal.SIGKILL)
    await asyncio.sleep(0.2)
    with pytest.raises(SandboxError):
        await box.shell("echo lost")
    async with await backend.start(spec) as fresh:
        assert (await fresh.shell("echo ok")).output == b"ok\n"


async def test_a_sandbox_that_was_stopped_says_so(backend, spec):
    box = await backend.start(spec)
    await box.stop()
    await box.stop()
    with pytest.raises(SandboxError, match="stopped"):
        await box.shell("true")


async def test_a_layer_elsewhere_is_refused(backend, spec, tmp_path):
    with pytest.raises(UsageError, match="not a layer"):
        await backend.start(SandboxSpec(spec.image, tmp_path))


async def test_an_image_without_a_shell_is_said(backend, spec):
    empty = LayerStore().publish("image-00000000", lambda folder: (folder / "usr").mkdir())
    with pytest.raises(SandboxError, match="bash"):
        await backend.start(SandboxSpec(Image("d", (empty,)), spec.workspace))
    assert backend._boxes == {}


async def test_a_machine_without_user_namespaces_is_told_how_to_mend_it(monkeypatch, tmp_path):
    refuse = "import sys; sys.stderr.write('unshare: Operation not permitted'); sys.exit(1)"
    monkeypatch.setattr("codegym.sandbox.client._LAUNCH", refuse)
    with pytest.raises(UnavailableError, match=r"Operation not permitted.*sysctl"):
        Launcher(tmp_path, lambda *_: None)


async def test_an_unknown_backend_names_the_nearest():
    with pytest.raises(UsageError, match="bubblewrap"):
        pick("bubblewarp")


async def test_many_start_and_stop_at_once(backend, spec):
    boxes = await asyncio.gather(*(backend.start(spec) for _ in range(24)))
    seen = await asyncio.gather(*(box.shell("echo $$") for box in boxes))
    assert {result.output for result in seen} == {b"1\n"}
    await asyncio.gather(*(box.stop() for box in boxes))
    assert backend._boxes == {}


async def test_a_cancellation_is_not_lost_as_a_sandbox_becomes_ready(backend, spec, monkeypatch):
    real = BubblewrapSandbox._restore

    async def restore(self, shell):
        await real(self, shell)
        asyncio.get_running_loop().call_soon(playing.cancel)  # before anyone hears that it is done

    async def play():
        async with await backend.start(spec):
            await asyncio.sleep(20)

    monkeypatch.setattr(BubblewrapSandbox, "_restore", restore)
    playing = asyncio.ensure_future(play())
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(10):
            await playing
    assert backend._boxes == {}


async def test_a_sandbox_killed_from_outside_is_infrastructure(backend, spec):
    """Bubblewrap itself lies outside: no process inside can signal it."""
    async with await backend.start(spec) as box:
        running = asyncio.ensure_future(box.exec(["/bin/sleep", "60"]))
        await asyncio.sleep(0.3)
        os.kill(monitor_of(backend), signal.SIGKILL)
        with pytest.raises(SandboxError, match="killed from outside"):
            await running


async def test_a_sandbox_that_kills_all_it_can_is_its_own_doing(backend, spec):
    async with await backend.start(spec) as box:
        result = await box.exec(["/bin/sh", "-c", "kill -9 1; kill -9 -1; exit 5"])
        assert result.exit_code != 0
        assert (await box.shell("echo ok")).output == b"ok\n"


async def test_a_launcher_that_can_make_no_group_says_so_and_lives(backend, spec):
    if os.getuid() or not backend.launcher().hard:
        pytest.skip("no control groups that this user may give away")
    pid = backend.launcher()._process.pid
    every = (Path(at) for at, *_ in os.walk("/sys/fs/cgroup"))
    tops = [at for at in every if at.name.startswith(f"codegym-{pid}-")]
    owners = {at: (at.stat().st_uid, at.stat().st_gid) for at in tops}
    assert tops
    try:
        for at in tops:
            os.chown(at, 0, 0)
        async with await backend.start(spec) as box:  # its group was there already
            assert (await box.shell("echo ok")).output == b"ok\n"
            with pytest.raises(SandboxError, match="ermission"):
                await backend.start(spec)
            assert (await box.shell("echo ok")).output == b"ok\n"
    finally:
        for at, owner in owners.items():
            os.chown(at, *owner)
    async with await backend.start(spec) as box:
        assert (await box.shell("echo ok")).output == b"ok\n"
    assert backend.launcher()._process.pid == pid


def monitor_of(backend):
    """The bubblewrap process of the only sandbox there is."""
    server = serving(backend.launcher()._process.pid)
    for _ in range(100):  # what the kernel lists may lack one while others of them end
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        commands = {int(one): Path(f"/proc/{one}/cmdline").read_bytes() for one in children}
        found = [pid for pid, command in commands.items() if command.startswith(b"bwrap")]
        if found:
            break
        time.sleep(0.05)
    (monitor,) = found
    return monitor


async def test_starts_given_up_at_any_moment_harm_nobody(backend, spec):
    """A shell whose descriptors closed may be gone before the launcher looks at it."""
    async with await backend.start(spec) as box:
        for moment in range(40):
            starting = asyncio.ensure_future(backend.start(spec))
            await asyncio.sleep(moment / 4000)
            starting.cancel()
            for started in await asyncio.gather(starting, return_exceptions=True):
                if not isinstance(started, BaseException):
                    await started.stop()
        assert (await box.shell("echo ok")).output == b"ok\n"
    assert backend._boxes == {}
