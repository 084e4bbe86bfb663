"""What idle sandboxes take in memory.

Counted is the proportional set size (PSS: each shared page divided by its sharers) of the gym
process and all that it started: the launcher, and each sandbox's monitor and idle shell. What they
were before the sandboxes started is taken off, and the rest divided by the sandboxes. Left out:
what a policy runs in them, files that it writes, and the kernel's own memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def _none(_: Path) -> bool:
    return False


def footprint_mb(also: Callable[[Path], bool] = _none) -> float:
    """PSS of this process and of all that it started, MiB.

    Args:
        also: Says of other processes, by their folder in ``/proc``, whether they count.
    """
    parents = _parents()
    me = os.getpid()
    ours = [
        pid
        for pid in parents
        if pid == me or _descends(pid, me, parents) or also(Path(f"/proc/{pid}"))
    ]
    return sum(_pss_kb(pid) for pid in ours) / 1024


def _parents() -> dict[int, int]:
    """Every process's parent."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            found[int(entry.name)] = int(after_name[1])
    return found


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == ancestor:
            return True
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
