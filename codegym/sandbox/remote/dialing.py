"""Reaching a server: what can go wrong, and how to mend it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass, field

from codegym.errors import UnavailableError
from codegym.sandbox.remote.address import CA, TOKEN, TOKEN_FILE, Address, trust
from codegym.sandbox.remote.wire import (
    VERSION,
    Verdict,
    Wire,
    WireError,
    introduce,
    notice_loss,
)

_CONNECT_SEC = 15.0
#: What OpenSSL calls an answer that is not TLS at all.
_NO_TLS = frozenset(
    {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING"}
)


@dataclass(frozen=True, slots=True)
class Connection:
    """Frames, and the socket below them; a forked child closes its copy of that."""

    wire: Wire
    socket: socket.socket


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is, and its token."""

    address: Address
    token: bytes = field(repr=False)

    async def dial(self) -> Connection:
        """A connection that is past the handshake. Raises ``UnavailableError``."""
        where, secure = (self.address.host, self.address.port), trust(self.address)
        try:
            opened = await asyncio.to_thread(socket.create_connection, where, _CONNECT_SEC)
            async with asyncio.timeout(_CONNECT_SEC):
                return Connection(await self._greet(opened, secure), opened)
        except ssl.SSLCertVerificationError as error:
            raise UnavailableError(
                f"the certificate of {self.address} is not to be trusted: {error.verify_message}",
                f"Where a CA of your own signed it, set {CA} to that CA's certificate (PEM)",
            ) from error
        except (WireError, ssl.SSLError) as error:
            raise UnavailableError(
                f"{self.address} cannot be talked with: {error}",
                "Check the port, and whether it is http or https",
            ) from error
        except (OSError, TimeoutError) as error:
            raise UnavailableError(
                f"no sandbox server answers at {self.address}: {f'{error}' or 'it is silent'}",
                "Start it on that machine: `codegym serve sandbox`",
            ) from error

    async def _greet(self, opened: socket.socket, secure: ssl.SSLContext | None) -> Wire:
        notice_loss(opened)
        name = self.address.host if secure else None
        try:
            reader, writer = await asyncio.open_connection(
                sock=opened, ssl=secure, server_hostname=name
            )
        except (OSError, EOFError) as error:
            if not secure or not _is_no_tls(error):
                raise
            raise UnavailableError(
                f"what listens at {self.address} does not speak TLS",
                "Start the server with --cert and --key, or use http:// (on this machine only, as "
                "through an SSH tunnel)",
            ) from error
        try:
            self._check(*await introduce(reader, writer, self.token))
        except BaseException:
            writer.transport.abort()
            raise
        return Wire(reader, writer)

    def _check(self, verdict: Verdict, version: int) -> None:
        if verdict is Verdict.WRONG_TOKEN:
            raise UnavailableError(
                f"the sandbox server at {self.address} knows another token",
                f"Set {TOKEN} or {TOKEN_FILE} to the one that it was started with, or printed",
            )
        if verdict is Verdict.WRONG_VERSION or version != VERSION:
            raise UnavailableError(
                f"the sandbox server at {self.address} speaks version {version} of the protocol, "
                f"this CodeGym version {VERSION}",
                "Install the same CodeGym on both machines",
            )
        if verdict is Verdict.FULL:
            raise UnavailableError(
                f"the sandbox server at {self.address} has as many clients as it takes",
                "End some of them, or start another server",
            )


def _is_no_tls(error: OSError | EOFError) -> bool:
    """Whether a handshake ended since the other side knows none; it may have just hung up."""
    if isinstance(error, ssl.SSLError):
        return error.reason in _NO_TLS
    return isinstance(error, ConnectionError | EOFError)
