"""Hard limits on memory, processes and CPU, where this process may make control groups.

The folders are opened before privileges are dropped and given to the sandboxes' user, so that the
unprivileged launcher can make one group a sandbox. Version 1 and 2 are both served; where neither
is writable there are no hard limits, and ``Capabilities`` says so.

Moving a process between groups can wait some milliseconds for the kernel. So the launcher waits in
the *next* sandbox's group already: what it starts is born there.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

_V1 = ("memory", "cpu", "pids")
_PERIOD_US = 100_000
_ATTEMPTS, _PAUSE_SEC = 200, 0.02


@dataclass(frozen=True)
class Root:
    """A folder of groups that the launcher may make groups in, for one or more controllers."""

    path: str
    descriptor: int
    controllers: frozenset[str]
    version: int


@dataclass(frozen=True)
class Group:
    """One sandbox's group in every root."""

    roots: tuple[Root, ...]
    name: str

    def limit(self, memory_mb: int, processes: int, cpus: float) -> None:
        """Set its limits."""
        for root in self.roots:
            for file, value in _settings(root, memory_mb, processes, cpus):
                _write(root, f"{self.name}/{file}", value)

    def join(self) -> None:
        """Move the calling process here."""
        for root in self.roots:
            _write(root, f"{self.name}/cgroup.procs", "0")

    def remove(self) -> None:
        """Remove it; it must be empty."""
        for root in self.roots:
            try:
                os.rmdir(self.name, dir_fd=root.descriptor)
            except OSError:  # still draining: it goes with its parent
                continue


def _settings(root: Root, memory_mb: int, processes: int, cpus: float) -> list[tuple[str, str]]:
    one = root.version == 1
    found: list[tuple[str, str]] = []
    if "memory" in root.controllers:
        found.append(("memory.limit_in_bytes" if one else "memory.max", str(memory_mb << 20)))
        if not one:
            found.append(("memory.swap.max", "0"))
    if "pids" in root.controllers:
        found.append(("pids.max", str(processes)))
    if "cpu" in root.controllers and cpus:
        quota = str(int(cpus * _PERIOD_US))
        found.append(("cpu.cfs_quota_us", quota) if one else ("cpu.max", f"{quota} {_PERIOD_US}"))
    return found


def open_roots(owner: tuple[int, int]) -> tuple[Root, ...]:
    """Make this launcher's folders of groups, owned by ``owner``; none where it may not."""
    # What a launcher that was killed left behind may have the same process id.
    name = f"codegym-{os.getpid()}-{os.urandom(4).hex()}"
    roots = []
    for mount, controllers, version in _hierarchies():
        try:
            roots.append(_open_root(f"{mount}/{name}", controllers, version, owner))
        except OSError:  # not ours to use
            continue
    return tuple(root for root in roots if root.controllers)


def close_roots(roots: tuple[Root, ...]) -> None:
    """Remove the folders; whoever made them calls this once all sandboxes are gone.

    A process that is dead can keep its group for a moment more.
    """
    for root in roots:
        for _ in range(_ATTEMPTS):
            try:
                for entry in os.scandir(root.path):
                    if entry.is_dir():
                        os.rmdir(entry.path)
                os.rmdir(root.path)
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(_PAUSE_SEC)


def _open_root(path: str, controllers: set[str], version: int, owner: tuple[int, int]) -> Root:
    os.mkdir(path)
    try:
        if version == 2:
            controllers = _delegate(path, controllers)
        for file in ("", "cgroup.procs", "tasks", "cgroup.subtree_control", "cgroup.threads"):
            if os.path.exists(f"{path}/{file}"):
                os.chown(f"{path}/{file}", *owner)
    except OSError:
        os.rmdir(path)
        raise
    return Root(path, os.open(path, os.O_PATH), frozenset(controllers), version)


def _delegate(path: str, controllers: set[str]) -> set[str]:
    with open(f"{path}/cgroup.controllers", encoding="ascii") as file:
        usable = controllers & set(file.read().split())
    if not usable:
        raise OSError("no controller is delegated to this group")
    with open(f"{path}/cgroup.subtree_control", "w", encoding="ascii") as file:
        file.write(" ".join(f"+{name}" for name in sorted(usable)))
    return usable


def _hierarchies() -> list[tuple[str, set[str], int]]:
    """(this process's own folder, controllers, version) of each mounted hierarchy."""
    own: dict[str, str] = {}
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            _, listed, path = line.rstrip("\n").split(":", 2)
            own |= dict.fromkeys(listed.split(","), path)
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            point, (kind, _, options) = left.split()[4], right.split()[:3]
            if kind == "cgroup2":
                path = own.get("", "/")
                found.append((_under(point, path), set(_V1), 2))
            elif kind == "cgroup" and (names := set(options.split(",")) & set(_V1)):
                found.append((_under(point, own.get(min(names), "/")), names, 1))
    return found


def _under(point: str, path: str) -> str:
    """This process's folder; the hierarchy's top where its own is not shown here."""
    inside = point + ("" if path == "/" else path)
    return inside if os.path.isdir(inside) else point


def _write(root: Root, path: str, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC, dir_fd=root.descriptor)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def make_group(roots: tuple[Root, ...]) -> Group:
    """A new empty group in each root."""
    name = os.urandom(6).hex()
    for root in roots:
        os.mkdir(name, dir_fd=root.descriptor)
    return Group(roots, name)
