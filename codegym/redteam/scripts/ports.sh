python3 - "$@" <<'END_OF_SCRIPT'
import socket, sys
places = [("127.0.0.1", port) for port in range(1, 65536)] + [("::1", p) for p in range(1, 10000)]
for host, port in places:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as talk:
        talk.settimeout(0.3)
        try:
            talk.connect((host, port))
            talk.sendall(b"GET / HTTP/1.0\r\n\r\n")
            sys.stdout.buffer.write(b"%d: " % port + talk.recv(1 << 16))
        except OSError:
            continue
END_OF_SCRIPT
