"""What only a container has, and a policy would look for: sockets, secrets, layers, the stream."""

import json
from pathlib import Path

from docker_boxes import SHARED

from codegym.sandbox.docker.inside import frames
from codegym.types import Change

pytestmark = SHARED


async def says(box, command):
    return (await box.shell(command, timeout_sec=60)).output.decode(errors="replace").strip()


async def test_the_engines_socket_is_not_there(docker_backend, docker_spec):
    async with await docker_backend.start(docker_spec) as box:
        assert await says(box, "find / -xdev -type s 2>/dev/null") == ""
        found = await says(box, "find / -name '*docker*' -not -path '/proc/*' 2>/dev/null")
        assert found == "/.dockerenv"
        assert (
            await says(box, "cat /.dockerenv; ls -A /run/boot; ls /run/secrets 2>/dev/null") == ""
        )
        assert "@" not in await says(box, "cat /proc/net/unix"), "no abstract socket either"


async def test_the_first_processes_variables_are_the_declared_ones(docker_backend, docker_spec):
    async with await docker_backend.start(docker_spec) as box:
        seen = await says(box, "tr '\\0' '\\n' < /proc/1/environ")
        assert {line.partition("=")[0] for line in seen.splitlines()} == set(docker_spec.image.env)
        words = await says(box, "tr '\\0' ' ' < /proc/1/cmdline")
        assert words.startswith("/bin/bash --noprofile --norc -c"), "the shell, and nothing of ours"


async def test_mounts_and_the_machine_tell_nothing(docker_backend, docker_spec):
    async with await docker_backend.start(docker_spec) as box:
        mounts = await says(box, "cat /proc/self/mountinfo /proc/self/cgroup")
        layers = [docker_spec.workspace, *docker_spec.image.layers]
        for name in (*(layer.name for layer in layers), str(Path.home() / ".cache"), "codegym"):
            assert name not in mounts
        assert await says(box, "ls -A /sys") == "", "what /sys tells of the machine is hidden"
        assert await says(box, "ls -d /s /trees 2>/dev/null") == "", "nor is a keeper's there"
        assert await says(box, "uname -n") == "box"


async def test_nothing_can_be_mounted_made_or_written_around_the_root(docker_backend, docker_spec):
    async with await docker_backend.start(docker_spec) as box:
        probes = (
            "head -c 1 /proc/kcore",
            "echo x > /proc/sys/kernel/core_pattern",
            "echo 1 > /sys/fs/cgroup/memory/release_agent",
            "python3 -c 'import os; os.mknod(\"/tmp/sda\", 0o60600, os.makedev(8, 0))'",
            "echo x > /etc/resolv.conf",
            "echo x > /etc/hosts",
            "echo x > /run/boot/s",
            "rmdir /run/boot",
            "chmod 777 /run/boot",
        )
        for probe in probes:
            assert (await box.shell(f"{{ {probe}; }} 2>/dev/null")).exit_code != 0, probe
        await box.shell("cp /usr/bin/id /tmp/id; chmod 6755 /tmp/id")
        assert await says(box, "/tmp/id -u; /tmp/id -g") == "1000\n1000"


async def test_what_the_engine_tells_of_a_container_holds_no_secret(docker_backend, docker_spec):
    async with await docker_backend.start(docker_spec) as box:
        api = docker_backend.engine._api
        told = api.inspect_container(box._unit.container)
        image, layers = api.inspect_image(told["Image"]), api.history(told["Image"])
    host, config = told["HostConfig"], told["Config"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"]
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert not host["Privileged"]
    assert "no-new-privileges" in host["SecurityOpt"]
    assert config["User"] == "1000:1000"
    assert host["Memory"] == host["MemorySwap"] == docker_spec.limits.memory_mb << 20
    assert host["PidsLimit"] == docker_spec.limits.processes
    assert all(each["Type"] == "volume" for each in told["Mounts"]), "no folder of the host's"
    assert len(layers) == 1, "one layer: nothing lies below it"
    assert not config["Env"]
    for name in (str(Path.home() / ".cache"), docker_spec.workspace.name):
        assert name not in json.dumps([image["Config"], layers, config])


async def test_frames_that_a_command_writes_are_only_text(docker_backend, docker_spec):
    """The stream's other end is in another container: here, there is nothing to write it to."""
    async with await docker_backend.start(docker_spec) as box:
        event = json.dumps({"event": "ended", "slot": box._unit.slot.number, "turn": 1}).encode()
        forged = frames.frame(0, frames.MESSAGE, event) + frames.frame(
            2, frames.DATA, b"t 0\0/\0\0"
        )
        forged = b"\1\0\0\0" + len(forged).to_bytes(4, "big") + forged
        await box.write("forged", forged)
        command = "cat forged; for f in /proc/1/fd/*; do cat forged > $f; done"
        result = await box.shell(command, timeout_sec=3)  # at worst it confuses its own shell
        assert result.output.startswith(forged)
        await box.shell("true", timeout_sec=5)
        assert await says(box, "echo ok") == "ok"
        assert (await box.collect()).changes == (Change("forged", forged),)


async def test_nobody_can_pose_as_a_containers_first_program(docker_backend, docker_spec):
    """Its meeting place is gone before anything of a policy runs, also after a new start."""
    async with await docker_backend.start(docker_spec) as box:
        for _ in range(2):
            look = "import os; print(os.listdir('/run/boot'), os.access('/run/boot', os.W_OK))"
            assert await says(box, f'python3 -c "{look}"') == "[] False"
            assert (await box.shell("exit 3")).exit_code == 3


async def test_nothing_of_ours_runs_beside_a_policy(docker_backend, docker_spec):
    async with await docker_backend.start(docker_spec) as box:
        seen = await says(box, "cat /proc/[0-9]*/comm | sort -u | tr '\\n' ' '")
        assert set(seen.split()) <= {"bash", "cat", "sort", "tr"}
