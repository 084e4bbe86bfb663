"""The Docker engine, through its SDK: all that is asked of it. Everything here blocks."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from codegym.errors import SandboxError, UnavailableError
from codegym.sandbox.docker.owners import LABEL, OWNER_LABEL, Owner

if TYPE_CHECKING:
    from docker import APIClient, DockerClient

_TIMEOUT_SEC = 180.0
_OLDEST_API = (1, 41)
_SHM_BYTES = 64 << 20
# What Docker hides, and /sys: it tells of the machine.
_MASKED = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys",
)
USER = 1000
_USUAL = "npipe:////./pipe/docker_engine" if os.name == "nt" else "unix:///var/run/docker.sock"
_LOG = {"Type": "json-file", "Config": {"max-size": "64k", "max-file": "1"}}

MEND = (
    "Start it (`sudo systemctl start docker`, or Docker Desktop), be in the group `docker`, or set "
    "DOCKER_HOST to where it listens; `docker info` tells whether it answers"
)


@dataclass(frozen=True, slots=True)
class Abilities:
    """What an engine can limit, and what it is."""

    memory: bool
    processes: bool
    cpus: bool
    machine: str
    version: str
    runtimes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Container:
    """What a container is made of.

    Attributes:
        image: The image's tag.
        command: Its first program, by absolute path, and its arguments.
        volumes: Where each volume is mounted: name to (path, whether read-only).
        memory_mb: All its memory; None for no limit.
        processes: Its processes and threads; None for no limit.
        cpus: CPU time per wall time; 0 for no limit.
        stdin: Whether it has an input, which ends when whoever is attached to it goes away.
        runtime: Which of the engine's runtimes runs it; ``""`` for the engine's own choice.
        tmpfs: Further filesystems: path to options.
    """

    image: str
    command: Sequence[str]
    volumes: Mapping[str, tuple[str, bool]]
    memory_mb: int | None = None
    processes: int | None = None
    cpus: float = 0.0
    stdin: bool = False
    runtime: str = ""
    tmpfs: Mapping[str, str] = field(default_factory=dict)


class Engine:
    """A connection to the engine that ``DOCKER_HOST`` names, by default this machine's own.

    Every method raises ``SandboxError`` where the engine refuses or is gone.

    Raises:
        UnavailableError: No SDK, no engine, or one that is too old.
    """

    def __init__(self) -> None:
        self._api = _new_enough(connect(_TIMEOUT_SEC))
        self.owner = Owner.me()
        self._labels = {LABEL: "sandbox", OWNER_LABEL: str(self.owner)}
        try:
            self.abilities = self._abilities()
        except BaseException:
            self.close()
            raise

    def _abilities(self) -> Abilities:
        with _explained("info"):
            info = self._api.info()
        return Abilities(
            memory=bool(info.get("MemoryLimit")),
            processes=bool(info.get("PidsLimit")),
            cpus=bool(info.get("CpuCfsQuota")),
            machine=info["Architecture"],
            version=info["ServerVersion"],
            runtimes=tuple(info.get("Runtimes") or ()),
        )

    # -- volumes and containers --------------------------------------------------------------------

    def make_volume(self, **options: str) -> tuple[str, str]:
        """Make a volume of the local driver; returns its name and where the engine mounts it."""
        with _explained("making a volume"):
            made = self._api.create_volume(
                name=os.urandom(12).hex(), driver="local", driver_opts=options, labels=self._labels
            )
        return made["Name"], made["Mountpoint"]

    def drop_volumes(self, names: Sequence[str]) -> None:
        """Remove volumes that nothing uses."""
        for name in names:
            with _explained("removing a volume"), _nothing_there():
                self._api.remove_volume(name, force=True)

    def make(self, container: Container) -> str:
        """Make a container without network, privileges or anything writable but its volumes."""
        with _explained("making a container"):
            limits: dict[str, Any] = {}
            if container.memory_mb is not None and self.abilities.memory:
                limits["mem_limit"] = limits["memswap_limit"] = container.memory_mb << 20
            if container.processes is not None and self.abilities.processes:
                limits["pids_limit"] = container.processes
            if container.cpus and self.abilities.cpus:
                limits["nano_cpus"] = int(container.cpus * 1e9)
            host = self._api.create_host_config(
                network_mode="none",
                read_only=True,
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                ipc_mode="private",
                shm_size=_SHM_BYTES,
                log_config={"Type": "none"} if container.stdin else _LOG,
                tmpfs=dict(container.tmpfs),
                binds=[
                    f"{name}:{path}:{'ro' if only_read else 'rw'},nocopy"
                    for name, (path, only_read) in container.volumes.items()
                ],
                runtime=container.runtime or None,
                **limits,
            )
            host["MaskedPaths"] = list(_MASKED)
            host["CgroupnsMode"] = "private"
            program, *arguments = container.command
            made = self._api.create_container(
                container.image,
                entrypoint=[program],
                command=arguments,
                user=f"{USER}:{USER}",
                working_dir="/",
                hostname="box",
                stdin_open=container.stdin,
                host_config=host,
                labels=self._labels,
            )
        return str(made["Id"])

    def attach(self, container: str) -> socket.socket:
        """The input and output of a container that is not started yet, as one stream."""
        with _explained("attaching to a container"):
            found = self._api.attach_socket(
                container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            )
        return _plain(found)

    def start(self, container: str) -> None:
        """Start it."""
        with _explained("starting a container"):
            self._api.start(container)

    def kill(self, container: str) -> None:
        """Kill all its processes; one that has ended is left alone."""
        with _explained("killing a container"), _nothing_there(409):
            self._api.kill(container)

    def wait(self, container: str) -> tuple[int, bool]:
        """Wait until it has ended; returns its exit code, and whether it had too little memory."""
        with _explained("waiting for a container"):
            code = self._api.wait(container, timeout=_TIMEOUT_SEC)["StatusCode"]
            state = self._api.inspect_container(container)["State"]
        return int(code), bool(state["OOMKilled"])

    def pause(self, container: str) -> None:
        """Keep its processes from running; one that has ended is left alone."""
        with _explained("pausing a container"), _nothing_there(409):
            self._api.pause(container)

    def unpause(self, container: str) -> None:
        """Undo ``pause``."""
        with _explained("unpausing a container"), _nothing_there(409, 500):
            self._api.unpause(container)

    def drop(self, container: str) -> None:
        """Kill and remove it."""
        with _explained("removing a container"), _nothing_there(409):
            self._api.remove_container(container, force=True, v=True)

    def last_words(self, container: str) -> str:
        """The last line that a container's first program said of itself."""
        with _explained("reading a log"):
            log = self._api.logs(container, tail=3).decode(errors="replace").strip()
        return log.splitlines()[-1] if log else "it said nothing"

    # -- images ------------------------------------------------------------------------------------

    def has_image(self, tag: str) -> bool:
        """Whether there is an image of that name."""
        with _explained("looking for an image"):
            return bool(self._api.images(name=tag, quiet=True))

    def import_image(self, archive: Iterator[bytes], repository: str, tag: str) -> None:
        """Make an image of one layer from an archive (tar)."""
        with _explained("importing an image"):
            self._api.import_image_from_stream(
                archive, repository=repository, tag=tag, changes=[f"LABEL {LABEL}=image"]
            )

    # -- what is left ------------------------------------------------------------------------------

    def left_behind(self) -> list[Left]:
        """Containers and volumes of processes that ended."""
        return [each for each in self._ours() if each.owner and each.owner.is_gone()]

    def mine(self) -> list[Left]:
        """Containers and volumes of this process."""
        return [each for each in self._ours() if each.owner == self.owner]

    def sweep(self, left: Sequence[Left] | None = None) -> None:
        """Remove these; by default, all of this process's own."""
        if left is None:
            left = self.mine()
        for container in [each.name for each in left if each.kind == "container"]:
            self.drop(container)
        self.drop_volumes([each.name for each in left if each.kind == "volume"])

    def _ours(self) -> list[Left]:
        filters = {"label": OWNER_LABEL}
        with _explained("looking for what is left"):
            containers = self._api.containers(all=True, filters=filters)
            volumes = self._api.volumes(filters=filters)["Volumes"] or []
        found = [("container", each["Id"], each["Labels"]) for each in containers]
        found += [("volume", each["Name"], each["Labels"]) for each in volumes]
        return [Left(kind, name, Owner.parse(labels[OWNER_LABEL])) for kind, name, labels in found]

    def close(self) -> None:
        """Close the connection."""
        self._api.close()


