"""A cluster as a stage: actors, each with the sandboxes of a group of episodes.

The driver draws tasks and seeds and asks the policy, as it does with sandboxes of its own, so what
is played follows from the seed alone. An actor that dies takes its episodes with it: they are
played anew on others, as after any fault of a sandbox, and a new actor takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from codegym.envs.options import EpisodeOptions
from codegym.errors import SandboxError, UnavailableError, UsageError
from codegym.integrations.extras import require_extra
from codegym.integrations.ray.episode import RemoteEpisode
from codegym.integrations.ray.host import Failed, Host
from codegym.network.ways import Keeping
from codegym.types import Image, Task

_START_SEC = 120.0
_CONNECT_SEC = 10.0
_OWN = ".codegym/environments"


class RayStage:
    """See ``codegym.envs.stage.Stage``; made by ``on_ray``.

    Args:
        ray: The library, connected.
        actors: How many actors there are, >= 1.
        cpus: CPUs that each claims of its node, > 0.
        sandbox: Name of the backend on the nodes.
    """

    def __init__(self, ray: Any, actors: int, cpus: float, sandbox: str) -> None:
        self._ray, self._sandbox = ray, sandbox
        self._kind = ray.remote(num_cpus=cpus, max_concurrency=1000, max_restarts=0)(Host)
        self._hosts: list[Any] = [self._make() for _ in range(actors)]
        self._load = [0] * actors
        self._keys = itertools.count()

    def _make(self) -> Any:
        # Spread, so that one node's loss is not all actors'.
        return self._kind.options(scheduling_strategy="SPREAD").remote(self._sandbox)

    def ahead(self, task: Task) -> None:
        """Nothing: which actor will play it is not known yet."""

    def episode(self, options: EpisodeOptions, keeping: Keeping) -> RemoteEpisode:  # noqa: ARG002
        """An episode on the actor that has the fewest.

        Raises:
            UsageError: It would need a network, which such episodes have not.
        """
        if options.reachable is not None:
            raise UsageError("--network cannot be used with --ray: an episode's way out is local")
        at = min(range(len(self._load)), key=self._load.__getitem__)
        self._load[at] += 1
        return RemoteEpisode(next(self._keys), options, self._caller(at, self._hosts[at]))

    async def image(self, task: Task) -> Image:
        """The image that a task starts from, on the first actor."""
        image = await self._caller(0, self._hosts[0])("image", task)
        if isinstance(image, Failed):
            raise image.as_error()
        made: Image = image
        return made

    async def ready(self) -> None:
        """Wait until every actor is there.

        Raises:
            UnavailableError: One did not come, or has no sandboxes.
        """
        asked = [host.ping.remote() for host in self._hosts]
        try:
            async with asyncio.timeout(_START_SEC):
                await asyncio.gather(*asked)
        except (TimeoutError, self._ray.exceptions.RayError) as error:
            why = " ".join(str(error).split())[-300:] or "the cluster has no room for it"
            raise UnavailableError(
                f"an actor did not start within {_START_SEC:g} s: {why}",
                "See `ray status`; ask for fewer actors (--ray-actors)",
            ) from None

    async def close(self) -> None:
        """End all actors and their sandboxes."""
        for host in self._hosts:
            with contextlib.suppress(self._ray.exceptions.RayError, TimeoutError):
                async with asyncio.timeout(30.0):
                    await host.close.remote()
            self._ray.kill(host)

    def _caller(self, at: int, host: Any) -> Callable[..., Awaitable[Any]]:
        """Calls methods of one actor for one episode."""
        counted = True

        async def call(method: str, *arguments: Any) -> Any:
            nonlocal counted
            try:
                return await getattr(host, method).remote(*arguments)
            except self._ray.exceptions.RayActorError as error:
                self._replace(at, host)
                raise SandboxError(f"an actor died: {' '.join(str(error).split())}") from error
            finally:
                if method == "close_episode" and counted:
                    self._load[at], counted = self._load[at] - 1, False

        return call

    def _replace(self, at: int, host: Any) -> None:
        """Put a new actor in a dead one's place, once."""
        if self._hosts[at] is host:
            self._hosts[at] = self._make()


@asynccontextmanager
async def on_ray(
    address: str, *, actors: int = 2, cpus: float = 1.0, sandbox: str = "auto"
) -> AsyncIterator[RayStage]:
    """A stage on a cluster. Every node needs CodeGym and a sandbox backend.

    Environments of one's own (below ``.codegym`` here) are sent along.

    Args:
        address: As for ``ray.init``: ``"auto"``, ``"ray://HOST:10001"``, ``"HOST:6379"``, or
            ``"local"`` for a cluster of this machine alone.
        actors: How many there are.
        cpus: CPUs that each claims.
        sandbox: Name of the backend on the nodes.

    Raises:
        UnavailableError: Ray is not installed, or there is no such cluster.
        UsageError: A value out of its range.
    """
    if actors < 1 or cpus <= 0:
        raise UsageError(f"actors={actors}, cpus={cpus}: at least 1 actor and more than 0 CPUs")
    require_extra("ray", "ray")
    import ray

    with tempfile.TemporaryDirectory() as scratch:
        connected = ray.is_initialized()
        if not connected:
            _connect(ray, address, Path(scratch))
        stage = RayStage(ray, actors, cpus, sandbox)
        try:
            await stage.ready()
            yield stage
        finally:
            await stage.close()
            if not connected:
                ray.shutdown()


def _connect(ray: Any, address: str, scratch: Path) -> None:
    own = Path.cwd() / _OWN
    sent = {}
    if own.is_dir():
        shutil.copytree(own, scratch / _OWN)
        sent = {"working_dir": str(scratch)}
    try:
        _knock(address)
        ray.init(address=address, runtime_env=sent, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        raise UnavailableError(
            f"no Ray cluster at {address!r}: {' '.join(str(error).split())[:300]}",
            "Start one with `ray start --head`, or use --ray local",
        ) from error


def _knock(address: str) -> None:
    """Raise ``OSError`` where nobody listens: Ray itself asks for minutes."""
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if separator and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_CONNECT_SEC).close()
