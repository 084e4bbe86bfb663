"""One chat endpoint over HTTP: patient with what passes, plain about what does not."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from codegym.agents.chat.refusals import Meaning, meaning_of, message_of, wait_of
from codegym.errors import PolicyError, UnavailableError, UsageError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
_log = logging.getLogger("codegym")

_MAX_BODY_BYTES = 16 * 1024 * 1024
_PATH = "/chat/completions"
_TOLD_SEC = 10.0  # a wait that one wants to know of
_BASE_DELAY_SEC = 0.5
_MAX_DELAY_SEC = 60.0
#: So many requests in a row that came to nothing: the endpoint is down, and the run stops.
GIVE_UP_AFTER = 3


class RefusedError(Exception):
    """The endpoint wants something else to be sent; never leaves this package."""

    def __init__(self, meaning: Meaning, said: str) -> None:
        super().__init__(said)
        self.meaning = meaning


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What was read, and the seconds before the attempt that had it began."""

    value: T
    lost_sec: float


@dataclass
class Endpoint:
    """Sends requests; at most ``concurrency`` at once.

    Attributes:
        base_url: With scheme; ``/chat/completions`` is added to it.
        key: Sent as a bearer token where there is one; in no message and no ``repr``.
        key_name: The variable that holds it.
        timeout_sec: Wall time of one request.
        max_retries: Further attempts after one that failed in a way that may pass.
        concurrency: Requests at once.
    """

    base_url: str
    key: str = field(repr=False)
    key_name: str
    timeout_sec: float
    max_retries: int
    concurrency: int
    _failures: int = field(init=False, default=0)
    _session: _Session | None = field(init=False, repr=False, default=None)
    _jitter: random.Random = field(init=False, repr=False, default_factory=random.SystemRandom)

    def __post_init__(self) -> None:
        self.base_url = checked_url(self.base_url)
        if not self.key.isascii() or not self.key.isprintable():
            raise UsageError(f"chat: the key in {self.key_name} holds what no header can carry")

    async def complete(
        self, request: Mapping[str, Any], read: Callable[[object], T | None]
    ) -> Answer[T]:
        """Send one request; return what was read of the answer.

        Args:
            request: The body.
            read: Reads the answer's JSON value; None where it is not what was asked for.

        Raises:
            RefusedError: It is too long, or holds what the endpoint does not know.
            PolicyError: It failed, so often as is tried.
            UnavailableError: Requests failed, one after the other: the endpoint is down.
            UsageError: The key, the model or the address is wrong.
        """
        session, began = self._current(), time.monotonic()
        problem = ""
        async with session.slots:
            for attempt in range(self.max_retries + 1):
                waited: float | None = None
                lost_sec = time.monotonic() - began
                try:
                    status, headers, body = await self._post(session.client, request)
                except _PassingError as error:
                    problem = str(error)
                else:
                    if status == 200:
                        value = read(_json(body))
                        if value is not None:
                            self._failures = 0
                            return Answer(value, lost_sec)
                        problem = (
                            "its answer is no chat completion (is this the address of the API? "
                            f"It mostly ends in /v1): {message_of(body, self.key)}"
                        )
                    else:
                        problem = self._judge(status, body, headers.get("location", ""))
                        waited = wait_of(headers)
                        if waited is not None and waited >= _TOLD_SEC:
                            _log.warning(
                                "%s asks to wait %.0f s (status %d)", self.base_url, waited, status
                            )
                if attempt < self.max_retries:
                    await asyncio.sleep(self._delay(attempt) if waited is None else waited)
        raise self._given_up(problem)

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.client.aclose()

    def _current(self) -> _Session:
        """The session of the running loop; connections do not outlive theirs."""
        loop = asyncio.get_running_loop()
        if self._session is None or self._session.loop is not loop:
            self._session = _Session(
                loop, _client(self.key, self.timeout_sec), asyncio.Semaphore(self.concurrency)
            )
        return self._session

    async def _post(
        self, client: httpx.AsyncClient, request: Mapping[str, Any]
    ) -> tuple[int, Mapping[str, str], bytes]:
        import httpx

        # ASCII only: what a model made up need not be valid UTF-8.
        data, body = json.dumps(request).encode(), bytearray()
        try:
            async with (
                asyncio.timeout(self.timeout_sec),
                client.stream("POST", self.base_url + _PATH, content=data) as answer,
            ):
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > _MAX_BODY_BYTES:
                        raise _PassingError("its answer has no end")
                return answer.status_code, answer.headers, bytes(body)
        except (TimeoutError, httpx.TimeoutException):
            raise _PassingError(f"no answer in {self.timeout_sec:g} s") from None
        except httpx.InvalidURL as error:
            raise UsageError(f"chat: base_url: {self.base_url!r}: {error}") from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _PassingError(f"{type(error).__name__}: {error}") from None

    def _judge(self, status: int, body: bytes, location: str) -> str:
        """What to say of a status that may pass; raise where it will not."""
        said = message_of(body, self.key)
        if 300 <= status < 400:
            raise UsageError(f"chat: {self.base_url} sends elsewhere ({location[:200]}); give that")
        told = f"status {status}: {said}" if said else f"status {status}"
        match meaning_of(status, said):
            case "again":
                return told
            case "key":
                how = "is wrong, or may not do this" if self.key else "is not set"
                raise UsageError(
                    f"chat: {self.base_url} refused ({told}). The key {how}: set {self.key_name}, "
                    "or name another variable with --policy-option api_key_env=NAME"
                )
            case "missing":
                raise UsageError(
                    f"chat: {self.base_url} has no such model or is no such API ({told}). Check "
                    "the name after chat:, and --base-url, which mostly ends in /v1"
                )
            case meaning:
                raise RefusedError(meaning, told)

    def _delay(self, attempt: int) -> float:
        """Exponential, with jitter: many episodes that failed at once come back apart."""
        most = min(_MAX_DELAY_SEC, _BASE_DELAY_SEC * 2.0**attempt)
        return most / 2 + self._jitter.uniform(0, most / 2)

    def _given_up(self, problem: str) -> PolicyError | UnavailableError:
        self._failures += 1
        tries = "once" if not self.max_retries else f"{self.max_retries + 1} times"
        told = f"the model's endpoint {self.base_url} failed, tried {tries}: {problem}"
        if self._failures < GIVE_UP_AFTER:
            return PolicyError(told)
        return UnavailableError(
            f"{told} ({self._failures} requests in a row)",
            "See that it is up, then give the same command again: it goes on where it was",
        )


