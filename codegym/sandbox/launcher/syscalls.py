"""System calls that Python 3.11's standard library lacks."""

from __future__ import annotations

import ctypes
import os

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_BIND = 1 << 12
MS_REC = 1 << 14
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

CLONE_NEWNS = 0x0002_0000
CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000

PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38

RESOLVE_NO_XDEV = 0x01
RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08

_SYS_OPENAT2 = 437  # the same number on every architecture
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
_libc.syscall.restype = ctypes.c_long


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def mount(source: str, target: str, kind: str | None, flags: int = 0, options: str = "") -> None:
    """Mount a filesystem."""
    fs = kind.encode() if kind else None
    data = options.encode() if options else None
    _check(
        _libc.mount(os.fsencode(source), os.fsencode(target), fs, flags, data),
        f"mount {kind or 'bind'} on {target}",
    )


def umount(target: str, flags: int = 0) -> None:
    """Unmount one."""
    _check(_libc.umount2(os.fsencode(target), flags), f"umount {target}")


def unshare(flags: int) -> None:
    """Move this process into new namespaces."""
    _check(_libc.unshare(flags), "unshare")


def enter_network(pid: int) -> None:
    """Move this thread, and no other, into the network namespace of a process."""
    descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.setns(descriptor, CLONE_NEWNET), "setns")
    finally:
        os.close(descriptor)


def pivot_root_here() -> None:
    """Make the current directory the root and drop the old one."""
    number = _SYS_PIVOT_ROOT[os.uname().machine]
    _check(_libc.syscall(number, b".", b"."), "pivot_root")
    umount(".", MNT_DETACH)
    os.chdir("/")


def prctl(option: int, value: int) -> None:
    """Set one attribute of this process."""
    _check(_libc.prctl(option, value, 0, 0, 0), "prctl")


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_beneath(name: bytes, flags: int, dir_fd: int) -> int:
    """Open a name with openat2: follow no link, leave neither the folder nor its mount."""
    how = _OpenHow(
        flags | os.O_CLOEXEC | os.O_NOFOLLOW,
        0,
        RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    )
    result: int = _libc.syscall(
        _SYS_OPENAT2, dir_fd, ctypes.c_char_p(name), ctypes.byref(how), ctypes.sizeof(how)
    )
    return _check(result, "openat2")


class _CapHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapData(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def drop_capabilities() -> None:
    """Give up every capability, for good."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    header = _CapHeader(0x2008_0522, 0)
    _check(_libc.capset(ctypes.byref(header), (_CapData * 2)()), "capset")
