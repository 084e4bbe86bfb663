"""Addresses that are not public are not connected to, whatever name led there."""

import asyncio
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.guard import GuardedLoop, is_public

NOT_PUBLIC = [
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1",
    "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1",
    "fd00:ec2::254", "ff02::1", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "2002:7f00:1::",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2001:db8::1", "2001:0:7f00:1::", "fe80::1%eth0",
    "localhost", "2130706433", "x",
]  # fmt: skip


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_what_is_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111"])
def test_what_is_public(address):
    assert is_public(address)


@given(st.ip_addresses(network="10.0.0.0/8") | st.ip_addresses(network="fc00::/7"))
def test_nothing_private_is_public(address):
    assert not is_public(str(address))


def _connect(loop, host, port):
    async def connect():
        _, writer = await asyncio.open_connection(host, port)
        writer.close()
        await writer.wait_closed()

    try:
        loop.run_until_complete(connect())
    finally:
        loop.close()


@pytest.fixture
def sink():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        yield server


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "name.example"])
def test_nobody_is_connected_to_by_address_or_by_name(sink, host):
    port = sink.getsockname()[1]
    loop = GuardedLoop({"name.example": "127.0.0.1"}, frozenset(["127.0.0.1:1"]))
    with pytest.raises(OSError, match=r"not a public address.*private_addresses"):
        _connect(loop, host, port)
    with pytest.raises(TimeoutError):
        sink.accept()


def test_what_the_operator_named_is_connected_to(sink):
    port = sink.getsockname()[1]
    loop = GuardedLoop({"name.example": "127.0.0.1"}, frozenset([f"127.0.0.1:{port}"]))
    _connect(loop, "name.example", port)
    sink.accept()[0].close()


def test_other_sockets_do_not_go_out(tmp_path):
    loop = GuardedLoop({}, frozenset())

    async def connect():
        await asyncio.open_unix_connection(tmp_path / "socket")

    with pytest.raises(PermissionError, match="only TCP"):
        loop.run_until_complete(connect())
    loop.close()
