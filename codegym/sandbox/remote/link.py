"""A client's connection: requests and their replies, and the ways out of its sandboxes."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import weakref
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegym.errors import SandboxError, UnavailableError
from codegym.sandbox.egress import forward
from codegym.sandbox.remote.channels import Channel
from codegym.sandbox.remote.codec import decode, encode
from codegym.sandbox.remote.dialing import Connection
from codegym.sandbox.remote.messages import REPLIES, Failed, Reply, Request
from codegym.sandbox.remote.wire import Frame, Kind, Messages, WireError


@dataclass(frozen=True)
class Way:
    """The way out that a sandbox and its forks have: the proxy's socket on this host."""

    number: int
    egress: Path


class Link:
    """One connection that is past the handshake, on the running event loop."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._wire, self._socket = connection.wire, connection.socket
        self._name = name
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self._channels: dict[int, Channel] = {}
        self._ways: weakref.WeakValueDictionary[int, Way] = weakref.WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._lost = ""
        self._reading = asyncio.ensure_future(self._read())
        _open.add(self)

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return not self._lost

    def number(self) -> int:
        """A number that no box of this connection had."""
        return next(self._numbers)

    def way(self, egress: Path) -> Way:
        """A new way out; there as long as somebody has it."""
        way = Way(next(self._numbers), egress)
        self._ways[way.number] = way
        return way

    async def ask(self, request: Request, within_sec: float) -> Reply:
        """Send a request and wait for its reply.

        Raises:
            SandboxError: It failed, there was no reply in time, or the connection was lost.
            UnavailableError: The server's machine lacks something.
        """
        if self._lost:
            raise SandboxError(self._lost)
        number = next(self._numbers)
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._replies[number] = reply
        try:
            async with asyncio.timeout(within_sec):
                await self._wire.send_message(number, encode(request))
                answer = await reply
        except TimeoutError as error:
            self._soon(self._wire.send(Kind.CANCEL, number))
            raise SandboxError(f"{self._name} did not answer in {within_sec:.0f} s") from error
        except WireError as error:
            self.close(f"the connection to {self._name} was lost: {error}")
            raise SandboxError(self._lost) from error
        except asyncio.CancelledError:
            self._soon(self._wire.send(Kind.CANCEL, number))
            raise
        finally:
            self._replies.pop(number, None)
        if isinstance(answer, Failed):
            raise failure(answer, self._name)
        return answer

    def tell(self, request: Request) -> None:
        """Send a request whose reply nobody waits for."""
        self._soon(self._wire.send_message(next(self._numbers), encode(request)))

    def close(self, why: str = "it was closed") -> None:
        """End it; the server stops its sandboxes. Idempotent."""
        if self._lost:
            return
        self._lost = why
        _open.discard(self)
        self._wire.close()
        self._reading.cancel()
        for task in self._tasks:
            task.cancel()
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(SandboxError(why))
                reply.exception()  # it may be that nobody waits any more

    def forget(self) -> None:
        """In a forked child: let go of the socket, so that it is the parent's death that ends it.

        Its loop is left alone: a selector's registrations are shared with the parent.
        """
        self._lost = "it belongs to the process that this one was forked from"
        self._socket.close()

    async def _read(self) -> None:
        messages = Messages()
        try:
            while True:
                self._take(await self._wire.receive(), messages)
        except WireError as error:
            self.close(f"the connection to {self._name} was lost: {error}")

    def _take(self, frame: Frame, messages: Messages) -> None:
        if frame.kind in (Kind.PART, Kind.END):
            whole = messages.add(frame)
            reply = self._replies.get(frame.number)
            if whole is not None and reply and not reply.done():
                reply.set_result(decode(whole, REPLIES))  # type: ignore[arg-type]
        elif frame.kind is Kind.OPEN:
            way = self._ways.get(int.from_bytes(frame.data))
            if way is None:
                self._soon(self._wire.send(Kind.CLOSE, frame.number))
            else:
                opened = self._channels[frame.number] = Channel(self._wire, frame.number)
                self._soon(self._carry(opened, way.egress))
        elif channel := self._channels.get(frame.number):
            channel.take(frame)

    async def _carry(self, channel: Channel, egress: Path) -> None:
        """Join a channel to the proxy."""
        near, far = socket.socketpair()
        try:
            ours, theirs = await asyncio.gather(
                asyncio.open_connection(sock=near), asyncio.open_connection(sock=far)
            )
            await asyncio.gather(channel.run(*ours), forward(*theirs, egress))
        finally:
            self._channels.pop(channel.number, None)

    def _soon(self, doing: Coroutine[Any, Any, None]) -> None:
        async def do() -> None:
            try:
                await doing
            except WireError as error:
                self.close(f"the connection to {self._name} was lost: {error}")

        task = asyncio.ensure_future(do())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def failure(answer: Failed, name: str) -> SandboxError | UnavailableError:
    """The error that a server tells of."""
    if answer.mend:
        return UnavailableError(f"{name}: {answer.problem}", f"There: {answer.mend}")
    return SandboxError(f"{name}: {answer.problem}")


_open: weakref.WeakSet[Link] = weakref.WeakSet()


def _forget_all() -> None:
    for link in list(_open):
        link.forget()


os.register_at_fork(after_in_child=_forget_all)
