"""One sandbox: its disk, its bubblewrap, its end."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from dataclasses import dataclass

from . import cgroup
from . import syscalls as sc
from .alias import Alias
from .namespace import BOXES, INSIDE_ID, LAYERS

# Python and this launcher ignore these; what runs inside must not.
_IGNORED_HERE = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT)
_FIRST_HIGH_FD = 64  # sources of dup2 stay clear of its targets


@dataclass
class Start:
    """A request to start a box: see ``SandboxSpec``; all paths are relative to the layer store."""

    box: str
    layers: list[str]
    lower: str
    mount: str
    env: dict[str, str]
    files: list[str]
    command: list[str]
    limits: dict[str, float]
    egress: int = 0  # the port on its loopback that leads out; 0 for none


@dataclass
class Box:
    """One sandbox. Its tmpfs outlives its processes, until ``free``."""

    name: str
    start: Start
    monitor: int = 0  # pid of bubblewrap
    first: int = 0  # pid of the first process inside, as seen here
    starting: bool = False  # spawned, and has not told its first process yet
    reason: str = ""  # why it was killed, where we killed it
    group: cgroup.Group | None = None
    skeleton: str = ""  # the layer of what its start adds to its root

    @property
    def folder(self) -> str:
        """Its tmpfs: upper layer, work folder, ``/tmp`` and home."""
        return f"{BOXES}/{self.name}"

    @property
    def lower(self) -> str:
        """The lower layer of its workspace, under a random name."""
        return f"{self.folder}/lower"

    def make(self) -> None:
        """Mount its disk: sized, so that the limit is the kernel's."""
        os.mkdir(self.folder, 0o700)
        limits = self.start.limits
        options = f"mode=0700,size={int(limits['disk_mb'])}m,nr_inodes={int(limits['files'])}"
        sc.mount("tmpfs", self.folder, "tmpfs", sc.MS_NOSUID | sc.MS_NODEV, options)
        for part in ("up", "wk", "tmp", "home", "lower", "merged"):
            os.mkdir(f"{self.folder}/{part}", 0o755)
        sc.mount(f"{LAYERS}/{self.start.lower}", self.lower, None, sc.MS_BIND)

    def free(self, alias: Alias) -> None:
        """Drop its disk. Its processes are gone already."""
        alias.drop(self.skeleton)
        sc.umount(self.folder, sc.MNT_DETACH)
        os.rmdir(self.folder)
        if self.group:
            self.group.remove()

    def spawn(self, bwrap: str, fds: list[int], alias: Alias, filter_program: bytes) -> int:
        """Start bubblewrap.

        Args:
            bwrap: Its path.
            fds: Output, command, status, input and report descriptors, then one for each file;
                inside they are 2 (and 1), 3, 4, 5 and 6.
            alias: Gives layers their random names.
            filter_program: The seccomp filter.

        Returns:
            Where bubblewrap will say which its first process is (see ``read_json``).
        """
        start = self.start
        points = ["/proc", "/dev", "/tmp", HOME, start.mount]
        files = {path: _take(fd) for path, fd in zip(start.files, fds[5:], strict=True)}
        old, self.skeleton = self.skeleton, alias.skeleton(points, files)
        alias.drop(old)
        arguments = self._arguments(alias, self.skeleton)
        info_read, info_write = os.pipe()
        high = [
            _lift(fd) for fd in (*fds[:5], _memory(arguments), _memory(filter_program), info_write)
        ]
        actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, high[0], 1),
            *((os.POSIX_SPAWN_DUP2, fd, low) for low, fd in enumerate(high, start=2)),
        ]
        argv = ["bwrap", "--args", "7", "--", *self.start.command]
        try:
            self.monitor = os.posix_spawn(
                bwrap, argv, {}, file_actions=actions, setsigdef=_IGNORED_HERE
            )
        finally:
            for descriptor in high:
                os.close(descriptor)
        self.starting = True
        return info_read

    def _arguments(self, alias: Alias, skeleton: str) -> bytes:
        start = self.start
        words = [
            *("--unshare-user", "--disable-userns", "--unshare-ipc", "--unshare-pid"),
            *("--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "box"),
            *("--uid", str(INSIDE_ID), "--gid", str(INSIDE_ID), "--cap-drop", "ALL"),
            *("--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"),
            *("--seccomp", "8", "--info-fd", "9"),
        ]
        for layer in reversed(start.layers):
            words += ["--overlay-src", alias(layer)]
        words += ["--overlay-src", skeleton]
        words += ["--ro-overlay", "/", "--proc", "/proc", "--dev", "/dev"]
        words += ["--size", str(64 << 20), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
        words += ["--overlay-src", self.lower]
        words += ["--overlay", f"{self.folder}/up", f"{self.folder}/wk", start.mount]
        words += ["--bind", f"{self.folder}/tmp", "/tmp", "--bind", f"{self.folder}/home", HOME]
        for key, value in start.env.items():
            words += ["--setenv", key, value]
        words += ["--remount-ro", "/", "--chdir", start.mount]
        return b"".join(os.fsencode(word) + b"\0" for word in words)

    def kill(self, reason: str = "") -> None:
        """Kill the first process inside; the kernel kills all the others with it."""
        self.reason = self.reason or reason
        if self.first:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.first, signal.SIGKILL)


#: The home folder inside.
HOME = "/home/agent"


def _take(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def _lift(descriptor: int) -> int:
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_HIGH_FD)
    os.close(descriptor)
    return high


def _memory(data: bytes) -> int:
    descriptor = os.memfd_create("data", os.MFD_CLOEXEC)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def read_json(descriptor: int) -> bytes:
    """Read one JSON object and close; ``b""`` where the writer died before."""
    data = b""
    try:
        while not data.rstrip().endswith(b"}") and (part := os.read(descriptor, 4096)):
            data += part
    finally:
        os.close(descriptor)
    return data.strip()
