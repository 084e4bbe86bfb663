"""Figures of the egress proxy, against a plain mitmproxy in front of the same origin."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from codegym.cli.bench.measure import Figure, figure, timed
from codegym.errors import SandboxError
from codegym.network import NetworkPolicy, Proxy, ProxyConfig, Route
from codegym.network.install import install

#: The origin, to a proxy that is told where names are, and to one that looks them up.
_NAME, _LOOKED_UP = "bench.test.example", "localhost"
_MS = 1000.0
_ROUNDS, _REQUESTS = 10, 200
_MANY, _BODY_BYTES, _BODIES = 10_000, 64 << 20, 16
_WAIT_SEC = 60.0
_POLICY = """
[limits]
max_requests = 1000000
max_upload_bytes = 1073741824
max_download_bytes = 17179869184
[[allow]]
name = "origin"
hosts = ["{name}"]
ports = [{port}]
"""
_PLAIN = "from mitmproxy.tools.main import mitmdump; mitmdump()"


def measure(note: Callable[[str], None], times: int) -> list[Figure]:
    """All figures, with an origin, a plain mitmproxy and a proxy of ours for the while.

    Args:
        note: Told what is being done.
        times: How often an episode is added, about.

    Raises:
        UnavailableError: There is no mitmproxy, and none can be fetched.
    """
    note("looking for mitmproxy's interpreter, or making it")
    python = install().python
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="codegym-bench-")))
        port, authority = stack.enter_context(_origin(python, folder))
        bench = _Bench(python, folder, port, authority, stack)
        figures = []
        note("measuring memory")  # first, while the proxy is new
        figures = [bench.memory()]
        note("measuring requests")
        figures.append(bench.overhead())
        note("measuring episodes")
        return [*figures, bench.episodes(4 * times)]


class _Bench:
    """The proxies that are compared; what it starts, ``stack`` ends."""

    def __init__(
        self, python: Path, folder: Path, port: int, authority: Path, stack: ExitStack
    ) -> None:
        self._python, self._folder, self._port, self._authority = python, folder, port, authority
        self._stack = stack
        config = ProxyConfig(authority, {_NAME: "127.0.0.1"}, (f"127.0.0.1:{port}",))
        self._proxy = stack.enter_context(Proxy(python, config))
        text = _POLICY.format(name=_NAME, port=port)
        self._policy = NetworkPolicy(folder / "policy.toml", text, ())

    def memory(self) -> Figure:
        """The proxy's memory after much was asked of it."""
        route = self._open("memory")
        before = _rss_mb(self._proxy.pid)
        with self._ours(route) as client:
            for _ in range(_MANY):
                client.get(100)
        with self._ours(route) as client:
            for _ in range(_BODIES):
                client.get(_BODY_BYTES)
        after = _rss_mb(self._proxy.pid)
        self._proxy.remove("memory")
        return figure(
            "memory_ratio",
            [after / before],
            [1.0],
            target=1.3,
            what=f"the proxy's memory after {_MANY:,} requests and 1 GB of bodies ({after:.0f} MB)",
            against=f"its memory at the start ({before:.0f} MB)",
        )

    def overhead(self) -> Figure:
        """A request on a connection that is kept, in turns with a plain mitmproxy."""
        route = self._open("overhead")
        port, plain = self._stack.enter_context(_plain(self._python, self._folder, self._authority))
        ratios = []
        with (
            self._ours(route) as ours,
            _connected(_tcp(port), plain, _LOOKED_UP, self._port) as theirs,
        ):
            for _ in range(_ROUNDS):
                pair = [sum(timed(lambda: one.get(100), _REQUESTS)) for one in (ours, theirs)]  # noqa: B023
                ratios.append(pair[0] / pair[1])
        self._proxy.remove("overhead")
        return figure(
            "proxy_overhead_ratio",
            ratios,
            [1.0] * len(ratios),
            target=1.15,
            what=f"{_REQUESTS} HTTPS requests on a kept connection, divided by mitmproxy's time",
            against="a plain mitmproxy with no script, in front of the same origin",
        )

    def episodes(self, times: int) -> Figure:
        """Adding an episode, and removing it."""
        self._open("first")

        def add_and_remove() -> None:
            self._open("another")
            self._proxy.remove("another")

        values = [_MS * value / 2 for value in timed(add_and_remove, times)]
        return figure(
            "episode_add_ms",
            values,
            [],
            target=10,
            what="adding or removing an episode at a proxy that serves another",
            against="",
        )

    def _ours(self, route: Route) -> AbstractContextManager[_Client]:
        return _connected(_unix(route), route.certificate, _NAME, self._port)

    def _open(self, name: str) -> Route:
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        return self._proxy.add(
            name, self._policy, folder=folder, log=self._folder / f"{name}.jsonl"
        )


