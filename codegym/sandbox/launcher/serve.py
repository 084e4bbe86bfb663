"""The launcher's requests.

Each message on the socket is one JSON object; descriptors travel beside it. A request has ``id``
and ``op``; its reply has the same ``id`` and either ``error`` or the answer. A message without
``id`` is an event: ``{"exited": box, "status": n, "reason": "…"}``, a sandbox that ended by itself.

    start    start processes in a box (made where it is new)     -> {}, and its listener, if it
             is to have a way out
    kill     end its processes; answers when none is left        -> {"status": n}
    collect  read its work into the descriptor sent along        -> {}
    copy     pause it and copy its files into a new box          -> {}
    free     kill, then drop its disk                            -> {}
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from . import cgroup, copying, transfer
from . import syscalls as sc
from .alias import Alias
from .box import Box, Start, read_json
from .listening import listen_inside
from .namespace import Config, enter

_POLL_SEC = 0.2
_MAX_MESSAGE = 1 << 18
_MAX_FDS = 64
_OWN_PROCESSES = 4  # bubblewrap, and this launcher while it starts it

Request = dict[str, Any]
Callback = Callable[[int], None]


class Server:
    """Serves one gym process until its end of the socket closes."""

    def __init__(
        self, config: Config, roots: tuple[cgroup.Root, ...], filter_program: bytes
    ) -> None:
        self._config, self._roots, self._filter = config, roots, filter_program
        self._socket = socket.socket(fileno=config.socket_fd)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ, None)
        self._boxes: dict[str, Box] = {}
        self._killing: dict[str, list[Callable[[int], None]]] = {}
        self._alias = Alias()
        self._group: cgroup.Group | None = None
        self._settle()
        self._next_poll = 0.0
        self._hard_memory = any("memory" in root.controllers for root in roots)

    def run(self) -> None:
        """Serve."""
        self._send({"ready": sorted({c for root in self._roots for c in root.controllers})})
        while True:
            events = self._selector.select(_POLL_SEC if self._must_poll() else None)
            for key, _ in events:
                if key.data is None:
                    if not self._receive():
                        return
                else:
                    self._selector.unregister(key.fd)
                    key.data(key.fd)
            if self._must_poll() and time.monotonic() >= self._next_poll:
                self._poll_memory()
                self._next_poll = time.monotonic() + _POLL_SEC

    # -- requests ---------------------------------------------------------------------------------

    def _receive(self) -> bool:
        message, fds, _, _ = socket.recv_fds(self._socket, _MAX_MESSAGE, _MAX_FDS)
        if not message:
            return False
        request: Request = json.loads(message)
        number = request["id"]
        try:
            getattr(self, f"_op_{request.pop('op')}")(request, fds)
        except (OSError, KeyError) as error:
            for descriptor in fds:
                with contextlib.suppress(OSError):  # some were used before it failed
                    os.close(descriptor)
            self._send({"id": number, "error": f"{error}"})
        return True

    def _op_start(self, request: Request, fds: list[int]) -> None:
        """Start bubblewrap; answers once it tells of its first process, many at a time."""
        number = request.pop("id")
        start = Start(**request)
        self._settle()
        box = self._boxes.get(start.box)
        if box is None:
            box = self._new_box(start)
        box.start, box.reason = start, ""
        old, box.group = box.group, self._group
        if box.group:
            limits = start.limits
            box.group.limit(
                int(limits["memory_mb"]), int(limits["processes"]) + _OWN_PROCESSES, limits["cpus"]
            )
        descriptor = box.spawn(self._config.bwrap, fds, self._alias, self._filter)
        self._group = None  # taken

        def born(descriptor: int) -> None:
            self._born(box, number, read_json(descriptor))
            with contextlib.suppress(OSError):  # the next start tries again, and says why not
                self._settle()  # after the answer: this can wait for the kernel
            if old:
                old.remove()

        self._selector.register(descriptor, selectors.EVENT_READ, born)

    def _born(self, box: Box, number: int, info: bytes) -> None:
        box.starting = False
        if not info:
            _, status = os.waitpid(box.monitor, 0)
            self._send({"id": number, "error": f"bubblewrap ended with status {status >> 8}"})
            for done in self._killing.pop(box.name, []):
                done(status >> 8)
            return
        box.first = json.loads(info)["child-pid"]
        try:
            self._watch(box.first, lambda: self._exited(box))
        except ProcessLookupError:  # it ended at once: whoever wanted it may have gone meanwhile
            self._tell_born(box, number)
            self._exited(box)
            return
        self._tell_born(box, number)
        if box.name in self._killing:  # asked for meanwhile
            box.kill("killed")

    def _tell_born(self, box: Box, number: int) -> None:
        if not box.start.egress:
            self._send({"id": number})
            return
        try:
            listener = listen_inside(box.first, box.start.egress)
        except OSError as error:
            self._send({"id": number, "error": f"no way out could be opened: {error}"})
            return
        with listener:
            self._send({"id": number}, listener.fileno())

    def _op_kill(self, request: Request, _fds: list[int]) -> None:
        self._kill(
            request["box"], lambda status: self._send({"id": request["id"], "status": status})
        )

    def _op_free(self, request: Request, _fds: list[int]) -> None:
        def done(_status: int) -> None:
            box = self._boxes.pop(request["box"], None)
            if box is not None:
                box.free(self._alias)
            self._send({"id": request["id"]})

        self._kill(request["box"], done)

    def _op_collect(self, request: Request, fds: list[int]) -> None:
        box = self._boxes[request["box"]]
        merged = f"{box.folder}/merged"
        options = f"lowerdir={box.folder}/up:{box.lower},userxattr"
        flags = sc.MS_RDONLY | sc.MS_NOSUID | sc.MS_NODEV
        sc.mount("overlay", merged, "overlay", flags, options)
        report = fds[0]

        def work() -> None:
            transfer.read_work(f"{box.folder}/up", merged, box.lower, report)

        def done(status: int) -> None:
            sc.umount(merged, sc.MNT_DETACH)
            self._answer(request["id"], status, "reading the work failed")

        self._in_child(work, done)
        os.close(report)

    def _op_copy(self, request: Request, _fds: list[int]) -> None:
        source = self._boxes[request["box"]]
        target = self._new_box(Start(**{**vars(source.start), "box": request["target"]}))
        stopped = copying.freeze(source.first) if source.first else []

        def work() -> None:
            copying.copy_box(source.folder, target.folder)

        def done(status: int) -> None:
            copying.thaw(stopped)
            if status:
                del self._boxes[target.name]
                target.free(self._alias)
            self._answer(request["id"], status, "copying the files failed")

        self._in_child(work, done)

    def _answer(self, number: int, status: int, problem: str) -> None:
        self._send({"id": number, "error": problem} if status else {"id": number})

    def _send(self, message: Request, *fds: int) -> None:
        try:
            socket.send_fds(self._socket, [json.dumps(message).encode()], fds)
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)

    # -- boxes ------------------------------------------------------------------------------------

    def _new_box(self, start: Start) -> Box:
        box = Box(start.box, start)
        box.make()
        self._boxes[box.name] = box
        return box

    def _kill(self, name: str, done: Callable[[int], None]) -> None:
        box = self._boxes.get(name)
        if box is None or not (box.first or box.starting):
            done(0)
            return
        self._killing.setdefault(name, []).append(done)
        box.kill("killed")

    def _exited(self, box: Box) -> None:
        """The last process inside is gone."""
        _, status = os.waitpid(box.monitor, 0)
        with contextlib.suppress(ChildProcessError):  # ours only where its parent died before it
            os.waitpid(box.first, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) & 0xFF
        if os.WIFSIGNALED(status) and not box.reason:  # out of reach of what runs inside
            box.reason = "machine"
        box.first = 0
        waiting = self._killing.pop(box.name, [])
        for done in waiting:
            done(code)
        if not waiting:
            self._send({"exited": box.name, "status": code, "reason": box.reason})

    def _watch(self, pid: int, callback: Callable[[], None]) -> None:
        def ended(descriptor: int) -> None:
            os.close(descriptor)
            callback()

        self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, ended)

    def _in_child(self, work: Callable[[], None], done: Callback) -> None:
        """Run slow work in a forked process, so that other sandboxes need not wait."""
        pid = os.fork()
        if not pid:
            try:
                work()
                os._exit(0)
            except OSError as error:
                sys.stderr.write(f"{error}\n")
            finally:
                os._exit(1)
        self._watch(pid, lambda: done(os.waitpid(pid, 0)[1]))

    # -- limits -----------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Move into a new group, where the last one was taken: the next box is born there."""
        if self._group is None and self._roots:
            group = cgroup.make_group(self._roots)
            try:
                group.join()
            except OSError:
                group.remove()
                raise
            self._group = group

    def _must_poll(self) -> bool:
        return not self._hard_memory and any(box.first for box in self._boxes.values())

    def _poll_memory(self) -> None:
        resident = copying.resident_pages()
        for box in self._boxes.values():
            if box.first and _memory_mb(box, resident) > box.start.limits["memory_mb"]:
                box.kill("memory")


