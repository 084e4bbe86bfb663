"""Every known way around an allowlist, against a live proxy: nobody is ever connected to."""

import random
import socket
import ssl

import pytest

pytestmark = pytest.mark.network  # mitmproxy comes from the package index, on first use

ORIGIN, SINK = "origin.test.example", "sink.test.example"
HELLO = b"hello from the origin"
NOTHING = 'summary = "Nothing"'
#: Where frameworks and servers in front of others look for what a request is.
OVERRIDES = [
    "X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override", "X-Method-Override", "X-Host",
    "X-Forwarded-Host", "X-Forwarded-Prefix", "X-HTTP-Host-Override", "Forwarded", "Proxy",
]  # fmt: skip


# What is meant to pass -------------------------------------------------------------------------


def test_an_allowed_request_passes_and_is_in_the_log(way, wait_until):
    answer = way.ask("GET /a?b=c HTTP/1.1")
    assert answer.endswith(HELLO)
    assert way.origin.asked == [("GET", "/a?b=c", f"{ORIGIN}:{way.origin.port}")]
    wait_until(lambda: len(way.records()) == 3, "the end in the log")
    events = [(r["event"], r["allowed"], r["rule"]) for r in way.records()]
    assert events == [(each, True, "origin") for each in ("connect", "request", "end")]
    assert way.records()[1]["target"] == "/a?b=c"
    assert (way.records()[2]["status"], way.records()[2]["bytes"]) == (200, len(HELLO))


def test_http2_passes(way):
    assert way.http2(f"{ORIGIN}:{way.origin.port}") == HELLO
    assert way.sink.accepted == 0


def test_the_sink_could_be_reached_if_a_policy_allowed_it(opened, proxy, policy_text):
    """Else none of the tests below could fail."""
    way = opened(proxy, policy_text.replace(ORIGIN, SINK))
    tls = way.tls(SINK, host=SINK, port=way.sink.port)
    assert way.ask(host=f"{SINK}:{way.sink.port}", tls=tls).endswith(HELLO)
    assert way.sink.accepted == 1


def test_a_request_of_another_method_passes_where_the_policy_says_so(opened, proxy, policy_text):
    way = opened(proxy, policy_text + 'methods = ["POST"]\n')
    asked = way.ask("POST /post HTTP/1.1", headers="Content-Length: 4\r\n", body=b"data")
    assert asked.endswith(b"data")
    assert way.ask().startswith(b"HTTP/1.1 403")


def test_connections_are_kept_alive_on_both_sides(way):
    tls = way.tls()
    assert [way.ask(tls=tls)[-21:] for _ in range(3)] == [HELLO] * 3
    assert way.origin.accepted == 1


def test_a_name_may_be_written_in_other_ways_as_long_as_it_is_the_same(way):
    tls = way.tls(host=f"{ORIGIN.title()}.")
    assert way.ask(host=f"{ORIGIN.upper()}:{way.origin.port}", tls=tls).endswith(HELLO)


def test_what_is_about_the_connection_to_the_proxy_ends_there(way):
    ends = "Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nTE: gzip\r\n"
    ends += "Keep-Alive: 300\r\nConnection: TE, keep-alive, Proxy-Connection\r\n"
    assert way.ask(headers=ends + "X-A: b\r\n").endswith(HELLO)
    (got,) = ({name.lower(): value for name, value in head.items()} for head in way.origin.heads)
    assert got == {"host": got["host"], "x-a": "b", "connection": "keep-alive"}


def test_a_client_that_sends_byte_by_byte_is_answered(way):
    client = way.connect()
    for byte in f"CONNECT {ORIGIN}:{way.origin.port} HTTP/1.1\r\n\r\n".encode():
        client.sendall(bytes([byte]))
    assert client.recv(12) == b"HTTP/1.1 200"


# What is not -----------------------------------------------------------------------------------


def other_host(way):
    assert way.tunnel(SINK, way.sink.port)[0] == 403


def sni_is_not_connect(way):
    with pytest.raises((ssl.SSLError, OSError)):
        way.tls(SINK)


def no_sni(way):
    with pytest.raises((ssl.SSLError, OSError)):
        way.tls(None)


