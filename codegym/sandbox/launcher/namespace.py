"""Getting into the launcher's private namespaces.

The new root holds only what starting sandboxes takes: the host's ``/usr`` and ``/dev`` (for
bubblewrap and its libraries), the layer store at ``/c``, and two folders of its own. Sandboxes see
none of it: each gets a root of its own. Names are short and neutral because a sandbox can read them
in ``/proc/self/mountinfo``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from . import syscalls as sc

LAYERS = "/c"  # the layer store, read-only to all but the host
BOXES = "/b"  # one sized tmpfs per sandbox
ALIASES = "/l"  # layers under random names
TOOL = "/w"  # bubblewrap, where it comes from a wheel

INSIDE_ID = 1000


@dataclass(frozen=True)
class Config:
    """What the gym process tells the launcher.

    Attributes:
        socket_fd: The connection to the gym process.
        layers: Host folder of the layer store.
        tool_parts: Host folders bound below ``TOOL``, by name.
        bwrap: Path of bubblewrap inside the new root.
        owner: (uid, gid) to become under root; the caller's own otherwise.
    """

    socket_fd: int
    layers: str
    tool_parts: dict[str, str]
    bwrap: str
    owner: tuple[int, int]


def enter(config: Config) -> None:
    """Move into the private namespaces; returns in the first process of the new ones."""
    if os.getuid() == 0:
        sc.unshare(sc.CLONE_NEWNS)
        _make_root(config)
        _become(config.owner)
        _unshare_user(*config.owner)
    else:
        _unshare_user(os.getuid(), os.getgid())
        _make_root(config)
    _become_first_process()
    sc.mount("proc", "/proc", "proc", sc.MS_NOSUID | sc.MS_NODEV)


def _become(owner: tuple[int, int]) -> None:
    uid, gid = owner
    for folder in (BOXES, ALIASES):
        os.chown(folder, uid, gid)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    sc.prctl(
        sc.PR_SET_DUMPABLE, 1
    )  # else /proc/self belongs to root and the id map can't be written


def _unshare_user(uid: int, gid: int) -> None:
    sc.unshare(sc.CLONE_NEWUSER | sc.CLONE_NEWNS | sc.CLONE_NEWPID | sc.CLONE_NEWIPC)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{INSIDE_ID} {uid} 1"),
        ("gid_map", f"{INSIDE_ID} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _become_first_process() -> None:
    """Fork into the new process namespace; the old process waits, and ends as its child does."""
    pid = os.fork()
    if pid:
        for descriptor in os.listdir("/proc/self/fd"):  # so that closing the socket is seen
            if int(descriptor) > 2:
                try:
                    os.close(int(descriptor))
                except OSError:
                    continue
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _make_root(config: Config) -> None:
    sc.mount("none", "/", None, sc.MS_REC | sc.MS_PRIVATE)
    sources = {LAYERS: config.layers}
    sources |= {f"{TOOL}/{name}": path for name, path in config.tool_parts.items()}
    opened = {target: os.open(path, os.O_PATH) for target, path in sources.items()}
    base = "/tmp"
    sc.mount("tmpfs", base, "tmpfs", sc.MS_NOSUID | sc.MS_NODEV, "mode=0755,size=64m")
    for folder in ("/tmp", "/proc", BOXES, ALIASES):
        os.mkdir(base + folder)
    for target, descriptor in opened.items():
        _bind(f"/proc/self/fd/{descriptor}", base + target)
        os.close(descriptor)
    for folder in ("/usr", "/dev", "/proc"):
        _bind(folder, base + folder)
    for folder in ("/lib", "/lib32", "/lib64", "/bin", "/sbin"):
        if os.path.islink(folder):
            os.symlink(os.readlink(folder), base + folder)
        elif os.path.isdir(folder):
            _bind(folder, base + folder)
    os.chdir(base)
    sc.pivot_root_here()


def _bind(source: str, target: str) -> None:
    os.makedirs(target, exist_ok=True)
    sc.mount(source, target, None, sc.MS_BIND | sc.MS_REC)
