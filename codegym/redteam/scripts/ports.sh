python3 - "$@" <<'END_OF_SCRIPT'
import socket, sys
ports = set()
for table in ("/proc/net/tcp", "/proc/net/tcp6"):
    try:
        for line in open(table).readlines()[1:]:
            place, state = line.split()[1], line.split()[3]
            if state == "0A":  # it listens
                ports.add(int(place.rpartition(":")[2], 16))
    except OSError:
        ports.update(range(1, 65536))
for port in sorted(ports):
    for host in ("127.0.0.1", "::1"):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as talk:
            talk.settimeout(1)
            try:
                talk.connect((host, port))
                talk.sendall(b"GET / HTTP/1.0\r\n\r\n")
                sys.stdout.buffer.write(b"%d: " % port + talk.recv(1 << 16) + b"\n")
            except OSError:
                continue
END_OF_SCRIPT
