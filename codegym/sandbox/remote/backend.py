"""The remote backend: sandboxes on a host that runs ``codegym serve sandbox``."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import platform
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from codegym.errors import SandboxError, UnavailableError, UsageError
from codegym.sandbox.base import DEFAULT_OUTPUT_BYTES, DEFAULT_TIMEOUT_SEC, Sandbox
from codegym.sandbox.remote import address, messages
from codegym.sandbox.remote.dialing import Server
from codegym.sandbox.remote.link import Link, Way
from codegym.sandbox.remote.uploads import Uploads
from codegym.store import LayerStore
from codegym.types import Capabilities, CommandResult, Manifest, SandboxSpec, ShellState

_T = TypeVar("_T")

#: What a server may need beyond a command's own time, or for anything else.
_GRACE_SEC = 90.0
_RETRY_SEC = (0.2, 0.5, 1.0, 2.0, 4.0)
_LARGE_BYTES = 1 << 16
_ROUNDS = 4  # of starting and sending what is missing; more than two only where layers are pruned


class Remote:
    """Starts sandboxes on a server; a ``Backend``. It needs nothing of this host but a network.

    Args:
        url: The server's address, ``https://HOST:PORT``, or ``http://`` on loopback.
        store: Where this host's layers are.

    Raises:
        UsageError: The address is none, or there is no token.
    """

    name = "remote"
    owner = None

    def __init__(self, url: str, store: LayerStore | None = None) -> None:
        where, token = address.parse(url), address.find_token()
        if token is None:
            raise UsageError(
                f"{where} asks for a token: set {address.TOKEN}, or {address.TOKEN_FILE} to a "
                "file that holds it"
            )
        self._server = Server(where, token)
        self._uploads = Uploads(self._server, store or LayerStore())
        self._capabilities: Capabilities | None = None
        self._link: Link | None = None
        self._linking = asyncio.Lock()
        self._told: Callable[[str], None] = lambda _: None

    def tell(self, progress: Callable[[str], None]) -> None:
        """Have somebody told, in words, what takes time."""
        self._told = self._uploads.told = progress

    def capabilities(self) -> Capabilities:
        """What the server's sandboxes can do. Raises ``UnavailableError``.

        Asked once, on a connection of its own, while the caller's loop waits.
        """
        if self._capabilities is None:
            self._capabilities = replace(_apart(self._ask_capabilities), backend=self.name)
        return self._capabilities

    async def _ask_capabilities(self) -> Capabilities:
        link = Link(await self._server.dial(), str(self._server.address))
        try:
            reply = await link.ask(messages.Hello(platform.machine()), _GRACE_SEC)
        except SandboxError as error:
            raise UnavailableError(f"{error}", "Look at what the server says") from error
        finally:
            link.close()
        if not isinstance(reply, messages.Welcome):
            raise UnavailableError(f"{self._server.address} answers amiss", "Restart it")
        return reply.capabilities

    async def start(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox there, sending the layers that the server lacks."""
        link = await self._reach()
        way = link.way(spec.egress) if spec.egress else None
        box = RemoteSandbox(spec, link, link.number(), way)
        try:
            await self._start(box, link, way)
        except BaseException:
            box.abandon()
            raise
        return box

    async def _start(self, box: RemoteSandbox, link: Link, way: Way | None) -> None:
        spec, uploads = box.spec, self._uploads
        layers = {await uploads.digest(layer): layer for layer in spec.image.layers}
        workspace = await uploads.digest(spec.workspace)
        large = {path: _hash(data) for path, data in spec.files.items() if len(data) > _LARGE_BYTES}
        request = messages.Start(
            box=box.number,
            layers=tuple(layers),
            workspace=workspace,
            image=spec.image.digest,
            image_env=spec.image.env,
            python=spec.image.python,
            limits=spec.limits,
            env=spec.env,
            files={path: data for path, data in spec.files.items() if path not in large},
            large=large,
            contents=(),
            mount=spec.mount,
            state=spec.state,
            way=way.number if way else 0,
        )
        for _ in range(_ROUNDS):
            reply = await link.ask(request, _GRACE_SEC)
            if not isinstance(reply, messages.Missing):
                return
            for digest in reply.layers:
                await uploads.send(layers[digest], digest, workspace=False)
            if reply.workspace:
                await uploads.send(spec.workspace, workspace, workspace=True)
            wanted = {digest: spec.files[path] for path, digest in large.items()}
            contents = tuple(wanted[digest] for digest in reply.files)
            request = replace(request, contents=contents)
        raise SandboxError(f"{self._server.address} loses the layers that it is sent")

    async def _reach(self) -> Link:
        """The connection, made anew where it was lost. Raises ``SandboxError``."""
        async with self._linking:
            if self._link and not self._link.alive:
                self._link = None  # so that it is said once
                self._told(f"the sandbox server at {self._server.address} is lost; trying again")
            for wait_sec in (*_RETRY_SEC, 0.0):
                if self._link:
                    break
                try:
                    self._link = Link(await self._server.dial(), str(self._server.address))
                except UnavailableError as error:
                    if not wait_sec:
                        raise SandboxError(f"{error}") from error
                    await asyncio.sleep(wait_sec)
            if self._link is None:
                raise SandboxError(f"no connection to {self._server.address}")
            return self._link

    async def close(self) -> None:
        """Stop everything there."""
        link, self._link = self._link, None
        if link and link.alive:
            with contextlib.suppress(SandboxError):  # a lost connection has stopped it all
                await link.ask(messages.StopAll(), _GRACE_SEC)
            link.close()


