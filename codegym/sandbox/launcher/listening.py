"""The listener of a box's one way out, made where only the box can reach it: on its loopback."""

from __future__ import annotations

import socket
import threading

from . import syscalls as sc

_IP_FREEBIND = 15  # of linux/in.h: the loopback need not have its address yet
_BACKLOG = 64


def listen_inside(pid: int, port: int) -> socket.socket:
    """Listen on ``127.0.0.1`` in the network namespace of a process, before anything runs there.

    A thread of its own enters that namespace, and ends: this process could not come back. A socket
    stays where it was made, whoever holds it.

    Raises:
        OSError: It cannot be had.
    """
    made: list[socket.socket | OSError] = []

    def work() -> None:
        try:
            sc.enter_network(pid)
            made.append(_listener(port))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    (result,) = made
    if isinstance(result, OSError):
        raise result
    return result


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
