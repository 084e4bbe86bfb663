"""The seccomp filter of every sandbox, as classic BPF.

Denied with EPERM: what could change mounts, namespaces or the kernel, kernel features with a long
record of privilege escalations, and reading another process's memory. Sockets exist only for the
families that stay inside (Unix, IPv4, IPv6 and netlink in the sandbox's own network namespace): a
family such as ``AF_VSOCK`` is not separated by namespaces. ``clone3`` answers ENOSYS, as its flags
cannot be seen from here, and libraries fall back to ``clone``.
"""

from __future__ import annotations

import platform
import struct

from codegym.errors import UnavailableError

_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# name: (x86_64, aarch64); None where the architecture lacks it
_DENIED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "syslog": (103, 116),
    "pivot_root": (155, 41),
    "acct": (163, 89),
    "mount": (165, 40),
    "umount2": (166, 39),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "iopl": (172, None),
    "ioperm": (173, None),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "quotactl": (179, 60),
    "kexec_load": (246, 104),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "finit_module": (313, 273),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "pidfd_getfd": (438, 438),
    "mount_setattr": (442, 442),
}
_CLONE = (56, 220)
_CLONE3 = 435
_IOCTL = (16, 29)
_SOCKET = (41, 198)
_NEW_NAMESPACES = 0x7E02_0000  # every CLONE_NEW* flag
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
# Linux's numbers, whatever system this runs on: AF_UNIX, AF_INET, AF_INET6, AF_NETLINK.
_FAMILIES = (1, 2, 10, 16)
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_X32 = 0x4000_0000

_LD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_NR, _ARCH_AT, _ARG0, _ARG1 = 0, 4, 16, 24


def _op(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, true, false, value)


def _fail(number: int) -> bytes:
    return _op(_RET, _ERRNO | number)


def _when(number: int, body: list[bytes]) -> list[bytes]:
    """Run ``body`` for one system call; ``body`` returns, or falls through to reload the number."""
    block = [*body, _op(_LD, _NR)]
    return [_op(_JEQ, number, 0, len(block)), *block]


def seccomp_filter(machine: str | None = None) -> bytes:
    """Return the filter program for this machine's architecture.

    Raises:
        UnavailableError: The architecture is not one of x86_64 and aarch64.
    """
    name = machine or platform.machine()
    if name not in _ARCH:
        raise UnavailableError(
            f"no seccomp filter for {name}", "Use the docker backend on this architecture."
        )
    column = 0 if name == "x86_64" else 1
    program = [_op(_LD, _ARCH_AT), _op(_JEQ, _ARCH[name], 1, 0), _op(_RET, _KILL), _op(_LD, _NR)]
    if column == 0:
        program += [_op(_JGE, _X32, 0, 1), _fail(_EPERM)]
    for numbers in _DENIED.values():
        number = numbers[column]
        if number is not None:
            program += [_op(_JEQ, number, 0, 1), _fail(_EPERM)]
    program += [_op(_JEQ, _CLONE3, 0, 1), _fail(_ENOSYS)]
    program += _when(
        _CLONE[column],
        [_op(_LD, _ARG0), _op(_JSET, _NEW_NAMESPACES, 0, 1), _fail(_EPERM)],
    )
    program += _when(
        _IOCTL[column],
        [
            _op(_LD, _ARG1),
            _op(_JEQ, _TIOCSTI, 1, 0),
            _op(_JEQ, _TIOCLINUX, 0, 1),
            _fail(_EPERM),
        ],
    )
    allowed = [_op(_JEQ, family, len(_FAMILIES) - at, 0) for at, family in enumerate(_FAMILIES)]
    program += _when(_SOCKET[column], [_op(_LD, _ARG0), *allowed, _fail(_EAFNOSUPPORT)])
    program.append(_op(_RET, _ALLOW))
    return b"".join(program)
