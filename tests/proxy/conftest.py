"""A real proxy, a real origin that it may reach, and a sink that it may not."""

import http.server
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from registries import JSON, NpmRegistry, PipIndex

from codegym.errors import UnavailableError
from codegym.network import NetworkPolicy, Proxy, ProxyConfig
from codegym.network.install import install

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # `proxy` is a program beside the package, and never installed
ORIGIN, SINK = "origin.test.example", "sink.test.example"
AS_OF, EARLY, LATE = "2020-01-01T00:00:00Z", "2019-06-01T00:00:00.000Z", "2020-06-01T00:00:00.000Z"
MARKER = "the_fix_of_the_task"
PIP = '[[allow]]\nname = "index"\nregistry = "pip"\nas_of = "task"\n'
MAKE_CERTIFICATE = f"""
import sys
sys.path.append({str(ROOT)!r})
from cryptography.hazmat.primitives import serialization as s
from proxy.authority import Authority
authority = Authority()
entry = authority.entry(sys.argv[2])
key = entry.privatekey.private_bytes(
    s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()
)
with open(sys.argv[1] + ".ca", "w") as file:
    file.write(authority.certificate_pem())
with open(sys.argv[1], "wb") as file:
    file.write(key + entry.cert.to_pem())
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers in one write, so that no delayed acknowledgement slows a test down."""

    protocol_version = "HTTP/1.1"

    def setup(self):
        self.request.settimeout(20)
        self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self):
        super().finish()
        self.request.close()

    def do_GET(self):
        self.server.asked.append((self.command, self.path, self.headers.get("Host")))
        self.server.heads.append(dict(self.headers))
        body, extra, status = b"hello from the origin", "", "200 OK"
        if self.server.pages is not None:
            page = self.server.pages.get(self.path)
            status = "200 OK" if page else "404 Not Found"
            media, body = page(self.headers.get("Accept", "")) if page else ("text/plain", b"")
            extra = f"Content-Type: {media}\r\nETag: x\r\n"
        elif self.path == "/redirect":
            status, extra = "302 Found", f"Location: https://{SINK}:{self.server.other}/\r\n"
        elif self.path == "/upgrade":
            status, extra = "101 Switching Protocols", "Connection: upgrade\r\nUpgrade: x\r\n"
        elif self.path == "/large":
            body = b"x" * 300_000
        elif self.path == "/endless":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 300_000)
            self.close_connection = True
            return
        elif self.path == "/post":
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        head = f"HTTP/1.1 {status}\r\n{extra}Content-Length: {len(body)}\r\n\r\n"
        self.wfile.write(head.encode() + (b"" if self.command == "HEAD" else body))

    def do_HEAD(self):
        self.do_GET()

    def do_POST(self):
        self.do_GET()

    def log_message(self, *_):
        pass


class Origin(http.server.ThreadingHTTPServer):
    """A server with TLS that counts whoever connects, and notes what is asked."""

    daemon_threads = True

    def __init__(self, certificate):
        super().__init__(("127.0.0.1", 0), Handler)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate)
        self.port = self.server_address[1]
        self.accepted, self.asked, self.heads, self.other = 0, [], [], 0
        self.pages = None  # a registry has some: for each path a function of what is accepted
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def get_request(self):
        taken = super().get_request()
        self.accepted += 1
        return taken

    def handle_error(self, *_):
        pass