def host_is_not_connect(way):
    assert way.ask(host=f"{SINK}:{way.sink.port}").startswith(b"HTTP/1.1 403")


def host_of_another_port(way):
    assert way.ask(host=f"{ORIGIN}:{way.sink.port}").startswith(b"HTTP/1.1 403")


def two_hosts(way):
    answer = way.ask(headers=f"Host: {SINK}\r\n")
    assert answer[9:12] in (b"403", b"400")


def no_host(way):
    assert way.ask(host="")[9:12] in (b"403", b"400")


def folded_host(way):
    answer = way.ask(host=f"{ORIGIN}:{way.origin.port}\r\n , {SINK}")
    assert answer[9:12] in (b"403", b"400")


def absolute_target_of_another_host(way):
    answer = way.ask(f"GET https://{SINK}:{way.sink.port}/ HTTP/1.1")
    assert answer[9:12] in (b"403", b"400")


def absolute_target(way):
    for scheme in ("https", "http", "HTTPS", "ftp"):
        answer = way.ask(f"GET {scheme}://{ORIGIN}:{way.origin.port}/ HTTP/1.1")
        assert answer[9:12] in (b"403", b"400"), scheme
    assert any("absolute" in reason for reason in way.denials())


def method_in_other_letters(way):
    for method in ("get", "Get", "gET", "head", "trace", "connect"):
        assert way.ask(f"{method} / HTTP/1.1")[9:12] in (b"403", b"400"), method
    for method in ("get", "Get", "connect", "GET ", ""):
        said = way.http2(f"{ORIGIN}:{way.origin.port}", method=method)
        assert HELLO not in said, method
    assert any("not the method 'get'" in reason for reason in way.denials())


def headers_that_say_another_path_method_or_host(way):
    for name in OVERRIDES:
        for written in (name, name.upper(), name.replace("-", "_")):
            answer = way.ask(headers=f"{written}: /other\r\n")
            assert answer.startswith(b"HTTP/1.1 403"), written
        said = way.http2(f"{ORIGIN}:{way.origin.port}", [(name.lower(), "x")])
        assert b"denied" in said, name


def connection_takes_headers_away(way):
    for option in ("Host", "close, host", "Authorization", "x-a", "keep-alive,\tCookie"):
        answer = way.ask(headers=f"Connection: {option}\r\n")
        assert answer.startswith(b"HTTP/1.1 403"), option
    two = "Connection: close\r\nConnection: Host\r\n"
    assert way.ask(headers=two).startswith(b"HTTP/1.1 403")


def connect_to_an_address(way):
    for host in ("127.0.0.1", "2130706433", "0x7f.1", "127.1", "0177.0.0.1", "[::1]", "localhost"):
        assert way.tunnel(host, way.sink.port)[0] in (0, 400, 403), host


def odd_names(way):
    for between in ("%00.", "@", "#.", "\\.", "/"):
        host = f"{SINK}{between}{ORIGIN}"
        assert way.tunnel(host, way.sink.port)[0] in (0, 400, 403), host


def connect_to_an_address_that_says_an_allowed_host(way):
    status, _ = way.tunnel("127.0.0.1", way.sink.port, headers=f"Host: {ORIGIN}\r\n")
    assert status in (400, 403)


def another_port(way):
    assert way.tunnel(ORIGIN, 22)[0] == 403


def post(way):
    answer = way.ask("POST /post HTTP/1.1", headers="Content-Length: 4\r\n", body=b"data")
    assert answer.startswith(b"HTTP/1.1 403")


def post_of_a_large_body(way):
    head = "POST /post HTTP/1.1"
    assert way.ask(head, headers="Transfer-Encoding: chunked\r\n", body=b"1\r\nx\r\n") == b""


def get_with_a_body(way):
    answer = way.ask(headers="Content-Length: 4\r\n", body=b"data")
    assert answer.startswith(b"HTTP/1.1 403")


def length_and_chunks(way):
    headers = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"
    assert way.ask(headers=headers, body=b"0\r\n\r\n")[9:12] in (b"", b"400", b"403")


def ssh_in_the_tunnel(way):
    _, client = way.tunnel()
    client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    assert gone(client)


