"""Ways around the one way out, tried from inside a sandbox that has it; a sink counts who comes."""

import contextlib
import socket
import threading
from dataclasses import dataclass, field

import pytest
from proxy_parts import EVERYWHERE, address, bash, get, said

pytestmark = pytest.mark.network


@dataclass
class Sinks:
    """Sockets of the host that nobody in a sandbox may reach, and what came to them."""

    host: str
    port: int
    came: list[str] = field(default_factory=list)
    sockets: list[socket.socket] = field(default_factory=list)

    def listen(self, name, family, kind, where):
        listener = socket.socket(family, kind)
        self.sockets.append(listener)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(where)
        if kind == socket.SOCK_STREAM:
            listener.listen()
        threading.Thread(target=self._wait, args=(name, kind, listener), daemon=True).start()

    def _wait(self, name, kind, listener):
        with contextlib.suppress(OSError):
            while True:
                if kind == socket.SOCK_STREAM:
                    connection, _ = listener.accept()
                    connection.close()
                else:
                    listener.recvfrom(99)
                self.came.append(name)


def own_address():
    """An address of this host that is not its loopback; none is fine, where there is no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return "127.0.0.1"
        return probe.getsockname()[0]


@pytest.fixture
def sinks(tmp_path):
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    made = Sinks(own_address(), port)
    made.listen("tcp", socket.AF_INET, socket.SOCK_STREAM, ("", port))
    made.listen("udp", socket.AF_INET, socket.SOCK_DGRAM, ("", port))
    if socket.has_ipv6:
        with contextlib.suppress(OSError):  # none on this host
            made.listen("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::", port))
    made.listen("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0codegym-test-{port}")
    made.listen("path", socket.AF_UNIX, socket.SOCK_STREAM, str(tmp_path / "s"))
    yield made
    for each in made.sockets:
        each.close()


#: Each is tried in a sandbox with a way out; `host` and `port` are the sinks'. What is printed as
#: OUT got somewhere.
ATTEMPTS = {
    "TCP to the host": "tcp(host, port)",
    "TCP to the host's loopback": "tcp('127.0.0.1', port)",
    "TCP over IPv6": "tcp('::1', port)",
    "TCP to a mapped address": "tcp('::ffff:' + host, port)",
    "UDP": "udp(host, port); udp('127.0.0.1', port)",
    "a name server": "udp('8.8.8.8', 53); udp('127.0.0.11', 53); tcp('1.1.1.1', 53)",
    "a name": "print('OUT' if socket.getaddrinfo('example.org', 443) else '')",
    "a broadcast": "broadcast(port)",
    "a raw socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('OUT')",
    "a packet socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('OUT')",
    "a virtual socket": "vsock(port)",
    "an abstract socket": r"unix('\0codegym-test-%d' % port)",
    "another port of the loopback": "[tcp('127.0.0.1', p) for p in (1080, 3127, 3129, 8080, 8443)]",
    "SOCKS 5 at the port": "talk(b'\\x05\\x01\\x00', b'\\x05\\x00')",
    "SOCKS 4 at the port": "talk(b'\\x04\\x01' + bytes([0, 80, 127, 0, 0, 1, 0]), b'\\x00\\x5a')",
    "a tunnel to an address": "connect(f'{host}:{port}'); connect(f'127.0.0.1:{port}')",
    "a tunnel to odd addresses": (
        "[connect(f'{each}:{port}') for each in "
        "('2130706433', '0x7f000001', '017700000001', '127.1', '[::1]', '[::ffff:127.0.0.1]')]"
    ),
    "a tunnel to a name of the host": "connect(f'localhost:{port}'); connect(f'box:{port}')",
    "plain HTTP at the port": "plain(f'http://{host}:{port}/')",
    "a network namespace of its own": "unshare(0x40000000)",
    "a user namespace of its own": "unshare(0x10000000)",
    "another user": "import os; os.setuid(1234); print('OUT')",
    "the host's network by a process": "join()",
}
TOOLS = """
import ctypes, glob, os, socket, sys
host, port = sys.argv[1], int(sys.argv[2])
out = lambda: print("OUT")

def tcp(host, port):
    try:
        socket.create_connection((host, port), 2).sendall(b"x")
    except OSError:
        return
    out()