class RemoteSandbox(Sandbox):
    """One sandbox of a server."""

    def __init__(self, spec: SandboxSpec, link: Link, number: int, way: Way | None) -> None:
        self.spec, self.number = spec, number
        self._link, self._way = link, way
        self._state = spec.state
        self._stopped = False

    @property
    def state(self) -> ShellState:
        """Directory and exported variables after the last command."""
        return self._state

    async def shell(
        self,
        command: str,
        *,
        timeout_sec: float = DEFAULT_TIMEOUT_SEC,
        max_output_bytes: int = DEFAULT_OUTPUT_BYTES,
    ) -> CommandResult:
        """Run a command in the persistent shell."""
        request = messages.Shell(self.number, command, timeout_sec, max_output_bytes)
        return await self._run(request)

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_sec: float = DEFAULT_TIMEOUT_SEC,
        max_output_bytes: int = DEFAULT_OUTPUT_BYTES,
        report: bool = False,
    ) -> CommandResult:
        """Run one program apart from the shell's state."""
        words, variables = tuple(argv), dict(env or {})
        return await self._run(
            messages.Exec(
                self.number, words, stdin, variables, timeout_sec, max_output_bytes, report
            )
        )

    async def _run(self, request: messages.Shell | messages.Exec) -> CommandResult:
        reply = await self._ask(request, request.timeout_sec + _GRACE_SEC)
        if not isinstance(reply, messages.Ran):
            raise SandboxError(f"{reply} is no answer to a command")
        self._state = reply.state or self._state
        return reply.result

    async def collect(self) -> Manifest:
        """Kill every process, then have the server read the workspace's changes."""
        reply = await self._ask(messages.Collect(self.number))
        if not isinstance(reply, messages.Work):
            raise SandboxError(f"{reply} is no work")
        return reply.manifest

    async def fork(self) -> Sandbox:
        """A second sandbox with the same files, directory and exported variables."""
        spec = replace(self.spec, state=self._state)
        twin = RemoteSandbox(spec, self._link, self._link.number(), self._way)
        try:
            await self._ask(messages.Fork(self.number, twin.number))
        except BaseException:
            twin.abandon()
            raise
        return twin

    async def stop(self) -> None:
        """End it. Idempotent; a lost connection has ended it already."""
        if self._stopped:
            return
        self._stopped = True
        if self._link.alive:
            try:
                await self._link.ask(messages.Stop(self.number), _GRACE_SEC)
            except SandboxError:
                if self._link.alive:
                    raise

    def abandon(self) -> None:
        """End it without waiting."""
        self._stopped = True
        if self._link.alive:
            self._link.tell(messages.Stop(self.number))

    async def _ask(
        self, request: messages.Request, within_sec: float = _GRACE_SEC
    ) -> messages.Reply:
        if self._stopped:
            raise SandboxError("this sandbox was stopped")
        return await self._link.ask(request, within_sec)


@lru_cache(maxsize=64)
def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _apart(ask: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """What a coroutine returns, or raises, on a loop of its own in another thread."""
    done: Future[_T] = Future()

    def run() -> None:
        try:
            done.set_result(asyncio.run(ask()))
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            done.set_exception(error)

    threading.Thread(target=run, daemon=True, name="codegym-remote").start()
    return done.result()