def plain_http_in_the_tunnel(way):
    _, client = way.tunnel()
    client.sendall(f"GET / HTTP/1.1\r\nHost: {ORIGIN}:{way.origin.port}\r\n\r\n".encode())
    assert gone(client)


def tunnel_in_the_tunnel(way):
    answer = way.ask(f"CONNECT {SINK}:{way.sink.port} HTTP/1.1")
    assert answer[9:12] in (b"", b"400", b"403")
    # mitmproxy refuses it by itself, before we are asked; the tunnel is in the log.
    assert way.ask("CONNECT / HTTP/1.1")[9:12] in (b"", b"400", b"403")
    other_host(way)


def plain_http(way):
    client = way.connect()
    client.sendall(f"GET http://{SINK}:{way.sink.port}/ HTTP/1.1\r\nHost: {SINK}\r\n\r\n".encode())
    assert read(client).startswith(b"HTTP/1.1 403")


def plain_http_to_the_allowed_host(way):
    client, there = way.connect(), f"{ORIGIN}:{way.origin.port}"
    client.sendall(f"GET http://{there}/ HTTP/1.1\r\nHost: {there}\r\n\r\n".encode())
    assert read(client).startswith(b"HTTP/1.1 403")


def websocket(way):
    headers = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    answer = way.ask(headers=headers + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
    assert answer.startswith(b"HTTP/1.1 403")


def http2_by_upgrade(way):
    headers = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    assert way.ask(headers=headers).startswith(b"HTTP/1.1 403")


def http2_authority_of_another_host(way):
    assert b"denied" in way.http2(f"{SINK}:{way.sink.port}")


def http2_host_is_not_authority(way):
    more = [("host", f"{SINK}:{way.sink.port}")]
    said = way.http2(f"{ORIGIN}:{way.origin.port}", more)
    assert HELLO not in said


def http2_body_on_a_get(way):
    said = way.http2(f"{ORIGIN}:{way.origin.port}", body=b"secret")
    assert b"denied" in said


def http2_requests_within_a_path_or_a_header(way):
    there = f"{ORIGIN}:{way.origin.port}"
    split = f"/ HTTP/1.1\r\nHost: {there}\r\n\r\nGET /b"
    for fields in ({"path": split}, {"more": [("x", split)]}, {"more": [("x\r\ny", "z")]}):
        assert HELLO not in way.http2(there, **fields)


def http2_chunks(way):
    there = f"{ORIGIN}:{way.origin.port}"
    said = way.http2(there, [("transfer-encoding", "chunked")])
    assert HELLO not in said


def two_lengths(way):
    assert way.ask(headers="Content-Length: 0\r\nContent-Length: 0\r\n")[9:12] in (b"400", b"403")


def traversal(way):
    for path in ("/../etc", "/%2e%2e/a", "/a//b", "/%252e", "/a%00", "/a%5c..%5cb", "/..;/a"):
        assert way.ask(f"GET {path} HTTP/1.1").startswith(b"HTTP/1.1 403"), path


def odd_escapes(way):
    for path in ("/%c0%ae%c0%ae/s", "/%c0%af", "/%ff", "/%ed%a0%80", "/%c3/%a9", "/%33/x", "/%41"):
        assert way.ask(f"GET {path} HTTP/1.1").startswith(b"HTTP/1.1 403"), path
        assert b"denied" in way.http2(f"{ORIGIN}:{way.origin.port}", path=path), path


def long_query(way):
    assert way.ask(f"GET /?{'x' * 300} HTTP/1.1").startswith(b"HTTP/1.1 403")


def large_header(way):
    assert way.ask(headers=f"X: {'x' * 9000}\r\n").startswith(b"HTTP/1.1 403")


BYPASSES = [
    other_host, sni_is_not_connect, no_sni, host_is_not_connect, host_of_another_port, two_hosts,
    no_host, folded_host, absolute_target_of_another_host, connect_to_an_address, odd_names,
    connect_to_an_address_that_says_an_allowed_host, another_port, post, post_of_a_large_body,
    get_with_a_body, length_and_chunks, ssh_in_the_tunnel, plain_http_in_the_tunnel,
    tunnel_in_the_tunnel, plain_http, plain_http_to_the_allowed_host, websocket, http2_by_upgrade,
    http2_authority_of_another_host, http2_host_is_not_authority, http2_body_on_a_get,
    http2_requests_within_a_path_or_a_header, http2_chunks, two_lengths, traversal,
    long_query, large_header, absolute_target, method_in_other_letters, odd_escapes,
    headers_that_say_another_path_method_or_host, connection_takes_headers_away,
]  # fmt: skip


@pytest.mark.parametrize("bypass", BYPASSES, ids=lambda each: each.__name__)
def test_nobody_is_connected_to_and_the_attempt_is_in_the_log(way, bypass, wait_until):
    bypass(way)
    assert (way.sink.accepted, way.origin.accepted) == (0, 0)
    way.hang_up()
    wait_until(way.denials, "the attempt in the log")


def test_a_second_request_to_another_host_in_a_good_connection(way):
    tls = way.tls()
    assert way.ask(tls=tls).endswith(HELLO)
    assert way.ask(host=f"{SINK}:{way.sink.port}", tls=tls).startswith(b"HTTP/1.1 403")
    assert (way.origin.accepted, way.sink.accepted) == (1, 0)
    assert len(way.origin.asked) == 1
    assert any(SINK in reason for reason in way.denials())


def test_a_second_request_in_the_same_write_is_judged_by_itself(way):
    tls, there = way.tls(), f"{ORIGIN}:{way.origin.port}"
    second = f"GET /second HTTP/1.1\r\nHost: {SINK}:{way.sink.port}\r\n\r\n".encode()
    assert way.ask(tls=tls, body=second).endswith(HELLO)
    assert read(tls).startswith(b"HTTP/1.1 403")
    assert way.origin.asked == [("GET", "/", there)]
    assert way.sink.accepted == 0


def test_noise_is_no_way_out_and_does_no_harm(way):
    chance = random.Random(7)
    starts = (b"", b"\x16\x03\x01", b"GET ", b"CONNECT ", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    for number in range(60):
        client = way.connect() if number % 2 else way.tunnel()[1]
        try:
            client.sendall(chance.choice(starts) + chance.randbytes(chance.randrange(200)))
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
        except OSError:
            continue
    assert (way.sink.accepted, way.origin.accepted) == (0, 0)
    assert way.ask().endswith(HELLO)


def test_a_redirect_is_handed_over_and_not_followed(way):
    answer = way.ask("GET /redirect HTTP/1.1")
    assert answer.startswith(b"HTTP/1.1 302")
    assert way.sink.accepted == 0


def test_an_origin_that_switches_protocols_is_cut_off(way):
    assert b"101" not in way.ask("GET /upgrade HTTP/1.1")
    assert "the origin switches protocols" in way.denials()


def test_a_name_that_resolves_to_a_private_address_is_refused(opened, proxy, servers):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port, name = server.getsockname()[1], "private.test.example"
        way = opened(proxy, f'[[allow]]\nname = "private"\nhosts = ["{name}"]\nports = [{port}]\n')
        answer = way.ask(host=f"{name}:{port}", tls=way.tls(name, host=name, port=port))
        assert answer.startswith(b"HTTP/1.1 502")
        with pytest.raises(TimeoutError):
            server.accept()
    (reason,) = way.reasons("upstream")
    assert "127.0.0.1 is not a public address" in reason
    assert f'private_addresses = ["127.0.0.1:{port}"] in .codegym/proxy.toml' in reason


def test_an_origin_with_anothers_certificate_is_not_believed(opened, proxy, servers, policy_text):
    way = opened(proxy, policy_text)  # the sink's port, by the origin's name
    tls = way.tls(port=way.sink.port)
    assert way.ask(host=f"{ORIGIN}:{way.sink.port}", tls=tls).startswith(b"HTTP/1.1 502")
    assert way.sink.asked == []


def test_the_policy_of_nothing_allows_nothing(opened, proxy):
    way = opened(proxy, NOTHING)
    assert way.tunnel()[0] == 403
    assert (way.sink.accepted, way.origin.accepted) == (0, 0)


def read(client) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and (more := client.recv(65536)):
        data += more
    return data


def gone(client) -> bool:
    try:
        return client.recv(100) == b""
    except ConnectionError:
        return True
