"""TLS: what is trusted, and what a wrong certificate is told as."""

import asyncio

import pytest
from server.test_listening import is_served, refused
from serving import certificates, serving

from codegym.errors import UsageError
from codegym.sandbox.remote.address import parse


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    return certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
async def secure(local, signed):
    async with serving(local, certificate=signed[1], key=signed[2]) as made:
        yield made


async def test_a_ca_of_ones_own_is_trusted_where_it_is_named(secure, signed, spec, monkeypatch):
    monkeypatch.setenv("CODEGYM_REMOTE_CA", str(signed[0]))
    await is_served(secure, spec)


async def test_and_not_where_it_is_not(secure, monkeypatch):
    assert "CODEGYM_REMOTE_CA" in await refused(secure.address)
    monkeypatch.setenv("CODEGYM_REMOTE_CA", "/nowhere")
    assert "cannot be read" in await refused(secure.address)


async def test_a_certificate_of_another_host_is_refused(local, tmp_path, monkeypatch):
    ca, certificate, key = certificates(tmp_path, "DNS:other.example")
    monkeypatch.setenv("CODEGYM_REMOTE_CA", str(ca))
    async with serving(local, certificate=certificate, key=key) as other:
        assert "not valid for '127.0.0.1'" in await refused(other.address)


async def test_http_to_https_and_back_are_told(server, secure, signed, monkeypatch):
    monkeypatch.setenv("CODEGYM_REMOTE_CA", str(signed[0]))
    told = await refused(parse(f"https://127.0.0.1:{server.address.port}"))
    assert "does not speak TLS" in told
    assert "--cert" in told
    told = await refused(parse(f"http://127.0.0.1:{secure.address.port}"))
    assert "whether it is http or https" in told


async def test_a_web_server_without_tls_is_told(monkeypatch):
    async def answer(reader, writer):
        await reader.read(5)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as web:
        port = web.sockets[0].getsockname()[1]
        assert "does not speak TLS" in await refused(parse(f"https://127.0.0.1:{port}"))


async def test_half_a_certificate_is_refused(local, signed):
    for tls in ({"certificate": signed[1]}, {"key": signed[2]}):
        with pytest.raises(UsageError, match="belong together"):
            async with serving(local, **tls):
                pytest.fail("it listens")
    with pytest.raises(UsageError, match="--cert"):
        async with serving(local, certificate=signed[2], key=signed[2]):
            pytest.fail("it listens")
