"""Asks the upstream index: a GET over TLS, to a public address, whose answer goes to a file.

Not by mitmproxy's own connections to origins: an answer may need requests to more than one host,
and has to be on the disk as a whole before anything of it may pass.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urlsplit

import certifi
import h11

_CHUNK_BYTES = 1 << 16
_SILENT_SEC = 60.0
_WHOLE_SEC = 1800.0


class UpstreamError(Exception):
    """The upstream index, or its host of files, did not answer."""


class UnfitError(UpstreamError):
    """It did, but with what cannot be used, or with more than the episode may have."""


@dataclass(frozen=True, slots=True)
class Client:
    """Fetches addresses.

    Attributes:
        tls: How origins are verified.
    """

    tls: ssl.SSLContext

    @classmethod
    def trusting(cls, upstream_ca: str | None) -> Client:
        """A client that trusts a PEM file of authorities; None for those that mitmproxy trusts."""
        context = ssl.create_default_context(cafile=upstream_ca or certifi.where())
        context.set_alpn_protocols(["http/1.1"])
        return cls(context)

    async def fetch(self, url: str, headers: Mapping[str, str], sink: IO[bytes], limit: int) -> int:
        """Write the answer's body to ``sink``; redirects are not followed.

        Args:
            url: An ``https`` address that was checked.
            headers: What is said besides what every request says.
            sink: Where the body of an answer of 200 is written.
            limit: Bytes that the body may have.

        Returns:
            The answer's status.

        Raises:
            UpstreamError: There was no whole answer, or it cannot be used.
        """
        try:
            async with asyncio.timeout(_WHOLE_SEC):
                return await self._fetch(url, headers, sink, limit)
        except (OSError, EOFError, h11.ProtocolError) as error:
            why = "no answer in time" if isinstance(error, TimeoutError) else str(error)
            raise UpstreamError(f"{urlsplit(url).hostname}: {why}") from error

    async def _fetch(
        self, url: str, headers: Mapping[str, str], sink: IO[bytes], limit: int
    ) -> int:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 443
        async with asyncio.timeout(_SILENT_SEC):
            reader, writer = await asyncio.open_connection(
                host, port, ssl=self.tls, server_hostname=host
            )
        try:
            connection = h11.Connection(h11.CLIENT)
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            said = {"Host": parts.netloc, "Accept-Encoding": "identity", "Connection": "close"}
            said |= {"User-Agent": "codegym-proxy"} | dict(headers)
            asked = h11.Request(method="GET", target=target, headers=list(said.items()))
            writer.write(
                (connection.send(asked) or b"") + (connection.send(h11.EndOfMessage()) or b"")
            )
            return await _received(connection, reader, sink, limit)
        finally:
            writer.transport.abort()


async def _received(
    connection: h11.Connection, reader: asyncio.StreamReader, sink: IO[bytes], limit: int
) -> int:
    status = size = 0
    async for event in _events(connection, reader):
        if isinstance(event, h11.Response):
            status = event.status_code
            encoded = [value for name, value in event.headers if name == b"content-encoding"]
            if status != 200:
                return status
            if encoded not in ([], [b"identity"]):
                raise UnfitError("the answer is compressed, although that was not asked for")
        elif isinstance(event, h11.Data):
            size += len(event.data)
            if size > limit:
                raise UnfitError(f"the answer has more than {limit} bytes")
            sink.write(event.data)
    return status


async def _events(
    connection: h11.Connection, reader: asyncio.StreamReader
) -> AsyncIterator[h11.Event]:
    while True:
        event: Any = connection.next_event()
        if event is h11.NEED_DATA:
            async with asyncio.timeout(_SILENT_SEC):
                connection.receive_data(await reader.read(_CHUNK_BYTES))
            continue
        if isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
            return
        yield event
