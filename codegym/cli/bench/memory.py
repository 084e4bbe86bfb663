"""What sandboxes take in memory, beyond what runs in them.

Counted is the proportional set size (PSS: each shared page divided by its sharers) of the gym
process, the launcher and every process that serves a sandbox, less what they were before the
sandboxes started, by the number of sandboxes. Left out are the processes that run *in* the
sandboxes (the shell and what it starts), files that they write, and the kernel's own memory.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    depth: int  # in how many nested process namespaces it is


def footprint_mb() -> float:
    """PSS of this process and all it started, but for what runs in sandboxes, MiB."""
    everything = {process.pid: process for process in _processes()}
    me = everything[os.getpid()]
    # Launcher and monitors are one namespace down, what runs in a sandbox two.
    ours = [
        process.pid
        for process in everything.values()
        if process.depth <= me.depth + 1 and _descends(process, me.pid, everything)
    ]
    return sum(_pss_kb(pid) for pid in (me.pid, *ours)) / 1024


def _processes() -> list[_Process]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            status = (entry / "status").read_text()
        except OSError:  # it ended meanwhile
            continue
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        depth = len(fields.get("NSpid", "0").split())
        found.append(_Process(int(entry.name), int(fields["PPid"]), depth))
    return found


def _descends(process: _Process, ancestor: int, everything: dict[int, _Process]) -> bool:
    parent = process.parent
    while parent in everything:
        if parent == ancestor:
            return True
        parent = everything[parent].parent
    return False


def _pss_kb(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return float(line.split()[1])
    except OSError:
        # Not ours to look into: its resident pages less the shared ones, which anyone can see.
        return _unshared_kb(pid)
    return 0.0


def _unshared_kb(pid: int) -> float:
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:  # it ended meanwhile
        return 0.0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE") / 1024
