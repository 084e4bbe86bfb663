"""The first program of a sandbox's container; nothing of a policy runs before it is gone.

It tells the keeper how to see this container's processes end, waits for what to run, takes the
shell's descriptors, puts the seccomp filter on and becomes the shell. Its source is an argument.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import struct

IP_FREEBIND = 15
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
HIGH = 64
# Where each descriptor that is sent belongs: output, command, status, input, report.
PLACES = (1, 3, 4, 5, 6)


def listen(port: int) -> socket.socket:
    """Listen on the loopback of this container."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    return listener


def confine(program: bytes) -> None:
    """Put a seccomp filter on this process and all that come from it."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(program)
    head = struct.pack("HxxxxxxN", len(program) // 8, ctypes.addressof(code))
    for arguments in (
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(head), 0, 0),
    ):
        if libc.prctl(*arguments):
            raise OSError(ctypes.get_errno(), "prctl")


def place(descriptors: list[int]) -> None:
    """Put each descriptor where it belongs, and close all others."""
    lifted: list[int] = []
    for descriptor in descriptors:
        high = os.dup2(descriptor, HIGH + len(lifted))
        lifted.append(high)
    for high, low in zip(lifted, PLACES, strict=True):
        os.dup2(high, low)
    os.dup2(1, 2)
    with open("/dev/null", "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.closerange(PLACES[-1] + 1, 4 * HIGH)


def main() -> None:
    """Become the shell."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.connect("/run/boot/s")
    socket.send_fds(link, [b"here"], [os.pidfd_open(os.getpid())])
    message, descriptors, _, _ = socket.recv_fds(link, 1 << 18, len(PLACES))
    if not message:  # the keeper is gone
        raise SystemExit(1)
    request = json.loads(message)
    if request["port"]:
        with listen(request["port"]) as listener:
            socket.send_fds(link, [b"door"], [listener.fileno()])
    os.chdir(request["cwd"])
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):  # Python ignores or takes them
        signal.signal(number, signal.SIG_DFL)
    program = bytes.fromhex(request["filter"])
    place(list(descriptors))
    confine(program)
    os.execve(request["command"][0], request["command"], request["env"])


with contextlib.suppress(KeyboardInterrupt):
    main()
