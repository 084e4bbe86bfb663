"""Limits: each holds, or is declared soft; and what passes them harms nobody else."""

from __future__ import annotations

from dataclasses import replace

from codegym.sandbox.base import Backend
from codegym.sandbox.conformance.check import check_backend, expect, python, says, text
from codegym.types import Limits, SandboxSpec

_SMALL = Limits(memory_mb=128, disk_mb=32, processes=40, files=1000)


def _small(spec: SandboxSpec) -> SandboxSpec:
    return replace(spec, limits=_SMALL)


@check_backend
async def declared_limits_are_known(backend: Backend, spec: SandboxSpec) -> None:  # noqa: ARG001
    """Every limit is either hard or soft, and wall time is always hard."""
    able = backend.capabilities()
    for name in ("memory_mb", "disk_mb", "processes", "files"):
        expect((name in able.hard) != (name in able.soft), f"{name} is hard or soft", able)
    expect("wall_time" in able.hard, "wall time is hard", able)


@check_backend
async def a_fork_bomb_is_contained(backend: Backend, spec: SandboxSpec) -> None:
    """It cannot pass the limit, ends with its time, and its neighbour does not feel it."""
    async with await backend.start(_small(spec)) as box, await backend.start(spec) as other:
        result = await box.shell("bomb() { bomb | bomb & }; bomb; sleep 300", timeout_sec=2)
        expect(result.timed_out or result.exit_code != 0, "a fork bomb ends", result.exit_code)
        expect(await says(other, "echo ok") == "ok", "the neighbour works")
        expect(await says(box, "echo ok") == "ok", "so does its own sandbox, anew")
        script = "for i in $(seq 100); do sleep 60 & done 2>/dev/null; ls -d /proc/[0-9]* | wc -l"
        seen = await box.shell(script, timeout_sec=20)
        count = int(text(seen).splitlines()[-1]) if text(seen)[-1:].isdigit() else 0
        expect(count <= _SMALL.processes + 2, "the number of processes is bounded", text(seen))


@check_backend
async def a_memory_hog_is_ended(backend: Backend, spec: SandboxSpec) -> None:
    """It does not get much more than its limit."""
    hog = "b=[]\nwhile True: b.append(bytearray(1<<20)); print(len(b), flush=True)"
    async with await backend.start(_small(spec)) as box:
        result = await box.exec([spec.image.python, "-c", hog], timeout_sec=30)
        reached = int(text(result).split()[-1]) if text(result)[-1:].isdigit() else 0
        expect(result.exit_code != 0 and not result.timed_out, "it is ended", result)
        slack = 1.1 if "memory_mb" in backend.capabilities().hard else 8
        expect(reached <= _SMALL.memory_mb * slack, "near its limit", reached)
        expect(await says(box, "echo ok") == "ok", "the sandbox works")


@check_backend
async def many_small_hogs_are_ended(backend: Backend, spec: SandboxSpec) -> None:
    """Processes that are small each and large together are ended too, files in memory counted."""
    hog = "import time; b=bytearray(20<<20); time.sleep(60)"
    async with await backend.start(_small(spec)) as box:
        python_path = spec.image.python
        command = f'for i in $(seq 30); do {python_path} -c "{hog}" & done; wait'
        await box.shell(command, timeout_sec=8)
        code = """
import os
total = 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    try: total += int(open(f"/proc/{pid}/statm").read().split()[1])
    except OSError: pass
print(total * 4096 >> 20)
"""
        used = int(text(await python(box, code)) or 0)
        expect(used <= _SMALL.memory_mb * 1.5, "their sum is bounded", used)


@check_backend
async def the_disk_is_bounded(backend: Backend, spec: SandboxSpec) -> None:
    """Writing without end stops with "no space", in every writable folder together."""
    async with await backend.start(_small(spec)) as box:
        await box.shell("yes > big; yes > /tmp/big; yes > ~/big", timeout_sec=30)
        seen = await says(box, "cat big /tmp/big ~/big | wc -c")
        expect(int(seen) <= _SMALL.disk_mb << 20, "the sum is bounded", seen)
        result = await box.shell("rm -f big /tmp/big ~/big; yes > /dev/shm/big", timeout_sec=30)
        seen = await says(box, "cat /dev/shm/big | wc -c; rm /dev/shm/big; echo x > f; cat f")
        size, content = seen.splitlines()[-2:]
        expect(int(size) <= 64 << 20 and content == "x", "shared memory too", result)


@check_backend
async def a_sparse_file_is_refused(backend: Backend, spec: SandboxSpec) -> None:
    """A file of a terabyte cannot be made."""
    async with await backend.start(_small(spec)) as box:
        result = await box.shell("truncate -s 1T huge; echo; stat -c %s huge 2>/dev/null || echo 0")
        expect(text(result).splitlines()[-1] in ("0",), "its size stays 0", result)


@check_backend
async def the_number_of_files_is_bounded(backend: Backend, spec: SandboxSpec) -> None:
    """Ten million small files cannot be made."""
    code = """
made = 0
try:
    for made in range(10_000_000): open(f"f{made}", "w").close()
except OSError as error: print(made, error.errno)
"""
    async with await backend.start(_small(spec)) as box:
        made, errno = text(await python(box, code)).split()
        expect(int(made) <= _SMALL.files and errno == "28", "creation stops", (made, errno))
        expect(await says(box, "rm f1 f2 f3; echo x > g; cat g") == "x", "and goes on after rm")
