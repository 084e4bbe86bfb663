"""What crosses the sandbox's interface (see ``codegym.sandbox``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: Where the repository's tree is, in every sandbox.
WORKSPACE = "/workspace"

#: The port on a sandbox's loopback that leads to the egress proxy.
EGRESS_PORT = 3128


@dataclass(frozen=True, slots=True)
class Limits:
    """What one sandbox may use.

    Attributes:
        memory_mb: All its memory together, temporary files included, MiB.
        disk_mb: Bytes written below the workspace, ``/tmp`` and the home folder together, MiB.
        processes: Processes and threads at once.
        files: Files and folders created.
        cpus: CPU time per wall time; 0 for no limit.
    """

    memory_mb: int = 1024
    disk_mb: int = 256
    processes: int = 128
    files: int = 50_000
    cpus: float = 0.0


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend can do on this machine.

    Attributes:
        backend: Its name.
        hard: Limits that the kernel enforces here (names of ``Limits``' fields, and
            ``"wall_time"``).
        soft: Limits that are polled, and so can be passed for a moment.
        snapshot: Whether ``snapshot`` and ``fork`` work.
        notes: Sentences for ``codegym doctor``.
    """

    backend: str
    hard: frozenset[str]
    soft: frozenset[str]
    snapshot: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """What a sandbox starts from: immutable layers, lowest last, and variables.

    Attributes:
        digest: Content hash of everything that made it.
        layers: Folders in the cache, topmost first; together they are ``/``.
        env: Variables of every process in the sandbox (``PATH`` among them).
        python: Absolute path of the interpreter inside, or ``""``.
    """

    digest: str
    layers: tuple[Path, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    python: str = ""


@dataclass(frozen=True, slots=True)
class ShellState:
    """What outlives a shell. Untrusted: only ever fed back into a sandbox.

    Attributes:
        cwd: Its working directory, or ``""`` for the workspace.
        exports: Its exported variables, as ``export -p`` prints them.
    """

    cwd: str = ""
    exports: str = ""


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """All that a sandbox needs to start.

    Attributes:
        image: Its root.
        workspace: A folder in the cache that is the lower layer of ``/workspace``; never written.
        limits: What it may use.
        env: Variables added to the image's.
        files: Read-only files laid into the root, absolute path inside to content; one that begins
            with ``#!`` can be run.
        mount: Where the workspace is mounted; a build of an image writes elsewhere.
        state: What the shell starts with: directory and exported variables.
        egress: The proxy's unix socket on this host, or None for no way out. What connects to
            ``127.0.0.1:3128`` inside is forwarded there, and nothing else gets anywhere.
    """

    image: Image
    workspace: Path
    limits: Limits = field(default_factory=Limits)
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    mount: str = WORKSPACE
    state: ShellState = field(default_factory=ShellState)
    egress: Path | None = None


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended.

    Attributes:
        exit_code: 0 to 255; 128 + signal for a killed command; 124 for one that timed out.
        output: Standard output and error in the order written, cut in the middle at the bound.
        omitted_bytes: How much was cut out.
        seconds: Wall time.
        timed_out: Whether it was killed for its time. All processes died with it.
        restarted: Why the shell was started anew (``"timeout"``, ``"exit"``, ``"memory"``), or
            ``""``. Files, working directory and exported variables are kept; processes are not.
        report: Bytes written to the report descriptor (``exec`` with ``report=True``), bounded.
    """

    exit_code: int
    output: bytes
    omitted_bytes: int = 0
    seconds: float = 0.0
    timed_out: bool = False
    restarted: str = ""
    report: bytes = b""
