"""Nothing of Docker's is left behind, however a process ends."""

import os
import signal
import subprocess
import sys
import time

import pytest
from as_user import CHECKOUT
from docker_boxes import engine

from codegym.sandbox.docker.owners import OWNER_LABEL, Owner

pytestmark = [pytest.mark.docker, pytest.mark.slow]

GYM = """
import asyncio, sys
from codegym.sandbox.docker import Docker
from codegym.types import *
from pathlib import Path

async def main():
    backend = Docker()
    image = Image("d", tuple(map(Path, sys.argv[3:])), {"PATH": "/usr/bin:/bin"}, sys.argv[1])
    box = await backend.start(SandboxSpec(image, Path(sys.argv[2])))
    await box.shell("(trap '' TERM; setsid sleep 900 &) ; sleep 900 &")
    await box.shell("head -c 1000000 /dev/zero > f")
    await box.fork()
    await backend.settled()
    print(backend.engine.owner, flush=True)
    END

asyncio.run(main())
"""
ENDS = {
    "normally": "return",
    "by an error": "raise RuntimeError",
    "by kill -9": "await asyncio.sleep(100)",
    "by Ctrl-C": "await asyncio.sleep(100)",
}


def start_gym(spec, end):
    gym = subprocess.Popen(
        [
            *(sys.executable, "-c", GYM.replace("END", ENDS[end])),
            *(spec.image.python, str(spec.workspace), *map(str, spec.image.layers)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=CHECKOUT,
        text=True,
    )
    return gym, gym.stdout.readline().strip()


def left(api, owner):
    """Containers and volumes that are an owner's: name to whether it runs."""
    filters = {"label": f"{OWNER_LABEL}={owner}"}
    containers = api.containers(all=True, filters=filters)
    found = {each["Id"]: each["State"] == "running" for each in containers}
    volumes = api.volumes(filters=filters)["Volumes"] or []
    return found | {each["Name"]: False for each in volumes}


def until(holds, seconds=20):
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


@pytest.mark.parametrize("end", [end for end in ENDS if end != "by kill -9"])
def test_a_process_that_ends_leaves_nothing(end, docker_spec):
    with engine() as found:
        gym, owner = start_gym(docker_spec, end)
        if end == "by Ctrl-C":
            assert any(left(found._api, owner).values())
            os.killpg(gym.pid, signal.SIGINT)
        gym.wait(60)
        gym.stdout.close()
        assert Owner.parse(owner)
        assert left(found._api, owner) == {}


def test_what_kill_9_leaves_ends_and_is_cleaned_away(docker_spec):
    with engine() as found:
        api = found._api
        gym, owner = start_gym(docker_spec, "by kill -9")
        living, spared = start_gym(docker_spec, "by kill -9")
        try:
            assert any(left(api, owner).values())
            gym.kill()
            gym.wait()
            assert until(lambda: not any(left(api, owner).values())), "its processes end by selves"
            assert left(api, owner), "what is left has no process"
            before = left(api, spared)
            doctor = [sys.executable, "-m", "codegym", "doctor", "--clean"]
            said = subprocess.run(doctor, cwd=CHECKOUT, capture_output=True, text=True, check=True)
            assert "removed" in said.stdout
            assert left(api, owner) == {}
            assert left(api, spared) == before, "the living are spared"
        finally:
            for each in (gym, living):
                each.kill()
                each.wait()
                each.stdout.close()
        assert until(lambda: not any(left(api, spared).values()))
        found.sweep(found.left_behind())
        assert left(api, spared) == {}