def _memory_mb(box: Box, resident: dict[str, int]) -> float:
    """Resident memory of its processes and what its files hold, MiB."""
    pages = resident.get(copying.namespace_of(box.first), 0)
    disk = os.statvfs(box.folder)
    used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
    return (pages * os.sysconf("SC_PAGE_SIZE") + used) / (1 << 20)


def main() -> None:
    """The launcher's program: ``argv[1]`` is its socket, whose first message configures it."""
    descriptor = int(sys.argv[1])
    first_message = json.loads(os.read(descriptor, _MAX_MESSAGE))
    filter_program = bytes.fromhex(first_message.pop("filter"))
    config = Config(socket_fd=descriptor, **first_message)
    owner = (config.owner[0], config.owner[1])
    os.set_inheritable(config.socket_fd, False)  # nothing started here may have it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    roots = cgroup.open_roots(owner if os.getuid() == 0 else (os.getuid(), os.getgid()))
    child = os.fork()
    if child:  # keeps its privileges for one thing: to remove the control groups at the end
        os.close(config.socket_fd)
        _, status = os.waitpid(child, 0)
        cgroup.close_roots(roots)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    if roots:  # entering the hierarchy takes privileges; moving within it will not
        cgroup.make_group(roots).join()
    enter(config)
    Server(config, roots, filter_program).run()
    os._exit(0)
