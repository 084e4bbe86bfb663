"""Markers laid out on the host while a run lasts: a sandbox that leaks at all leaks one of them.

Without them an attack that reads another process's environment would find nothing even where the
wall between sandbox and host is open. Nothing is opened but loopback, and all goes at the end.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

from codegym.errors import UnavailableError
from codegym.redteam.victim import Victim
from codegym.tasks.rows import write_rows

_VARIABLE = "CODEGYM_REDTEAM_BAIT"


def socket_name(marker: str) -> str:
    """The abstract unix socket of a marker; it does not tell it."""
    return f"codegym-bait-{marker.rpartition('_')[2][::-1]}"


def bait_ports(marker: str) -> tuple[int, ...]:
    """Ports of the host's loopback on one of which a marker is told, by TCP and UDP."""
    number = int(marker.rpartition("_")[2], 16)
    return tuple(20_000 + (number + 7919 * each) % 12_000 for each in range(3))


@asynccontextmanager
async def baits(victims: Sequence[Victim]) -> AsyncIterator[Path]:
    """Lay baits out; to be entered before the first sandbox starts.

    Yields:
        A folder of the host that everybody may write to. Whatever appears in it came from inside.
    """
    text = "\n".join(victim.marker for victim in victims)
    with _folder() as home:
        canary = home / "canary"
        with _files(home, victims, text), _environment(text), _process(home, text):
            async with AsyncExitStack() as stack:
                for victim in victims:
                    await stack.enter_async_context(_servers(victim.marker))
                yield canary


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="codegym-redteam-") as name:
        home = Path(name)
        home.chmod(0o755)
        (home / "canary").mkdir()
        (home / "canary").chmod(0o777)
        yield home


@contextmanager
def _files(home: Path, victims: Sequence[Victim], text: str) -> Iterator[None]:
    """A pack with the gold patches, gold files, shared memory, and an inheritable descriptor."""
    write_rows(home / "tasks.jsonl", [victim.task for victim in victims])
    (home / "gold.py").write_text(text, encoding="utf-8")
    descriptor = os.open(home / "tasks.jsonl", os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    shared = Path(tempfile.mkdtemp(prefix="codegym-redteam-", dir=_shm()))
    shared.chmod(0o755)
    (shared / "gold.py").write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        os.close(descriptor)
        shutil.rmtree(shared)


def _shm() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@contextmanager
def _environment(text: str) -> Iterator[None]:
    """A variable of this process: what it starts inherits it, unless care is taken."""
    os.environ[_VARIABLE] = text
    try:
        yield
    finally:
        del os.environ[_VARIABLE]


@contextmanager
def _process(home: Path, text: str) -> Iterator[None]:
    """A process that waits, with the markers in its environment, arguments, memory and files."""
    wait = "import sys; sys.stdin.read()"
    with (
        (home / "tasks.jsonl").open() as opened,
        subprocess.Popen(
            [sys.executable, "-c", wait, text],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=opened,
            cwd=home,
            env={_VARIABLE: text},
        ) as process,
    ):
        try:
            yield
        finally:
            process.kill()


@asynccontextmanager
async def _servers(marker: str) -> AsyncIterator[None]:
    """Tells the marker on an abstract unix socket, and on a port of loopback."""

    async def tell(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(marker.encode())
        writer.close()

    async with AsyncExitStack() as stack:
        if sys.platform == "linux":  # nowhere else are there abstract sockets
            name = f"\0{socket_name(marker)}"
            await stack.enter_async_context(await asyncio.start_unix_server(tell, name))
        port = await _told_at(stack, tell, marker)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(marker.encode()), ("127.0.0.1", port)
        )
        stack.callback(transport.close)
        yield


_Tell = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def _told_at(stack: AsyncExitStack, tell: _Tell, marker: str) -> int:
    """Listen on the first of a marker's ports that is free; returns it."""
    for port in bait_ports(marker):
        with suppress(OSError):
            await stack.enter_async_context(await asyncio.start_server(tell, "127.0.0.1", port))
            return port
    raise UnavailableError(
        f"ports {bait_ports(marker)} of loopback are taken", "Run the red team once more."
    )


class _Datagrams(asyncio.DatagramProtocol):
    """Answers each with the same."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        """Keep it."""
        self._transport = transport

    def datagram_received(self, _: bytes, addr: tuple[str, int]) -> None:
        """Answer."""
        if self._transport is not None:
            self._transport.sendto(self._answer, addr)
