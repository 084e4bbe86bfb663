"""What goes over a connection: a handshake, then frames; messages and egress channels are cut up.

The handshake comes first, in fields of fixed size, and nothing is parsed before it is done. Each
side proves to the other that it knows the token without saying it: whoever listens in the place of
a server that is down learns nothing, and cannot pretend to be it.

A frame is a kind, a number and at most ``PIECE`` bytes. A message is the frames of one number, the
last of kind ``END``; pieces of many messages may be mixed, so a large one holds nobody up.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import struct
from dataclasses import dataclass
from enum import IntEnum

#: Raise it when messages change their meaning.
VERSION = 1
PIECE = 1 << 16
MAX_MESSAGE = 256 << 20

_MAGIC = b"codegym-remote"
_NAME = struct.Struct(">14sH")  # both say it first
_CHALLENGE = struct.Struct(">32s")
_ANSWER = struct.Struct(">32s32s")
_VERDICT = struct.Struct(">B32s")
_FRAME = struct.Struct(">BII")
_SILENT_SEC, _PROBE_SEC, _PROBES, _UNACKNOWLEDGED_MS = 15, 5, 6, 60_000


class WireError(ConnectionError):
    """The other side is gone, or does not keep to the protocol: the connection is at its end."""


class ClosedError(WireError):
    """The other side ended the connection, or is out of reach."""


class Verdict(IntEnum):
    """What a server says to who connects."""

    WELCOME = 0
    WRONG_TOKEN = 1
    WRONG_VERSION = 2
    FULL = 3


class Kind(IntEnum):
    """What a frame is. A channel is one connection from inside a sandbox."""

    PART = 1  # of a message: from the client a request, from the server its reply
    END = 2  # the message's last
    CANCEL = 3  # nobody waits for the reply any more
    OPEN = 4  # a channel; the bytes say which way out it is
    DATA = 5  # of a channel, or of a layer that is sent
    EOF = 6  # no more of a channel in this direction
    MORE = 7  # so many bytes of a channel were taken
    CLOSE = 8  # a channel, at once


_KINDS = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame."""

    kind: Kind
    number: int
    data: bytes = b""


class Wire:
    """Frames over a pair of streams that are past the handshake."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._turn = asyncio.Lock()

    async def send(self, kind: Kind, number: int, data: bytes | memoryview = b"") -> None:
        """Send a frame, once the other side has taken what was sent. Raises ``WireError``."""
        async with self._turn:
            try:
                self._writer.write(_FRAME.pack(kind, number, len(data)) + data)
                await self._writer.drain()
            except OSError as error:
                raise ClosedError(str(error) or "the connection was closed") from error

    async def send_message(self, number: int, data: bytes) -> None:
        """Send a message, other frames between its pieces."""
        view = memoryview(data)
        while len(view) > PIECE:
            await self.send(Kind.PART, number, view[:PIECE])
            view = view[PIECE:]
        await self.send(Kind.END, number, view)

    async def receive(self) -> Frame:
        """The next frame. Raises ``WireError`` at the end, or where there is none."""
        try:
            kind, number, size = _FRAME.unpack(await self._reader.readexactly(_FRAME.size))
            if size > PIECE or kind not in _KINDS:
                raise WireError(f"a frame of kind {kind} and {size} bytes")
            data = await self._reader.readexactly(size) if size else b""
        except WireError:
            raise
        except (EOFError, OSError) as error:
            raise ClosedError("the connection was closed") from error
        return Frame(Kind(kind), number, data)

    async def discard(self) -> None:
        """Take what still comes, so that the other side hears what it was told last."""
        try:
            while await self._reader.read(PIECE):
                pass
        except OSError:
            return

    def close(self) -> None:
        """End the connection at once. Idempotent."""
        self._writer.transport.abort()


class Messages:
    """Puts pieces together; what is not complete yet is bounded."""

    def __init__(self) -> None:
        self._parts: dict[int, bytearray] = {}
        self._size = 0

    def add(self, frame: Frame) -> bytes | None:
        """Take a piece; return the message where that was its last. Raises ``WireError``."""
        self._size += len(frame.data)
        if self._size > MAX_MESSAGE:
            raise WireError("a message too large")
        if frame.kind is Kind.PART:
            self._parts.setdefault(frame.number, bytearray()).extend(frame.data)
            return None
        whole = bytes(self._parts.pop(frame.number, b"")) + frame.data
        self._size -= len(whole)
        return whole

    def drop(self, number: int) -> None:
        """Forget the pieces of a message that will have no end."""
        self._size -= len(self._parts.pop(number, b""))


async def welcome(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: bytes, *, full: bool
) -> bool:
    """The server's side of the handshake: whether the client may go on."""
    magic, version = _NAME.unpack(await reader.readexactly(_NAME.size))
    if magic != _MAGIC:
        return False  # nobody who would understand an answer
    own = secrets.token_bytes(32)
    writer.write(_NAME.pack(_MAGIC, VERSION) + _CHALLENGE.pack(own))
    theirs, proof = _ANSWER.unpack(await reader.readexactly(_ANSWER.size))
    known = hmac.compare_digest(proof, _proof(token, b"client", own, theirs))
    if version != VERSION:
        verdict = Verdict.WRONG_VERSION
    elif not known:
        verdict = Verdict.WRONG_TOKEN
    else:
        verdict = Verdict.FULL if full else Verdict.WELCOME
    good = verdict is Verdict.WELCOME
    writer.write(_VERDICT.pack(verdict, _proof(token, b"server", own, theirs) if good else b""))
    await writer.drain()
    return good


async def introduce(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: bytes
) -> tuple[Verdict, int]:
    """The client's side: what the server says, and its version.

    Raises:
        WireError: It is no such server, or does not know the token itself.
    """
    try:
        writer.write(_NAME.pack(_MAGIC, VERSION))
        magic, version = _NAME.unpack(await reader.readexactly(_NAME.size))
        if magic != _MAGIC:
            raise WireError("it is no sandbox server of CodeGym")
        (theirs,) = _CHALLENGE.unpack(await reader.readexactly(_CHALLENGE.size))
        own = secrets.token_bytes(32)
        writer.write(_ANSWER.pack(own, _proof(token, b"client", theirs, own)))
        said, shown = _VERDICT.unpack(await reader.readexactly(_VERDICT.size))
        verdict = Verdict(said)
    except EOFError as error:
        raise WireError("it is no sandbox server of CodeGym, or is about to end") from error
    except ValueError as error:
        raise WireError(f"it says what no server does: {error}") from error
    known = hmac.compare_digest(shown, _proof(token, b"server", theirs, own))
    if verdict is Verdict.WELCOME and not known:
        raise WireError("it does not know the token itself")
    return verdict, version


def _proof(token: bytes, who: bytes, server: bytes, client: bytes) -> bytes:
    return hmac.digest(token, who + server + client, "sha256")


def notice_loss(connection: socket.socket) -> None:
    """Have the kernel find out, within about a minute, that the other host is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _SILENT_SEC),
        ("TCP_KEEPINTVL", _PROBE_SEC),
        ("TCP_KEEPCNT", _PROBES),
        ("TCP_USER_TIMEOUT", _UNACKNOWLEDGED_MS),
    ):
        if option := getattr(socket, name, None):  # macOS, a client only, has not all of them
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