class _PassingError(Exception):
    """An attempt failed in a way that may pass."""


@dataclass(frozen=True)
class _Session:
    loop: asyncio.AbstractEventLoop
    client: httpx.AsyncClient
    slots: asyncio.Semaphore


def _client(key: str, timeout_sec: float) -> httpx.AsyncClient:
    httpx = _library()
    headers = {"content-type": "application/json", "accept": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
    made: Any = httpx.AsyncClient(headers=headers, timeout=timeout_sec, limits=limits)
    return made  # type: ignore[no-any-return]


def _library() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise UnavailableError(
            "chat needs the package httpx, which is not installed",
            "pip install 'codegym[chat]'",
        ) from error
    return httpx


def checked_url(url: str) -> str:
    """A base address without what follows it.

    Raises:
        UsageError: It is none, or holds a password.
    """
    wrong = f"chat: base_url: {url!r} is no address; it looks like http://localhost:8000/v1"
    try:
        parts = urlsplit(url.strip())
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise UsageError(f"{wrong} ({error})") from None
    if not sound:
        raise UsageError(wrong)
    if "@" in parts.netloc:
        raise UsageError(
            "chat: base_url holds a name or password, which would be seen in messages; "
            "put the key into a variable instead (--policy-option api_key_env=NAME)"
        )
    if parts.query or parts.fragment:
        raise UsageError(f"chat: base_url: {url!r} must end with a path")
    return url.strip().rstrip("/").removesuffix(_PATH).rstrip("/")


def _json(body: bytes) -> object:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value
