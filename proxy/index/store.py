"""What an index holds: asked of upstream once in an episode, and from its record ever after."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import urlsplit

from ..account import Account
from ..rules import Rule, Verdict
from .client import Client, UnfitError, UpstreamError
from .kinds import Kind, Listing, Source
from .record import Kept, Record
from .scan import Scanner, UnsearchableError

#: Bytes of a project's document at the upstream index.
MAX_DOCUMENT_BYTES = 64 << 20
_MAX_FETCHES = 4
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Upstream:
    """What all episodes' indexes share.

    Attributes:
        client: Asks.
        reading: Held while a document is in memory, so that only one is at a time.
    """

    client: Client
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


class Store:
    """Listings and files of one index.

    Args:
        rule: The rule that allows it.
        kind: What its clients speak.
        cutoff: What was uploaded at this moment or later is absent.
        scanner: Looks for what no file may have in it.
        record: Where it is all kept.
        account: Whose budgets are used.
        upstream: Where the rest is.
    """

    def __init__(
        self,
        rule: Rule,
        kind: Kind,
        cutoff: datetime,
        scanner: Scanner,
        record: Record,
        account: Account,
        upstream: Upstream,
    ) -> None:
        self._rule, self._kind, self._cutoff, self._scanner = rule, kind, cutoff, scanner
        self._record, self._account, self._upstream = record, account, upstream
        self._running: dict[str, asyncio.Task[Any]] = {}
        self._fetches = asyncio.Semaphore(_MAX_FETCHES)
        port = rule.ports[0]
        self.origin = f"https://{rule.hosts[0]}" + ("" if port == 443 else f":{port}")

    def close(self) -> None:
        """End all that is under way; idempotent."""
        for task in self._running.values():
            task.cancel()

    async def listing(self, project: str) -> Listing | None:
        """A project as it was. Raises ``UpstreamError`` if that cannot be known now."""
        known, dumped = self._record.project(project)
        if not known:
            dumped = await self._once(f"project {project}", lambda: self._asked(project))
        return None if dumped is None else self._kind.load(dumped)

    async def file(self, source: Source) -> Kept:
        """A file, checked and looked through. Raises ``UpstreamError`` if it cannot be had now."""
        if kept := self._record.file(source.digest):
            return kept
        return await self._once(source.digest, lambda: self._downloaded(source))

    async def _asked(self, project: str) -> dict[str, Any] | None:
        url = self.origin + self._kind.address(self._rule.root, project)
        with self._record.spool() as spool:
            status = await self._fetched(url, self._kind.accept, spool, MAX_DOCUMENT_BYTES)
            dumped = None
            if status == 200:
                async with self._upstream.reading:
                    dumped = await asyncio.to_thread(self._filtered, spool, project, url)
            elif status not in (404, 410):
                raise _unanswered(url, status)
        self._record.keep_project(project, dumped)
        return dumped

    def _filtered(self, spool: IO[bytes], project: str, url: str) -> dict[str, Any] | None:
        spool.seek(0)
        try:
            document = json.load(spool)
        except (ValueError, RecursionError) as error:
            raise UnfitError(f"{url} answers with no JSON") from error
        listing = self._kind.listing(document, project, url, self._cutoff)
        return listing.dump() if listing else None

    async def _downloaded(self, source: Source) -> Kept:
        """Fetch a file, and look through all of it before any of it may pass."""
        limit = self._account.policy.limits.max_response_bytes
        with self._record.spool() as spool:
            status = await self._fetched(source.url, "*/*", spool, limit)
            if status != 200:
                raise _unanswered(source.url, status)
            spool.flush()
            path = Path(spool.name)
            why = await asyncio.to_thread(self._wrong, path, source)
            if why:
                return self._record.refuse_file(source.digest, why)
            return self._record.keep_file(source.digest, path)

    def _wrong(self, path: Path, source: Source) -> str:
        """Why a file may not pass, or ``""``."""
        algorithm, _, expected = source.digest.partition("-")
        with path.open("rb") as file:
            if hashlib.file_digest(file, algorithm).hexdigest() != expected:
                raise UnfitError(f"{source.url} is not what the index says it is")
        try:
            found = self._scanner.finds(path)
        except UnsearchableError as error:
            return f"the file cannot be looked through: {error}"
        return "the file has a marker of what is to be hidden" if found else ""

    async def _fetched(self, url: str, accept: str, sink: IO[bytes], limit: int) -> int:
        """Fetch an address, within what the episode may use, and write that down."""
        spent, most = self._account.spent, self._account.policy.limits.max_download_bytes
        async with self._fetches:
            left = most - spent.fetched
            if left <= 0:
                raise UnfitError("the episode's budget for downloads is spent")
            parts = urlsplit(url)
            headers = {"Accept": accept}
            if url.startswith(f"{self.origin}/") and self._rule.credentials:
                encoded = base64.b64encode(self._rule.credentials.encode()).decode()
                headers["Authorization"] = f"Basic {encoded}"
            try:
                status = await self._upstream.client.fetch(url, headers, sink, min(limit, left))
            finally:
                spent.fetched += sink.tell()
        verdict = Verdict(True, self._rule.name, "an index as of a date fetches it")
        answer = {"status": status, "bytes": sink.tell()}
        there: dict[str, str | int | None] = {"host": parts.hostname, "port": parts.port or 443}
        self._account.journal.note("fetch", verdict, **there, target=parts.path, **answer)
        return status

    async def _once(self, key: str, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Share what is under way: it goes on if the one who asked first goes away."""
        task = self._running.get(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(make())
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(task)


def _unanswered(url: str, status: int) -> UpstreamError:
    """Why an answer of a status other than 200 is none."""
    kind = UpstreamError if status >= 500 or status == 429 else UnfitError
    return kind(f"{url} answers {status}")