@dataclass
class Way:
    """An episode's way out, as a client in its sandbox would use it."""

    proxy: Proxy
    name: str
    folder: Path
    log: Path
    certificate: str
    origin: Origin
    sink: Origin
    sockets: list[socket.socket] = field(default_factory=list)

    def connect(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(20)
        self.sockets.append(client)
        folder = os.open(self.folder, os.O_RDONLY)  # the path may be too long for an address
        try:
            client.connect(f"/proc/self/fd/{folder}/proxy.sock")
        finally:
            os.close(folder)
        return client

    def tunnel(self, host=ORIGIN, port=None, *, headers="") -> tuple[int, socket.socket]:
        client, port = self.connect(), port or self.origin.port
        asked = f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n"
        try:
            client.sendall(asked.encode())
        except OSError:
            return 0, client
        head = read_until(client, b"\r\n\r\n")
        return int(head.split()[1]) if head else 0, client

    def tls(self, sni=ORIGIN, *, host=ORIGIN, port=None, alpn="http/1.1") -> ssl.SSLSocket:
        status, client = self.tunnel(host, port)
        assert status == 200
        context = ssl.create_default_context(cadata=self.certificate)
        context.check_hostname = sni is not None
        context.set_alpn_protocols([alpn])
        wrapped = context.wrap_socket(client, server_hostname=sni)
        self.sockets.append(wrapped)
        return wrapped

    def ask(self, request="GET / HTTP/1.1", *, host=None, headers="", tls=None, body=b"") -> bytes:
        """One request in a tunnel to the origin; the whole answer, ``b""`` if there was none."""
        tls = tls or self.tls()
        host = f"{ORIGIN}:{self.origin.port}" if host is None else host
        lines = f"{request}\r\n" + (f"Host: {host}\r\n" if host else "") + f"{headers}\r\n"
        try:
            tls.sendall(lines.encode() + body)
            return read_answer(tls)
        except OSError:
            return b""

    def hang_up(self) -> None:
        for client in self.sockets:
            client.close()

    def records(self) -> list[dict]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def reasons(self, event) -> list[str]:
        return [record["reason"] for record in self.records() if record["event"] == event]

    def get(self, path, *, accept=JSON, headers="", tls=None) -> tuple[int, bytes]:
        """The status and body of one request, as an index is asked."""
        said = f"Accept: {accept}\r\n{headers}"
        answer = self.ask(f"GET {path} HTTP/1.1", headers=said, tls=tls)
        return int(answer[9:12] or 0), answer.partition(b"\r\n\r\n")[2]

    def head(self, path) -> tuple[int, int]:
        """The status and announced size of an answer without a body."""
        tls = self.tls()
        tls.sendall(f"HEAD {path} HTTP/1.1\r\nHost: {ORIGIN}:{self.origin.port}\r\n\r\n".encode())
        answer = read_until(tls, b"\r\n\r\n")
        (size,) = re.findall(rb"(?i)\r\ncontent-length: (\d+)", answer)
        return int(answer[9:12]), int(size)

    def filenames(self, project="dep") -> list[str]:
        status, body = self.get(f"/simple/{project}/")
        assert status == 200
        return [file["filename"] for file in json.loads(body)["files"]]

    def http2(self, authority, more=(), body=b"", path="/", method="GET") -> bytes:
        """One request in frames of our own, as no library would send it; the answer's body."""
        tls = self.tls(alpn="h2")
        assert tls.selected_alpn_protocol() == "h2"
        block = b""
        pseudo = {":method": method, ":scheme": "https", ":path": path, ":authority": authority}
        for name, value in [*pseudo.items(), *more]:
            said = name.encode(), value.encode()
            block += b"\x00" + b"".join(bytes([len(each)]) + each for each in said)
        sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, b"", 0)
        sent += _frame(1, 4 if body else 5, block) + (_frame(0, 1, body) if body else b"")
        tls.sendall(sent)
        return read_stream(tls)

    def denials(self) -> list[str]:
        return [record["reason"] for record in self.records() if not record["allowed"]]


def read_until(client, end) -> bytes:
    data = b""
    try:
        while end not in data and (more := client.recv(1)):
            data += more
    except OSError:
        return b""
    return data


def _frame(kind: int, flags: int, payload: bytes, stream: int = 1) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def read_stream(tls) -> bytes:
    """The body that is answered in HTTP/2's first stream, until that or the connection ends."""
    data, said = b"", b""
    while True:
        while len(data) < 9 or len(data) < 9 + int.from_bytes(data[:3]):
            if not (received := tls.recv(65536)):
                return said
            data += received
        size, kind, flags = int.from_bytes(data[:3]), data[3], data[4]
        stream, payload = int.from_bytes(data[5:9]), data[9 : 9 + size]
        data = data[9 + size :]
        said += payload if kind == 0 else b""
        if kind in (3, 7) or (stream == 1 and kind in (0, 1) and flags & 1):
            return said


def read_answer(client) -> bytes:
    head = read_until(client, b"\r\n\r\n")
    length = [int(found) for found in re.findall(rb"(?i)\r\ncontent-length: (\d+)", head)]
    body = b""
    while (not length or len(body) < length[0]) and (more := client.recv(65536)):
        body += more
    return head + body