class _Client:
    """One connection through a proxy that is kept."""

    def __init__(self, tls: ssl.SSLSocket, host: str) -> None:
        self._tls, self._host, self._buffer = tls, host, bytearray(1 << 18)

    def get(self, size: int) -> None:
        """Ask for a body of so many bytes, and read it to its end."""
        self._tls.sendall(f"GET /{size} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._some()
        if not head.startswith(b"HTTP/1.1 200"):
            raise SandboxError(f"the proxy answered {head[:60]!r}")
        left = size - len(head.split(b"\r\n\r\n", 1)[1])
        while left > 0:
            left -= len(self._some())

    def _some(self) -> memoryview:
        count = self._tls.recv_into(self._buffer)
        if not count:
            raise SandboxError("the proxy closed a connection that was being measured")
        return memoryview(self._buffer)[:count]


@contextlib.contextmanager
def _connected(client: socket.socket, authority: str, host: str, port: int) -> Iterator[_Client]:
    """A TLS connection to the origin through a tunnel of a proxy's."""
    context = ssl.create_default_context(cadata=authority)
    with client:
        client.settimeout(_WAIT_SEC)
        client.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n") and (more := client.recv(1)):
            answer += more
        if b" 200 " not in answer.split(b"\r\n")[0]:
            raise SandboxError(f"a proxy refused the tunnel: {answer[:60]!r}")
        with context.wrap_socket(client, server_hostname=host) as tls:
            yield _Client(tls, f"{host}:{port}")


def _unix(route: Route) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(route.folder / "proxy.sock"))
    return client


def _tcp(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), _WAIT_SEC)


@contextlib.contextmanager
def _origin(python: Path, folder: Path) -> Iterator[tuple[int, Path]]:
    """A running origin: its port, and a file with its authority."""
    script = Path(__file__).with_name("origin.py")
    with _running([str(python), "-I", str(script), _NAME, _LOOKED_UP], folder) as process:
        told = json.loads(process.stdout.readline() if process.stdout else b"{}")
        authority = folder / "origin.pem"
        authority.write_text(told["authority"])
        yield told["port"], authority


@contextlib.contextmanager
def _plain(python: Path, folder: Path, authority: Path) -> Iterator[tuple[int, str]]:
    """A mitmproxy with no script: its port, and its authority."""
    home = folder / "mitmproxy"
    with socket.socket() as free:  # it does not say which port it took where it is told none
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(python), "-I", "-c", _PLAIN, "-q", "--listen-host", "127.0.0.1"]
    command += ["-p", str(port), "--set", f"confdir={home}"]
    command += ["--set", f"ssl_verify_upstream_trusted_ca={authority}"]
    with _running(command, folder):
        _until(lambda: _tcp(port).close())
        yield port, (home / "mitmproxy-ca-cert.pem").read_text()


@contextlib.contextmanager
def _running(command: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _until(attempt: Callable[[], object]) -> None:
    """Try until nothing is raised."""
    end = time.monotonic() + _WAIT_SEC
    while True:
        try:
            attempt()
            return
        except OSError as error:
            if time.monotonic() > end:
                raise SandboxError(f"mitmproxy does not start: {error}") from error
            time.sleep(0.05)


def _rss_mb(pid: int | None) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024
