"""One client: its sandboxes, which end with its connection, and its requests."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import platform
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegym.errors import CodeGymError, SandboxError, UnavailableError
from codegym.sandbox.base import Backend, Sandbox
from codegym.sandbox.remote import messages
from codegym.sandbox.remote.channels import Channel
from codegym.sandbox.remote.codec import decode, encode
from codegym.sandbox.remote.wire import ClosedError, Frame, Kind, Messages, Wire, WireError
from codegym.server.layers import Layers
from codegym.server.receiving import RefusedError
from codegym.server.requests import check_command, check_start
from codegym.server.ways import WayOut
from codegym.types import Capabilities, Image, SandboxSpec

_InBox = messages.Shell | messages.Exec | messages.Collect

_MAX_REQUESTS = 1024  # of one client at once
_MAX_FILES_BYTES = 512 << 20
_PIECE_SEC = 60.0  # a client that sends a layer and says nothing for so long
_LAST_WORDS_SEC = 10.0


@dataclass
class Host:
    """What all clients of a server share.

    Attributes:
        backend: Starts the sandboxes.
        capabilities: Its own.
        layers: Copies of the clients' layers.
        max_sandboxes: How many there may be at once.
        say: Told what an operator may want to know.
        sandboxes: How many there are, or are being started.
    """

    backend: Backend
    capabilities: Capabilities
    layers: Layers
    max_sandboxes: int
    say: Callable[[str], None]
    sandboxes: int = 0


@dataclass
class _Box:
    """A sandbox, what is being done with it, and the way out that it shares with its forks."""

    way: WayOut | None = None
    sandbox: Sandbox | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    doing: set[asyncio.Task[Any]] = field(default_factory=set)

    @asynccontextmanager
    async def used(self) -> AsyncIterator[_Box]:
        """Have it for oneself; a stop cancels whoever has it, or waits for it."""
        task = asyncio.current_task()
        if task is None:
            raise TypeError("boxes are used by tasks")
        self.doing.add(task)
        try:
            async with self.turn:
                yield self
        finally:
            self.doing.discard(task)


class Session:
    """Serves one connection that is past the handshake; ``name`` is for the operator."""

    def __init__(self, wire: Wire, host: Host, name: str) -> None:
        self._wire, self._host, self._name = wire, host, name
        self._boxes: dict[int, _Box] = {}
        self._channels: dict[int, Channel] = {}
        self._requests: dict[int, asyncio.Task[messages.Reply]] = {}
        self._replying: set[asyncio.Task[None]] = set()
        self._messages = Messages()
        self._files: dict[str, bytes] = {}

    async def run(self) -> None:
        """Serve until the connection ends; then nothing of it is left."""
        try:
            while await self._take(await self._wire.receive()):
                pass
        except ClosedError:
            if self._boxes:
                self._host.say(f"{self._name} is gone, and so are its {len(self._boxes)} sandboxes")
        except WireError as error:
            self._host.say(f"{self._name} was cut off: {error}")
        finally:
            self._wire.close()
            await self._stop_all()

    async def _take(self, frame: Frame) -> bool:
        """Handle a frame; False where the connection has done its work."""
        if frame.kind in (Kind.PART, Kind.END):
            whole = self._messages.add(frame)
            if whole is None:
                return True
            request = decode(whole, messages.REQUESTS)
            if isinstance(request, messages.Put):
                await self._put(request, frame.number)
                return False
            self._begin(frame.number, request)
        elif frame.kind is Kind.CANCEL:
            self._messages.drop(frame.number)
            if task := self._requests.get(frame.number):
                task.cancel()
        elif channel := self._channels.get(frame.number):
            channel.take(frame)
        return True

    # -- requests ---------------------------------------------------------------------------------

    def _begin(self, number: int, request: object) -> None:
        if len(self._requests) >= _MAX_REQUESTS or number in self._requests:
            raise WireError("too many requests at once")
        task = self._requests[number] = asyncio.ensure_future(self._answer(request))
        task.add_done_callback(lambda _: self._reply(number, task))

    def _reply(self, number: int, task: asyncio.Task[messages.Reply]) -> None:
        del self._requests[number]
        if task.cancelled():
            reply: messages.Reply = messages.Failed("it was given up")
        elif error := task.exception():
            reply = _told(error)
        else:
            reply = task.result()
        sending = asyncio.ensure_future(self._send(number, reply))
        self._replying.add(sending)
        sending.add_done_callback(self._replying.discard)

    async def _send(self, number: int, reply: messages.Reply) -> None:
        try:
            await self._wire.send_message(number, encode(reply))
        except WireError:
            self._wire.close()

    async def _answer(self, request: object) -> messages.Reply:
        match request:
            case messages.Hello():
                return self._welcome(request)
            case messages.Start():
                return await self._start(request)
            case messages.Stop():
                await self._stop(request.box)
            case messages.StopAll():
                await asyncio.gather(*map(self._stop, list(self._boxes)))
            case messages.Fork():
                await self._fork(request)
            case messages.Shell() | messages.Exec() | messages.Collect():
                if not isinstance(request, messages.Collect):
                    check_command(request)
                async with self._box(request.box).used() as box:
                    return await _run_in(_there(box), request)
        return messages.Done()

    def _welcome(self, request: messages.Hello) -> messages.Reply:
        if request.machine != platform.machine():
            raise UnavailableError(
                f"this server is {platform.machine()}, its client {request.machine}: "
                "no program of its images would run",
                "Start a server on a machine of the same kind",
            )
        return messages.Welcome(self._host.capabilities)

    # -- sandboxes --------------------------------------------------------------------------------

    async def _start(self, request: messages.Start) -> messages.Reply:
        check_start(request)
        layers = self._host.layers
        found = {each: await layers.find(each, workspace=False) for each in request.layers}
        workspace = await layers.find(request.workspace, workspace=True)
        missing = tuple(digest for digest, path in found.items() if path is None)
        self._keep(request.contents)
        files = tuple(set(request.large.values()) - set(self._files))
        if missing or workspace is None or files:
            return messages.Missing(missing, workspace is None, files)
        below = tuple(path for digest in request.layers if (path := found[digest]))
        async with self._new_box(request.box).used() as box:
            if request.way:
                box.way = WayOut(self._wire, request.way, self._channels)
                await box.way.open()
            image = Image(request.image, below, request.image_env, request.python)
            watching = asyncio.ensure_future(asyncio.to_thread(layers.watch, [*below, workspace]))
            try:  # meanwhile; nothing is run in it before both are done
                spec = self._spec(request, image, workspace, box.way)
                box.sandbox = await self._host.backend.start(spec)
            finally:
                await watching
        return messages.Done()

    def _spec(
        self, request: messages.Start, image: Image, workspace: Path, way: WayOut | None
    ) -> SandboxSpec:
        large = {path: self._files[digest] for path, digest in request.large.items()}
        return SandboxSpec(
            image=image,
            workspace=workspace,
            limits=request.limits,
            env=request.env,
            files={**request.files, **large},
            mount=request.mount,
            state=request.state,
            egress=way.socket if way else None,
        )

    def _keep(self, contents: Sequence[bytes]) -> None:
        """Remember large files of this client's: most of its sandboxes have the same."""
        if sum(map(len, (*self._files.values(), *contents))) > _MAX_FILES_BYTES:
            self._files.clear()
        self._files |= {hashlib.sha256(data).hexdigest(): data for data in contents}

    async def _fork(self, request: messages.Fork) -> None:
        async with self._box(request.box).used() as box:
            source = _there(box)
            async with self._new_box(request.target).used() as twin:
                twin.way = box.way and box.way.shared()
                forking = asyncio.ensure_future(source.fork())
                try:
                    twin.sandbox = await asyncio.shield(forking)
                except asyncio.CancelledError:
                    twin.sandbox = await forking  # so that there is something to stop
                    raise

    def _new_box(self, number: int) -> _Box:
        host = self._host
        if number in self._boxes:
            raise SandboxError(f"sandbox {number} is there already")
        if host.sandboxes >= host.max_sandboxes:
            raise SandboxError(
                f"there are {host.sandboxes} sandboxes, as many as there may be; start fewer at "
                "once, or the server with a larger --max-sandboxes"
            )
        host.sandboxes += 1
        box = self._boxes[number] = _Box()
        return box

    def _box(self, number: int) -> _Box:
        box = self._boxes.get(number)
        if box is None:
            raise SandboxError("there is no such sandbox")
        return box

    async def _stop(self, number: int) -> None:
        """Give up what a sandbox is doing, then stop it."""
        box = self._boxes.pop(number, None)
        if box is None:
            return
        doing = list(box.doing)
        for task in doing:
            task.cancel()
        try:
            await asyncio.gather(*doing, return_exceptions=True)
            if box.sandbox:
                await box.sandbox.stop()
        finally:
            self._host.sandboxes -= 1
            if box.way:
                box.way.release()

    async def _stop_all(self) -> None:
        requests = list(self._requests.values())
        for task in requests:
            task.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        ended = await asyncio.gather(*map(self._stop, list(self._boxes)), return_exceptions=True)
        for error in filter(None, ended):
            self._host.say(f"a sandbox did not stop: {error}")

    # -- layers -----------------------------------------------------------------------------------

    async def _put(self, put: messages.Put, number: int) -> None:
        """Take a layer; the connection is for nothing else."""
        gone = False

        async def piece() -> bytes:
            nonlocal gone
            if not gone:
                gone = True
                await self._wire.send_message(number, encode(messages.Go()))
            async with asyncio.timeout(_PIECE_SEC):
                frame = await self._wire.receive()
            if frame.kind is not Kind.DATA or not frame.data:
                raise WireError("a layer was broken off")
            return frame.data

        try:
            await self._host.layers.receive(put, piece)
            reply: messages.Reply = messages.Done()
        except TimeoutError as error:
            raise WireError("a layer was broken off") from error
        except WireError:
            raise
        except (RefusedError, CodeGymError, OSError) as error:
            reply = _told(error)
        await self._wire.send_message(number, encode(reply))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_SEC):
                await self._wire.discard()


