"""Answers what an episode asks of an index: from its record, and once from upstream before that."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, TypeVar

from ..guard import Serve
from ..journal import Journal
from ..names import canonical_path
from ..rules import Limits, Rule, Verdict
from . import KINDS
from .client import Client, UpstreamError
from .kinds import Listing, Source, same_name
from .record import Kept, Record
from .scan import Scanner, UnsearchableError

#: Bytes of a project's document at the upstream index.
MAX_DOCUMENT_BYTES = 64 << 20
_MAX_FETCHES = 4
_CHUNK_BYTES = 1 << 16
_ABSENT = "not in this index\n"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dated:
    """What an episode's indexes are to hide.

    Attributes:
        cutoff: Files of this moment or later.
        denied: Projects, whatever way their names are written.
        markers: Strings that no file that is handed over may have in it.
        frozen: A record that is answered from instead of upstream, if any.
    """

    cutoff: datetime
    denied: frozenset[str] = frozenset()
    markers: tuple[str, ...] = ()
    frozen: Path | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    status: str
    media: str = "text/plain; charset=utf-8"
    text: bytes = b""
    file: Path | None = None


class Index:
    """One index of one episode, as mitmproxy's origin at ``address``.

    Args:
        rule: The rule that allows it.
        dated: What it hides.
        record: Where its answers are kept.
        journal: The episode's log.
        limits: The episode's.
        client: Asks upstream.
    """

    def __init__(
        self,
        rule: Rule,
        dated: Dated,
        record: Record,
        journal: Journal,
        limits: Limits,
        client: Client,
    ) -> None:
        self._rule, self._dated, self._record, self._client = rule, dated, record, client
        self._journal, self._limits = journal, limits
        self._kind = KINDS[rule.registry]
        port = rule.ports[0]
        self._origin = f"https://{rule.hosts[0]}" + ("" if port == 443 else f":{port}")
        self._scanner = Scanner(dated.markers)
        self._running: dict[str, asyncio.Task[Any]] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._fetches = asyncio.Semaphore(_MAX_FETCHES)
        self._inner: dict[str, Serve] = {}
        #: No name that a policy, a client or a resolver could have.
        self.address = f"index {id(self):x}", 1

    def open(self, inner: dict[str, Serve]) -> None:
        """Be there for connections within this process."""
        inner[self.address[0]], self._inner = self._connect, inner

    def _connect(self, ours: socket.socket) -> None:
        """Serve whoever has the other end."""
        task = asyncio.get_running_loop().create_task(self._serve(ours))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def close(self) -> None:
        """End all that is under way; idempotent."""
        self._inner.pop(self.address[0], None)
        for task in [*self._serving, *self._running.values()]:
            task.cancel()

    # What is spoken with mitmproxy, which has read the request before ------------------------

    async def _serve(self, ours: socket.socket) -> None:
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
        answer = await self.answer(target.partition("?")[0], ",".join(accepts))
        size = answer.file.stat().st_size if answer.file else len(answer.text)
        writer.write(
            f"HTTP/1.1 {answer.status}\r\nContent-Type: {answer.media}\r\n"
            f"Content-Length: {size}\r\nCache-Control: no-store\r\n\r\n".encode()
        )
        if method == "HEAD":
            return
        writer.write(answer.text)
        if answer.file:
            with answer.file.open("rb") as file:
                while chunk := file.read(_CHUNK_BYTES):
                    writer.write(chunk)
                    await writer.drain()
        await writer.drain()

    # What is answered -----------------------------------------------------------------------

    async def answer(self, path: str, accept: str) -> _Answer:
        """The answer to a request that the policy allows."""
        try:
            return await self._answer(path, accept)
        except (UpstreamError, OSError) as error:
            self._deny(path, f"upstream: {error}")
            return _Answer("502 Bad Gateway", text=b"the package index does not answer\n")

    async def _answer(self, path: str, accept: str) -> _Answer:
        ask = self._kind.ask(self._rule.root, canonical_path(path))
        if ask is None:
            return self._absent(path, "nothing that an index as of a date answers")
        if same_name(ask.project) in self._dated.denied:
            return self._absent(path, f"the project {ask.project!r} is denied")
        listing = await self._listing(ask.project)
        if listing is None:
            return self._absent(path, f"there is no project {ask.project!r}")
        if ask.what != "file":
            told = listing.answer(ask, accept, self._origin, self._rule.root)
            if told is None:
                return self._absent(path, f"{ask.project!r} had no version {ask.detail!r} then")
            return _Answer("200 OK", told[0], told[1].encode())
        source = listing.sources().get(ask.detail)
        if source is None:
            return self._absent(path, f"{ask.project!r} had no such file then")
        kept = await self._file(source)
        if kept.refused:
            return self._absent(path, kept.refused)
        return _Answer("200 OK", "application/octet-stream", file=kept.path)

    def _absent(self, path: str, why: str) -> _Answer:
        """What is denied looks just like what never was."""
        self._deny(path, why)
        return _Answer("404 Not Found", text=_ABSENT.encode())

    def _deny(self, path: str, why: str) -> None:
        self._journal.note("index", Verdict(False, self._rule.name, why), target=path)

    async def _listing(self, project: str) -> Listing | None:
        known, dumped = self._record.project(project)
        if not known:
            dumped = await self._once(f"project {project}", lambda: self._asked(project))
        return None if dumped is None else self._kind.load(dumped)

    async def _asked(self, project: str) -> dict[str, Any] | None:
        """Ask upstream for a project, for the first and last time in this episode."""
        url = self._origin + self._kind.address(self._rule.root, project)
        with self._record.spool() as spool:
            status = await self._fetched(url, self._kind.accept, spool, MAX_DOCUMENT_BYTES)
            if status == 200:
                dumped = await asyncio.to_thread(self._filtered, spool, project, url)
            elif status in (404, 410):
                dumped = None
            else:
                raise UpstreamError(f"{url} answers {status}")
        self._record.keep_project(project, dumped)
        return dumped

    def _filtered(self, spool: IO[bytes], project: str, url: str) -> dict[str, Any] | None:
        spool.seek(0)
        try:
            document = json.load(spool)
        except (ValueError, RecursionError) as error:
            raise UpstreamError(f"{url} answers with no JSON") from error
        listing = self._kind.listing(document, project, url, self._dated.cutoff)
        return listing.dump() if listing else None

    async def _file(self, source: Source) -> Kept:
        if kept := self._record.file(source.digest):
            return kept
        return await self._once(source.digest, lambda: self._downloaded(source))

    async def _downloaded(self, source: Source) -> Kept:
        """Fetch a file, and look through all of it before any of it may pass."""
        left = self._limits.max_download_bytes - self._record.bytes
        limit = min(self._limits.max_response_bytes, left)
        with self._record.spool() as spool:
            status = await self._fetched(source.url, "*/*", spool, limit)
            if status != 200:
                raise UpstreamError(f"{source.url} answers {status}")
            spool.flush()
            why = await asyncio.to_thread(self._wrong, Path(spool.name), source)
            if why:
                return self._record.refuse_file(source.digest, why)
            return self._record.keep_file(Path(spool.name), source.digest)

    def _wrong(self, path: Path, source: Source) -> str:
        """Why a file may not pass."""
        algorithm, _, expected = source.digest.partition("-")
        with path.open("rb") as file:
            if hashlib.file_digest(file, algorithm).hexdigest() != expected:
                raise UpstreamError(f"{source.url} is not what the index says it is")
        try:
            found = self._scanner.finds(path)
        except UnsearchableError as error:
            return f"the file cannot be looked through: {error}"
        return "the file has a marker of what is to be hidden" if found else ""

    async def _fetched(self, url: str, accept: str, sink: IO[bytes], limit: int) -> int:
        async with self._fetches:
            return await self._client.fetch(url, accept, sink, limit)

    async def _once(self, key: str, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Share what is under way: it goes on if the one who asked first goes away."""
        task = self._running.get(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(make())
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(task)