@pytest.fixture(scope="session")
def interpreter():
    """The proxy's own; made once, in the cache."""
    try:
        return install()
    except UnavailableError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"NO EGRESS PROXY: {error}")


@pytest.fixture(scope="session")
def certificates(interpreter, tmp_path_factory):
    """For each name, a PEM file of key and certificate; and one of all authorities."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in (ORIGIN, SINK):
        command = [str(interpreter.python), "-I", "-c", MAKE_CERTIFICATE, str(folder / name), name]
        subprocess.run(command, check=True, capture_output=True)
    trusted = folder / "trusted.pem"
    trusted.write_text("".join((folder / f"{n}.ca").read_text() for n in (ORIGIN, SINK)))
    return {ORIGIN: folder / ORIGIN, SINK: folder / SINK, "trusted": trusted}


@pytest.fixture(scope="session")
def servers(certificates):
    """The origin that policies allow, and the sink that they do not."""
    pair = Origin(certificates[ORIGIN]), Origin(certificates[SINK])
    pair[0].other = pair[1].port
    yield pair
    for server in pair:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def registry(certificates):
    """An index, and who has its files; for tests to put pages there."""
    pair = Origin(certificates[ORIGIN]), Origin(certificates[SINK])
    yield pair
    for server in pair:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def config(certificates, servers, registry):
    """All are reachable as far as the operator is concerned: only the policy is in the way."""
    hosts = {ORIGIN: "127.0.0.1", SINK: "127.0.0.1", "private.test.example": "127.0.0.1"}
    ports = tuple(f"127.0.0.1:{server.port}" for server in (*servers, *registry))
    return ProxyConfig(certificates["trusted"], hosts, ports)


@pytest.fixture(scope="session")
def proxy(interpreter, config):
    with Proxy(interpreter.python, config) as running:
        yield running


@pytest.fixture
def policy_text(servers):
    """Allows the origin only, on the ports of both servers."""
    ports = [server.port for server in servers]
    return f'[[allow]]\nname = "origin"\nhosts = ["{ORIGIN}"]\nports = {ports}\n'


@pytest.fixture
def opened(servers, tmp_path):
    """Makes ways out; all are closed at the end."""
    made = []

    def make(proxy, text, pair=servers, **more) -> Way:
        name = f"{tmp_path.name}-{len(made)}"
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        log = tmp_path / f"{name}.jsonl"
        policy = NetworkPolicy(tmp_path / "policy.toml", text, ())
        policy.path.write_text(text)
        route = proxy.add(name, policy, folder=folder, log=log, **more)
        for server in pair:
            server.accepted, server.asked[:], server.heads[:] = 0, [], []
        made.append(Way(proxy, name, folder, log, route.certificate, *pair))
        return made[-1]

    yield make
    for way in made:
        way.hang_up()
        way.proxy.remove(way.name)


@pytest.fixture
def way(opened, proxy, policy_text):
    return opened(proxy, policy_text)


@pytest.fixture
def index(registry):
    for server in registry:
        server.pages = {}
    pages, files = (server.pages for server in registry)
    index = PipIndex(pages, files, f"https://{SINK}:{registry[1].port}")
    index.add_wheel("dep", "1.0", EARLY)
    index.add_wheel("dep", "2.0", LATE)
    index.add_wheel("tested", "1.0", EARLY)
    return index


@pytest.fixture
def npm(registry):
    registry[0].pages = {}
    return NpmRegistry(registry[0].pages, f"https://{ORIGIN}:{registry[0].port}")


@pytest.fixture
def entered(opened, proxy, registry):
    """Opens an episode whose policy has a registry as of a date."""

    def make(text=PIP, path="/simple/", user="", proxy=proxy, **more):
        address = f"https://{user}{ORIGIN}:{registry[0].port}{path}"
        registries = {"pip": [address], "npm": [address.removesuffix("simple/")]}
        usual = {"as_of": AS_OF, "denied": ["tested", "@x/tested"], "markers": [MARKER]}
        return opened(proxy, text, registry, registries=registries, **(usual | more))

    return make


@pytest.fixture
def wait_until():
    def wait(true, what) -> None:
        for _ in range(800):
            if true():
                return
            time.sleep(0.05)
        raise AssertionError(f"never: {what}")

    return wait