@dataclass(frozen=True, slots=True)
class Left:
    """A container or a volume, and whose it is."""

    kind: str
    name: str
    owner: Owner | None


def connect(timeout_sec: float) -> DockerClient:
    """A connection to the engine that ``DOCKER_HOST`` names. Raises ``UnavailableError``."""
    try:
        import docker
        from docker.errors import DockerException
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"the Docker SDK is not installed (no module {error.name})",
            "Install it: `pip install 'codegym[docker]'`",
        ) from error
    where = host()
    if where.startswith("ssh://") and importlib.util.find_spec("paramiko") is None:
        raise UnavailableError(
            f"the Docker SDK cannot speak SSH, as {where} wants (no module paramiko)",
            "Install what it needs for that: `pip install 'docker[ssh]'`",
        )
    try:
        _knock(where)
        return docker.from_env(timeout=int(timeout_sec))
    except (DockerException, OSError) as error:  # it has asked for the version already
        problem = f"no Docker engine answers at {where}: {innermost(error)}"
        raise UnavailableError(problem, MEND) from error


def host() -> str:
    """Where the engine is looked for."""
    return os.environ.get("DOCKER_HOST") or _USUAL


def _new_enough(client: DockerClient) -> APIClient:
    api: APIClient = client.api
    if tuple(int(part) for part in api._version.split(".")) < _OLDEST_API:
        client.close()
        raise UnavailableError(
            f"the Docker engine at {host()} is too old (API {api._version})",
            "Sandboxes need Docker 20.10 or newer",
        )
    return api


