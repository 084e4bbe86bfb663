"""The egress proxy's process: started, told of episodes, restarted when it dies, stopped."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from codegym.errors import SandboxError, UsageError
from codegym.network.folders import HeldFolder, make_folder
from codegym.network.policy import NetworkPolicy
from codegym.resources import data_root

_CONTROL = "control.sock"
_START_SEC = 60.0
_ANSWER_SEC = 20.0
_STOP_SEC = 10.0
#: A proxy that dies so often in a row, each time so soon, is left alone for as long.
_DEATHS, _SOON_SEC = 5, 5.0


@dataclass(frozen=True, slots=True)
class ProxyConfig:
    """What the operator, and never a policy, decides.

    Attributes:
        upstream_ca: PEM file of the authorities that origins are verified by; None for the usual.
        hosts: Addresses of names, which are then not looked up.
        private_addresses: ``ADDRESS:PORT`` that may be reached although they are not public, such
            as an organisation's own registry.
    """

    upstream_ca: Path | None = None
    hosts: Mapping[str, str] = field(default_factory=dict)
    private_addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """An episode's one way out.

    Attributes:
        episode: Its name at the proxy.
        folder: Holds the socket ``proxy.sock``, and nothing else that matters.
        log: Where each request and its verdict is written, a JSON object a line.
        certificate: PEM of the authority that clients in the sandbox have to trust.
    """

    episode: str
    folder: Path
    log: Path
    certificate: str


class Proxy:
    """One proxy process for many episodes. A context manager; safe to use from any thread.

    When the process dies there is no way out until it runs again, which happens by itself; the
    episodes keep their sockets' paths and their certificates.

    Args:
        python: An interpreter that has mitmproxy (see ``install``).
        config: The operator's configuration.
        program: What is run, for tests.
    """

    def __init__(
        self, python: Path, config: ProxyConfig = ProxyConfig(), *, program: Path | None = None
    ) -> None:
        self._python, self._config = python, config
        self._program = program or data_root("proxy") / "__main__.py"
        self._lock = threading.RLock()
        self._added: dict[str, dict[str, Any]] = {}  # the commands that open them once more
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._held: HeldFolder | None = None
        self._owner = os.getpid()
        self._deaths = 0
        self._ready = True
        self._started = 0.0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """The process's id, while there is one."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    @property
    def folder(self) -> Path:
        """A temporary folder of this process. Raises ``SandboxError`` where it does not run."""
        if self._held is None:
            raise SandboxError("the egress proxy was stopped")
        return self._held.path

    def serves(self, episode: str) -> bool:
        """Whether the process runs, and the episode has its way out."""
        return self._ready and self.pid is not None and episode in self._added

    def start(self) -> None:
        """Start the process; nothing if it was started. Raises ``SandboxError`` if it cannot."""
        with self._lock:
            if self._held is None:
                self._held = make_folder()
                atexit.register(self.stop)
                try:
                    self._spawn()
                except SandboxError:
                    self.stop()
                    raise
                threading.Thread(target=self._watch, name="egress proxy", daemon=True).start()

    def stop(self) -> None:
        """Stop the process, and with it every way out; idempotent."""
        if self._owner != os.getpid():
            return  # a forked child has no say
        with self._lock:
            process, held = self._process, self._held
            self._held = None
            self._added.clear()
            if process is not None:
                self._hang_up(process)
                _reap(process)
            if held is not None:
                held.remove()
                atexit.unregister(self.stop)

    def add(
        self,
        episode: str,
        policy: NetworkPolicy,
        *,
        folder: Path,
        log: Path,
        registries: Mapping[str, Sequence[str]] | None = None,
        as_of: str | None = None,
        denied: Sequence[str] = (),
        markers: Sequence[str] = (),
        frozen: Path | None = None,
    ) -> Route:
        """Open an episode's way out.

        Args:
            episode: A name that no other episode of this proxy has.
            policy: What it may reach.
            folder: An existing folder that only this episode's sandbox will see; short-lived.
            log: A file outside of it.
            registries: The addresses of each registry that the policy names.
            as_of: The moment that a registry's answers are to be of, as RFC 3339 writes it.
            denied: Names that a registry is to have nothing of: the project under test, and its
                other names.
            markers: Texts of the solution, which nothing that is downloaded may hold.
            frozen: What registries answered in another episode (its log's path with the suffix
                ``.index``): it is answered again, and nobody is asked.

        Raises:
            UsageError: The policy cannot be used, or the name is taken.
            SandboxError: The proxy does not work; try again later.
        """
        command = {
            "op": "add",
            "episode": episode,
            "folder": str(folder.absolute()),
            "log": str(log.absolute()),
            "policy": policy.text,
            "registries": {kind: list(each) for kind, each in (registries or {}).items()},
            "as_of": as_of,
            "denied": list(denied),
            "markers": list(markers),
            "frozen": str(frozen.absolute()) if frozen else None,
        }
        with self._lock:
            answer = self._ask(command)
            authority = {"certificate": answer["certificate"], "key": answer["key"]}
            self._added[episode] = command | authority
        return Route(episode, folder, log, answer["certificate"])

    def remove(self, episode: str) -> None:
        """Close an episode's way out and its connections, and no other's; idempotent."""
        with self._lock:
            if self._added.pop(episode, None) is not None:
                self._ask({"op": "remove", "episode": episode})

    def check(self, episode: str) -> None:
        """Wait until the process runs, where it died. Raises ``SandboxError`` if it will not."""
        with self._lock:
            self._revive()
            if episode not in self._added:
                raise SandboxError("the egress proxy could not open an episode's way out again")

    def _ask(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Give a command to a running process."""
        if self._owner != os.getpid():
            raise SandboxError("the egress proxy belongs to the process that started it")
        self._revive()
        if self._control is None or self._process is None:
            raise SandboxError("the egress proxy is not running; start it")
        try:
            self._control.sendall(json.dumps(command).encode() + b"\n")
            answer = _line(self._control)
        except OSError as error:
            self._process.kill()  # it would answer too late; a new one takes its place
            raise SandboxError(f"the egress proxy does not answer: {error}") from error
        if not answer["ok"]:
            kind = SandboxError if answer.get("broken") else UsageError
            raise kind(f"the egress proxy: {answer['error']}")
        return answer

    def _spawn(self) -> None:
        folder = self.folder
        (folder / _CONTROL).unlink(missing_ok=True)
        errors = folder / "stderr"
        config = {
            "control": _CONTROL,
            "log": "proxy.log",
            "upstream_ca": str(self._config.upstream_ca) if self._config.upstream_ca else None,
            "hosts": dict(self._config.hosts),
            "private": list(self._config.private_addresses),
        }
        with errors.open("wb") as stderr:
            # An empty environment: a variable could make TLS keys be written to a file.
            process = subprocess.Popen(
                [str(self._python), "-I", "-B", str(self._program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
                cwd=folder,
                start_new_session=True,
            )
        self._process, self._started = process, time.monotonic()
        if not _is_ready(process, config):
            self._hang_up(process)
            _reap(process)
            said = errors.read_text(errors="replace").strip()[-300:]
            raise SandboxError(f"the egress proxy does not start: {said or 'it says nothing'}")
        self._control = _connected(folder)

    def _revive(self) -> None:
        """Start a process that died again, with all its episodes."""
        process = self._process
        if self._held is None or process is None or process.poll() is None:
            return
        self._ready = False
        soon = time.monotonic() - self._started < _SOON_SEC
        self._deaths = self._deaths + 1 if soon else 1
        self._hang_up(process)
        if self._deaths > _DEATHS:
            raise SandboxError(f"the egress proxy died {self._deaths} times in a row")
        self._spawn()
        for episode, command in list(self._added.items()):
            try:
                self._ask(command)
            except (UsageError, SandboxError):
                if self.pid is None:
                    raise  # it died once more
                del self._added[episode]  # its folder is gone, say: it has no way out any more
        self._ready = True

    def _watch(self) -> None:
        """Runs in a thread of its own, until the proxy is stopped."""
        while (process := self._process) is not None and self._held is not None:
            process.wait()
            try:
                with self._lock:
                    self._revive()
            except SandboxError:
                time.sleep(1.0)  # whoever gives a command meanwhile is told why

    def _hang_up(self, process: subprocess.Popen[bytes]) -> None:
        """End what connects us to a process; without its input it ends by itself."""
        if self._control is not None:
            self._control.close()
            self._control = None
        for stream in (process.stdin, process.stdout):
            if stream is not None and not stream.closed:
                with contextlib.suppress(BrokenPipeError):  # it died before it read all
                    stream.close()


def _is_ready(process: subprocess.Popen[bytes], config: Mapping[str, Any]) -> bool:
    """Hand over the configuration, and wait for the line that says that it serves."""
    if process.stdin is None or process.stdout is None:
        return False
    try:
        process.stdin.write(json.dumps(config).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        return False
    readable, _, _ = select.select([process.stdout], [], [], _START_SEC)
    return bool(readable) and process.stdout.readline().startswith(b'{"ready": true')


def _connected(folder: Path) -> socket.socket:
    """Connect through a descriptor: a path may be longer than an address of a socket."""
    control = socket.socket(socket.AF_UNIX)
    control.settimeout(_ANSWER_SEC)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        control.connect(f"/proc/self/fd/{descriptor}/{_CONTROL}")
    except OSError as error:
        control.close()
        raise SandboxError(f"the egress proxy does not answer: {error}") from error
    finally:
        os.close(descriptor)
    return control


def _line(control: socket.socket) -> dict[str, Any]:
    data = b""
    while not data.endswith(b"\n"):
        if not (more := control.recv(65536)):
            raise ConnectionResetError("it closed the connection")
        data += more
    answer: dict[str, Any] = json.loads(data)
    return answer


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_STOP_SEC)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
