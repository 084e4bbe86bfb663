"""What is measured: a backend, the least that its sandboxes could cost, and how to look at it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from codegym.cli.bench import floors
from codegym.cli.bench.measure import timed
from codegym.cli.bench.memory import footprint_mb
from codegym.sandbox.base import Backend
from codegym.sandbox.docker import Docker
from codegym.types import Image


class Subject(Protocol):
    """A backend under measurement."""

    bare: str
    targets: Mapping[str, float]

    def bare_starts(self, times: int) -> list[float]:
        """Seconds of each of so many bare starts."""
        ...

    def bare_starts_at_once(self, count: int, times: int) -> list[float]:
        """Seconds of so many bare starts together, each time."""
        ...

    async def settle(self) -> None:
        """Wait until what it does in the background is done."""
        ...

    def memory_mb(self) -> float:
        """Memory of the gym and of all that its sandboxes are."""
        ...


class Bubblewrapped:
    """Bubblewrap, and any backend of which nothing else is known."""

    bare = "a bare `bwrap … true`"
    targets: Mapping[str, float] = {
        "reset_ms": 12,
        "first_reset_ms": 80,
        "bash_step_ms": 1.5,
        "fork_ms": 15,
        "parallel64_s": 0.6,
        "sandbox_mb": 6,
    }

    def bare_starts(self, times: int) -> list[float]:
        """Seconds of ``bwrap … true``."""
        return floors.bare_bwrap(times)

    def bare_starts_at_once(self, count: int, times: int) -> list[float]:
        """The same, together."""
        return floors.bare_bwraps_at_once(count, times)

    async def settle(self) -> None:
        """Nothing goes on in the background."""

    def memory_mb(self) -> float:
        """PSS of the gym and what it started."""
        return footprint_mb()


class Dockered:
    """Docker. A reset is from the warm pool: what is made ahead is waited for, untimed."""

    bare = "a bare container of the same image: made, started, ended, removed"
    targets: Mapping[str, float] = {"reset_ms": 30, "bash_step_ms": 3}

    def __init__(self, backend: Docker, image: str) -> None:
        self._backend, self._image = backend, image

    def bare_starts(self, times: int) -> list[float]:
        """Seconds of a container that runs ``true``."""
        return timed(self._run, min(times, 10))

    def bare_starts_at_once(self, count: int, times: int) -> list[float]:
        """The same, eight at a time."""

        def at_once() -> None:
            with ThreadPoolExecutor(8) as workers:
                list(workers.map(lambda _: self._run(), range(count)))

        return timed(at_once, min(times, 2))

    def _run(self) -> None:
        from codegym.sandbox.docker.engine import Container

        engine = self._backend.engine
        made = engine.make(Container(self._image, ["/bin/true"], {}))
        engine.start(made)
        engine.wait(made)
        engine.drop(made)

    async def settle(self) -> None:
        """Wait for the pool."""
        await self._backend.settled()

    def memory_mb(self) -> float:
        """PSS of the gym and of the processes of its containers, where these are of this machine.

        The engine's own process for each container is counted too.
        """
        names = [each.name for each in self._backend.engine.mine() if each.kind == "container"]
        return footprint_mb(lambda entry: _mentions(entry, names))


def _mentions(process: Path, containers: list[str]) -> bool:
    try:
        seen = (process / "cgroup").read_text() + (process / "cmdline").read_text()
    except (OSError, UnicodeDecodeError):
        return False
    return any(name in seen for name in containers)


async def subject(backend: Backend, image: Image) -> Subject:
    """What a backend is measured as."""
    if isinstance(backend, Docker):
        return Dockered(backend, await backend.image(image))
    return Bubblewrapped()
