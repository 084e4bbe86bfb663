"""Who is let in, and what becomes of those who are not."""

import asyncio
import hmac
import struct

import pytest
from serving import TOKEN, serving

from codegym.errors import UnavailableError, UsageError
from codegym.sandbox.remote import Remote, wire
from codegym.sandbox.remote.address import parse
from codegym.sandbox.remote.dialing import Server


async def dialled(address, token=TOKEN):
    return (await Server(address, token.encode()).dial()).wire


async def refused(address, token=TOKEN):
    with pytest.raises(UnavailableError) as told:
        (await dialled(address, token)).close()
    assert token not in f"{told.value}"
    return f"{told.value}"


async def raw(server):
    return await asyncio.open_connection(server.address.host, server.address.port)


async def is_served(server, spec):
    client = server.client()
    async with await client.start(spec) as box:
        assert (await box.shell("echo ok")).output == b"ok\n"
    await client.close()


async def test_a_wrong_token_is_refused_and_never_shown(server, spec):
    assert "CODEGYM_TOKEN" in await refused(server.address, "another token altogether")
    assert any("does not know the token" in line for line in server.said)
    await is_served(server, spec)


def test_without_a_token_it_is_said_what_to_set(monkeypatch, tmp_path):
    monkeypatch.delenv("CODEGYM_TOKEN")
    with pytest.raises(UsageError, match="CODEGYM_TOKEN_FILE"):
        Remote("http://127.0.0.1:9")
    (tmp_path / "token").write_text("short\n")
    monkeypatch.setenv("CODEGYM_TOKEN_FILE", str(tmp_path / "token"))
    with pytest.raises(UsageError, match="at least 16") as told:
        Remote("http://127.0.0.1:9")
    assert "short\n" not in f"{told.value}"
    (tmp_path / "token").write_text(f" {TOKEN}\n")
    assert Remote("http://127.0.0.1:9")._server.token == TOKEN.encode()
    assert TOKEN not in repr(Remote("http://127.0.0.1:9")._server)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (f"http://{TOKEN.replace(' ', '')}@127.0.0.1:9", "no place in a URL"),
        ("http://127.0.0.1:9?token=abcdefghijklmnop", "no place in a URL"),
        ("http://box.example:9", "only https"),
        ("http://10.0.0.1:9", "only https"),
        ("http://127.0.0.1", "is not the address"),
        ("127.0.0.1:9", "is not the address"),
        ("https://box.example:99999", "is not the address"),
        ("https://box.example:9/path", "is not the address"),
    ],
)
def test_an_address_that_cannot_be_used_says_why(url, told):
    with pytest.raises(UsageError, match=told) as error:
        Remote(url)
    assert "abcdefgh" not in f"{error.value}"
    assert TOKEN.replace(" ", "") not in f"{error.value}"


async def test_nothing_there_says_how_to_start_it():
    assert "codegym serve sandbox" in await refused(parse("http://127.0.0.1:9"))


async def test_nothing_is_parsed_before_the_token_was_shown(server, spec, monkeypatch):
    monkeypatch.setattr("codegym.server.session.decode", lambda *_: pytest.fail("it was parsed"))
    reader, writer = await raw(server)
    writer.write(b"GET / HTTP/1.1\r\n" * 100)
    assert await reader.read() == b""
    writer.close()
    reader, writer = await raw(server)
    writer.write(struct.pack(">14sH", b"codegym-remote", wire.VERSION) + b"{}" * 5000)
    assert len(await reader.read()) == 48 + 33  # its challenge and its verdict
    writer.close()
    monkeypatch.undo()
    monkeypatch.setenv("CODEGYM_TOKEN", TOKEN)
    await is_served(server, spec)


async def test_another_version_is_refused_by_the_server(server):
    reader, writer = await raw(server)
    writer.write(struct.pack(">14sH", b"codegym-remote", 99))
    *_, theirs = struct.unpack(">14sH32s", await reader.readexactly(48))
    proof = hmac.digest(TOKEN.encode(), b"client" + theirs + bytes(32), "sha256")
    writer.write(bytes(32) + proof)
    assert (await reader.read())[0] == wire.Verdict.WRONG_VERSION
    writer.close()


class Impostor:
    """Listens where a server should: says a version, and whatever verdict."""

    def __init__(self, version, verdict):
        self.version, self.verdict, self.heard = version, verdict, b""

    async def serve(self, reader, writer):
        writer.write(struct.pack(">14sH32s", b"codegym-remote", self.version, bytes(32)))
        self.heard = await reader.readexactly(80)
        writer.write(bytes([self.verdict]) + bytes(32))
        await writer.drain()
        writer.close()


@pytest.mark.parametrize(
    ("version", "verdict", "told"),
    [
        (9, wire.Verdict.WRONG_VERSION, "speaks version 9"),
        (9, wire.Verdict.WRONG_TOKEN, "another token"),
        (wire.VERSION, wire.Verdict.WELCOME, "does not know the token itself"),
        (wire.VERSION, wire.Verdict.FULL, "as many clients"),
        (wire.VERSION, 77, "what no server does"),
    ],
)
async def test_what_a_server_answers_is_told_and_an_impostor_learns_nothing(version, verdict, told):
    impostor = Impostor(version, verdict)
    listener = await asyncio.start_server(impostor.serve, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        assert told in await refused(parse(f"http://127.0.0.1:{port}"))
    assert TOKEN.encode() not in impostor.heard


async def test_what_is_no_server_at_all_is_told():
    async def serve(reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n" + b"x" * 100)
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        assert "no sandbox server" in await refused(parse(f"http://127.0.0.1:{port}"))


async def test_who_says_nothing_is_sent_away_and_holds_up_nobody(server, spec, monkeypatch):
    monkeypatch.setattr("codegym.server.listening._HANDSHAKE_SEC", 0.5)
    silent = [await raw(server) for _ in range(20)]
    await is_served(server, spec)
    for reader, writer in silent:
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "box.example"])
async def test_it_does_not_listen_to_others_without_a_certificate(local, host):
    with pytest.raises(UsageError, match="--cert"):
        async with serving(local, host=host):
            pytest.fail("it listens")


async def test_an_address_that_is_taken_is_told(local, server):
    with pytest.raises(UnavailableError, match="cannot listen on 127"):
        async with serving(local, port=server.address.port):
            pytest.fail("it listens")
