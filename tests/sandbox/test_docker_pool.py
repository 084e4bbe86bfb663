"""Containers made ahead, and slots that are used again: nothing of one is in the next."""

from dataclasses import replace

import pytest
from docker_boxes import SHARED

from codegym.sandbox.docker.pool import _MAX_AHEAD, _MAX_IDLE
from codegym.types import Limits

pytestmark = SHARED


def idle(backend):
    return [unit.container for units in backend.pool._idle.values() for unit in units]


async def test_a_start_takes_a_container_that_was_made_ahead(docker_backend, docker_spec):
    async with await docker_backend.start(docker_spec):
        await docker_backend.settled()
        ahead = idle(docker_backend)
        assert len(ahead) >= 2
        async with await docker_backend.start(docker_spec) as box:
            assert box._unit.container in ahead


@pytest.mark.slow
async def test_what_is_made_ahead_is_bounded(docker_backend, docker_spec):
    for processes in range(100, 110):
        spec = replace(docker_spec, limits=Limits(processes=processes))
        async with await docker_backend.start(spec):
            pass
    await docker_backend.settled()
    assert len(idle(docker_backend)) <= _MAX_IDLE
    assert all(len(units) <= _MAX_AHEAD for units in docker_backend.pool._idle.values())


LITTER = r"""
d=.; for i in $(seq 150); do d=$d/deep; done; mkdir -p $d; echo secret-4711 > $d/file
python3 - <<'E'
import os
for at in range(3000):  # deeper than any path can name
    os.mkdir("d"); os.chdir("d")
open("secret-4711", "w").close()
E
for part in . /tmp ~; do
  cd $part; echo secret-4711 > .hidden; mkdir locked; echo secret-4711 > locked/f; chmod 000 locked
  ln -s / link; mkfifo pipe; head -c 100000 /dev/zero > big; ln big hard; chmod 000 .; cd /
done
"""


@pytest.mark.slow
async def test_a_slot_that_is_used_again_has_nothing_of_its_last_user(docker_backend, docker_spec):
    spec = replace(docker_spec, limits=Limits(files=20_000, disk_mb=40))  # a keeper of its own
    seen, first = [], b""
    for _ in range(10):  # more than a keeper has slots
        async with await docker_backend.start(spec) as box:
            slot = box._unit.slot
            here = await box.shell("find /workspace /tmp ~ -printf '%p %m %s\n' | sort")
            seen.append((slot.keeper, slot.number))
            first = first or here.output
            assert here.output == first, "each finds the same, whoever was there before"
            result = await box.shell(LITTER)
            assert (result.exit_code, result.output) == (0, b"")
        await docker_backend.settled()
    assert len(set(seen)) < len(seen), "slots were used again"
    assert len({keeper for keeper, _ in seen}) == 1
