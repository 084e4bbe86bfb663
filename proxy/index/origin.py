"""An index as mitmproxy's origin: HTTP over a pair of sockets, within this process.

Like any origin it is read as fast as the client reads, so a file is never in memory as a whole.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..guard import Serve

_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered: a status line's end, a media type, and a text or a file."""

    status: str
    media: str = "text/plain; charset=utf-8"
    text: bytes = b""
    file: Path | None = None


class Answers(Protocol):
    """Who knows the answers."""

    async def answer(self, path: str, accept: str) -> Answer:
        """The answer to a path, in a form that the client accepts.

        Raises:
            ConnectionError: There is none; mitmproxy says so to the client.
        """

    def close(self) -> None:
        """End all that is under way; idempotent."""


class Origin:
    """Serves answers at ``address``, which only connections within this process can have.

    Args:
        answers: Who knows them.
        inner: The event loop's origins within this process.
    """

    def __init__(self, answers: Answers, inner: dict[str, Serve]) -> None:
        self._answers, self._inner = answers, inner
        self._serving: set[asyncio.Task[None]] = set()
        #: No name that a policy, a client or a resolver could have.
        self.address = f"index {id(self):x}", 1
        inner[self.address[0]] = self._connect

    def close(self) -> None:
        """End its connections, and all that is under way; idempotent."""
        self._inner.pop(self.address[0], None)
        for task in self._serving:
            task.cancel()
        self._answers.close()

    def _connect(self, ours: socket.socket) -> None:
        """Serve whoever has the other end."""
        task = asyncio.get_running_loop().create_task(self._serve(ours))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, ours: socket.socket) -> None:
        """Answer one request after the other; mitmproxy has made sure that they are requests."""
        reader, writer = await asyncio.open_connection(sock=ours)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._converse(head.decode("latin-1"), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.transport.abort()

    async def _converse(self, head: str, writer: asyncio.StreamWriter) -> None:
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ")
        accepts = [line.partition(":")[2] for line in lines if line.lower().startswith("accept:")]
        answer = await self._answers.answer(target.partition("?")[0], ",".join(accepts))
        size = answer.file.stat().st_size if answer.file else len(answer.text)
        writer.write(
            f"HTTP/1.1 {answer.status}\r\nContent-Type: {answer.media}\r\n"
            f"Content-Length: {size}\r\nCache-Control: no-store\r\n\r\n".encode()
        )
        if method != "HEAD":
            await _send(answer, writer)
        await writer.drain()


async def _send(answer: Answer, writer: asyncio.StreamWriter) -> None:
    writer.write(answer.text)
    if answer.file:
        with answer.file.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                writer.write(chunk)
                await writer.drain()