def _knock(where: str) -> None:
    """Try a socket of this machine first: what the system says of it is said as it is.

    Where nobody listens, the SDK would leave one open, too.
    """
    from docker.utils import parse_host

    known = parse_host(where, os.name == "nt")  # as the SDK reads it
    if known.startswith("http+unix://") and hasattr(socket, "AF_UNIX"):
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.connect(known.removeprefix("http+unix://"))


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except APIError as error:
        said = str(error.explanation or error)
        if "no space left on device" in said:
            raise UnavailableError(
                f"the disk of the Docker engine is full ({what}: {said})",
                "`docker system df` says what takes it; `codegym doctor --clean` and "
                "`docker system prune` free what is not used",
            ) from error
        raise SandboxError(f"the Docker engine refused ({what}): {said}") from error
    except (RequestException, DockerException, OSError) as error:
        raise SandboxError(f"the Docker engine is gone ({what}): {innermost(error)}") from error


@contextlib.contextmanager
def _nothing_there(*also: int) -> Iterator[None]:
    """Pass over "not found": somebody removed it. ``also``: 409 is "not running"."""
    from docker.errors import APIError

    try:
        yield
    except APIError as error:
        if error.status_code not in (404, *also):
            raise


def innermost(error: BaseException) -> BaseException:
    """Where the system said what is wrong; what wraps it says only that something is."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return error


def _plain(found: Any) -> socket.socket:
    """A socket that an event loop can serve; what is none (TLS, SSH) is pumped by threads."""
    raw = getattr(found, "_sock", found)
    if type(raw) is socket.socket:
        copy = raw.dup()
        found.close()
        raw.close()
        return copy
    ours, theirs = socket.socketpair()
    raw.settimeout(None)

    def outward() -> None:
        with contextlib.suppress(OSError):
            while data := theirs.recv(1 << 16):
                raw.sendall(data)
        with contextlib.suppress(OSError):
            raw.close()
            getattr(found, "_response", raw).close()  # which holds it, too

    def inward() -> None:
        with contextlib.suppress(OSError), theirs:
            while data := raw.recv(1 << 16):
                theirs.sendall(data)

    for work in (outward, inward):
        threading.Thread(target=work, daemon=True).start()
    return ours