def _there(box: _Box) -> Sandbox:
    if box.sandbox is None:
        raise SandboxError("there is no such sandbox")
    return box.sandbox


async def _run_in(sandbox: Sandbox, request: _InBox) -> messages.Reply:
    before = sandbox.state
    match request:
        case messages.Collect():
            return messages.Work(await sandbox.collect())
        case messages.Shell():
            result = await sandbox.shell(
                request.command,
                timeout_sec=request.timeout_sec,
                max_output_bytes=request.max_output_bytes,
            )
        case messages.Exec():
            result = await sandbox.exec(
                request.argv,
                stdin=request.stdin,
                env=request.env,
                timeout_sec=request.timeout_sec,
                max_output_bytes=request.max_output_bytes,
                report=request.report,
            )
    return messages.Ran(result, None if sandbox.state == before else sandbox.state)


def _told(error: BaseException) -> messages.Failed:
    """What a client hears of an error; one that is nobody's purpose is shown here, too."""
    match error:
        case UnavailableError():
            return messages.Failed(error.problem, error.mend)
        case CodeGymError() | RefusedError() | OSError():
            return messages.Failed(f"{error}")
    traceback.print_exception(error, file=sys.stderr)
    return messages.Failed(f"an error of the server itself ({type(error).__name__}); it shows more")
