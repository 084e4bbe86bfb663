"""The ways out of one process's episodes: one proxy, started with the first, and a socket each."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegym.errors import SandboxError
from codegym.network.install import install
from codegym.network.log import Entry, read_log
from codegym.network.operator import operator_config
from codegym.network.policy import NetworkPolicy
from codegym.network.process import Proxy, ProxyConfig

_SOCKET = "proxy.sock"
#: How errors begin that only an origin can cause, and no client in a sandbox.
_NO_TLS = ("Certificate verify failed", "The remote server does not speak TLS")


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a registry has to know of the task (see ``Proxy.add``).

    Attributes:
        as_of: When the task was, as RFC 3339 writes it, or None.
        denied: Names of the project under test.
        markers: Texts of the solution.
    """

    as_of: str | None = None
    denied: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Keeping:
    """What of an episode's requests is kept, and what of another's is used.

    Attributes:
        log: Where each request is written (more is appended), with what registries answered beside
            it; None: kept until the way is closed.
        frozen: What registries answered in an episode that is replayed.
    """

    log: Path | None = None
    frozen: Path | None = None


class Way:
    """One episode's way out; of all its forks, too. ``close`` blocks for some milliseconds.

    Attributes:
        socket: Where the proxy listens for this episode alone.
        certificate: PEM of the authority that clients have to trust.
        log: Where each request and its verdict is written.
        registries: The addresses of each registry that its policy names.
    """

    def __init__(
        self,
        proxy: Proxy,
        folder: Path,
        policy: NetworkPolicy,
        registries: Mapping[str, Sequence[str]],
        purpose: Purpose,
        keeping: Keeping,
    ) -> None:
        self._proxy, self._folder = proxy, folder
        self._holders, self._lock = 1, threading.Lock()
        self._name = secrets.token_hex(8)
        self.registries = registries
        self._exact, self._dated = policy.hosts(registries), policy.dated(registries)
        self.log = keeping.log or folder / "network.jsonl"
        self._seen = self.log.stat().st_size if self.log.exists() else 0
        place = folder / "way"
        place.mkdir()
        self.socket = place / _SOCKET
        self.certificate = proxy.add(
            self._name,
            policy,
            folder=place,
            log=self.log,
            registries=registries,
            as_of=purpose.as_of,
            denied=purpose.denied,
            markers=purpose.markers,
            frozen=keeping.frozen,
        ).certificate

    @property
    def is_open(self) -> bool:
        """Whether the proxy runs, and knows of it."""
        return self._proxy.serves(self._name)

    def check(self) -> None:
        """Wait for it, where the proxy died. Raises ``SandboxError`` if it cannot be had again."""
        self._proxy.check(self._name)

    def check_upstream(self) -> None:
        """Raise ``SandboxError`` where something that the policy names was out of reach last.

        What only a wildcard stands for does not count: there an agent chooses the name. Nor is it
        the origin's answer where the proxy says of an index that something is not there.
        """
        exact, dated = self._exact, self._dated
        unreached: dict[str, str] = {}
        for entry in read_log(self.log, self._seen):
            if entry.host in exact and (problem := _unreached(entry)):
                unreached[entry.host] = problem
            elif entry.status and entry.event == ("fetch" if entry.host in dated else "end"):
                unreached.pop(entry.host, None)
        for host, reason in unreached.items():
            raise SandboxError(f"the network policy allows {host}, which is not reached: {reason}")

    def share(self) -> Way:
        """One more holder, which has to close it, too."""
        with self._lock:
            self._holders += 1
        return self

    def close(self) -> None:
        """Let go; the last holder closes it."""
        with self._lock:
            self._holders -= 1
            last = self._holders == 0
        if last:
            with contextlib.suppress(SandboxError):  # a proxy that is gone serves nobody
                self._proxy.remove(self._name)
            shutil.rmtree(self._folder, ignore_errors=True)


def _unreached(entry: Entry) -> str:
    """Why an origin could not be reached, or is not the one; ``""`` for another entry."""
    if entry.event == "upstream":
        return entry.reason
    return entry.error if entry.error.startswith(_NO_TLS) else ""


class Ways:
    """Opens ways out. Safe to use from any thread.

    Args:
        config: The operator's configuration.
    """

    def __init__(self, config: ProxyConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._proxy: Proxy | None = None

    def start(self) -> Proxy:
        """Start the proxy, unless it was started; it stops with this process.

        Raises:
            UnavailableError: mitmproxy cannot be installed.
            SandboxError: It does not start.
        """
        with self._lock:
            if self._proxy is None:
                proxy = Proxy(install().python, self._config)
                proxy.start()
                self._proxy = proxy
            return self._proxy

    def open(
        self,
        policy: NetworkPolicy,
        registries: Mapping[str, Sequence[str]],
        purpose: Purpose = Purpose(),
        keeping: Keeping = Keeping(),
    ) -> Way:
        """Open an episode's way out.

        Args:
            policy: What it may reach.
            registries: The addresses of each registry that the policy names.
            purpose: What a registry has to know of the task.
            keeping: What of it is kept.

        Raises:
            UsageError: The policy cannot be used.
            UnavailableError: mitmproxy cannot be installed.
            SandboxError: The proxy does not work; try again later.
        """
        proxy = self.start()
        folder = Path(tempfile.mkdtemp(prefix="way-", dir=proxy.folder))
        try:
            return Way(proxy, folder, policy, registries, purpose, keeping)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def close(self) -> None:
        """Stop the proxy, and with it every way. Idempotent."""
        with self._lock:
            if self._proxy is not None:
                self._proxy.stop()
                self._proxy = None


_all: dict[tuple[int, str], Ways] = {}
_guard = threading.Lock()


def ways() -> Ways:
    """This process's, of the operator's configuration as it is now.

    Raises:
        DataError: The configuration is wrong.
    """
    config = operator_config()
    with _guard:
        return _all.setdefault((os.getpid(), repr(config)), Ways(config))