def udp(host, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.sendto(b"x", (host, port))
        except OSError:
            return
        if not host.startswith("127."):  # what is sent there stays inside
            out()

def broadcast(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.sendto(b"x", ("255.255.255.255", port))
        out()

def unix(path):
    socket.socket(socket.AF_UNIX).connect(path); out()

def vsock(port):
    s = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
    s.settimeout(2)
    s.connect((2, port))
    out()

def talk(said, good):
    s = socket.create_connection(("127.0.0.1", 3128), 2)
    s.sendall(said)
    if s.recv(99).startswith(good):
        out()

def connect(where):
    talk(f"CONNECT {where} HTTP/1.1\\r\\nHost: {where}\\r\\n\\r\\n".encode(), b"HTTP/1.1 2")

def plain(url):
    talk(f"GET {url} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode(), b"HTTP/1.1 2")

def unshare(flag):
    if ctypes.CDLL(None).unshare(flag) == 0:
        out()

def join():
    own = os.readlink("/proc/self/ns/net")
    for path in glob.glob("/proc/[0-9]*/ns/net"):
        try:
            if os.readlink(path) != own and ctypes.CDLL(None).setns(os.open(path, 0), 0) == 0:
                out()
        except OSError:
            pass
"""


@EVERYWHERE
async def test_no_way_but_the_one(play, policy, sinks, origin, sink):
    """All in one episode; each in a process of its own, as one attempt must not hinder another."""
    episode = await play(policy(), max_steps=100)
    for name, attempt in ATTEMPTS.items():
        script = f"{TOOLS}\n{attempt}\n"
        command = f"timeout 30 python3 - {sinks.host} {sinks.port} <<'E'\n{script}E"
        told = await said(episode, bash(command))
        assert "OUT" not in told.split(), name
        assert "SyntaxError" not in told, name
        assert "NameError" not in told, name
    assert "200 hello" in await said(episode, get(address(origin)))  # the one way is still there
    assert sinks.came == []
    assert sink.accepted == 0
    assert origin.accepted == 1


def test_the_sinks_do_notice(sinks):
    """Else nothing above says anything."""
    for where in (("127.0.0.1", sinks.port), (sinks.host, sinks.port)):
        socket.create_connection(where, 5).close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", sinks.port))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"\0codegym-test-{sinks.port}")
    for _ in range(100):
        if len(sinks.came) >= 4:
            break
        threading.Event().wait(0.05)
    assert set(sinks.came) >= {"tcp", "udp", "abstract"}


@EVERYWHERE
async def test_nothing_of_the_proxy_is_to_be_read_inside(play, policy, tmp_path, the_proxy):
    episode = await play(policy(), log=tmp_path / "log.jsonl")
    way = episode._way
    key = the_proxy._added[way._name]["key"]
    (line,) = [line for line in key.splitlines() if len(line) > 60][:1]
    look = f"grep -rlF '{line}' / --exclude-dir=proc --exclude-dir=sys 2>/dev/null; echo done"
    assert await said(episode, bash(look)) == "done\n"
    for path in (way.socket, way.log, the_proxy.folder / "control.sock"):
        assert "No such file" in await said(episode, bash(f"ls {path}"))
        assert path.exists()
    assert "BEGIN CERTIFICATE" in (found := await said(episode, bash("cat /run/egress/ca.pem")))
    assert "PRIVATE" not in found
    sockets = await said(episode, bash("find / -type s 2>/dev/null; cat /proc/net/unix | wc -l"))
    assert sockets == "1\n"  # the heading
    assert "Read-only" in await said(episode, bash("echo x >> /run/egress/ca.pem"))


async def test_once_closed_there_is_no_way_for_what_still_runs(play, policy, origin):
    """A process that outlives its shell, and one of a sandbox that was stopped."""
    episode = await play(policy())
    box = episode._box
    loop = (
        'while :; do python3 -c \'__import__("urllib.request").request.urlopen'
        f'("{address(origin)}", timeout=1)\' 2>/dev/null; done'
    )
    await box.shell(f"({loop}) &")
    way = episode._way
    await episode.close()
    accepted = origin.accepted
    assert not way.socket.exists()
    threading.Event().wait(1.0)
    assert origin.accepted == accepted
