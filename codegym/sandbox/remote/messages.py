"""The requests of a client and the replies of a server; each request has one reply.

Numbers of boxes are the client's own; a server looks them up among that connection's alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codegym.types import Capabilities, CommandResult, Limits, Manifest, ShellState


@dataclass(frozen=True, slots=True)
class Hello:
    """The first request: the client's kind of processor. Answered by ``Welcome``."""

    machine: str


@dataclass(frozen=True, slots=True)
class Start:
    """Start a sandbox (see ``SandboxSpec``). Answered by ``Done``, or by ``Missing``.

    Attributes:
        box: Its number.
        layers: Digests of the image's layers, topmost first.
        workspace: Digest of the layer below its workspace.
        files: What is laid into its root, where it is small.
        large: The same for what is large and often the same: the SHA-256 of each.
        contents: Those of ``large`` that the server said it lacks; it keeps them for a while.
        way: The number of its way out; 0 for none.
    """

    box: int
    layers: tuple[str, ...]
    workspace: str
    image: str
    image_env: Mapping[str, str]
    python: str
    limits: Limits
    env: Mapping[str, str]
    files: Mapping[str, bytes]
    large: Mapping[str, str]
    contents: tuple[bytes, ...]
    mount: str
    state: ShellState
    way: int


@dataclass(frozen=True, slots=True)
class Shell:
    """``Sandbox.shell``. Answered by ``Ran``."""

    box: int
    command: str
    timeout_sec: float
    max_output_bytes: int


@dataclass(frozen=True, slots=True)
class Exec:
    """``Sandbox.exec``. Answered by ``Ran``."""

    box: int
    argv: tuple[str, ...]
    stdin: bytes
    env: Mapping[str, str]
    timeout_sec: float
    max_output_bytes: int
    report: bool


@dataclass(frozen=True, slots=True)
class Collect:
    """``Sandbox.collect``. Answered by ``Work``."""

    box: int


@dataclass(frozen=True, slots=True)
class Fork:
    """``Sandbox.fork`` into a new number. Answered by ``Done``."""

    box: int
    target: int


@dataclass(frozen=True, slots=True)
class Stop:
    """``Sandbox.stop``; whatever it was doing is given up. Answered by ``Done``."""

    box: int


@dataclass(frozen=True, slots=True)
class StopAll:
    """Stop every sandbox of this connection. Answered by ``Done``."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, folder or link of a layer; ``""`` is the layer's own folder.

    Attributes:
        path: Relative, of plain parts.
        kind: ``"file"``, ``"folder"`` or ``"link"``.
        mode: Permissions.
        time_ns: When it was changed last.
        size: Bytes of a file.
        content: A file's SHA-256, or a link's target.
    """

    path: str
    kind: str
    mode: int
    time_ns: int
    size: int = 0
    content: str = ""


@dataclass(frozen=True, slots=True)
class Put:
    """Send a layer, on a connection of its own.

    Answered by ``Go``, after which all files' bytes follow in the order of the entries and then
    ``Done``; or by ``Done`` alone where it is there already.

    Attributes:
        digest: What ``digest_of`` says of the entries.
        workspace: Whether it is the layer below a workspace, which belongs to who works there.
        entries: All of it, in any order.
    """

    digest: str
    workspace: bool
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Welcome:
    """What sandboxes of this server can do."""

    capabilities: Capabilities


@dataclass(frozen=True, slots=True)
class Done:
    """It is done."""


@dataclass(frozen=True, slots=True)
class Go:
    """Go on: the layer is wanted."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What the server does not have; to be asked again once that was sent.

    Attributes:
        layers: Digests of an image's layers.
        workspace: Whether it lacks the workspace's.
        files: Digests of large files.
    """

    layers: tuple[str, ...]
    workspace: bool
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended; ``state`` where it is another one than before."""

    result: CommandResult
    state: ShellState | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """What was collected."""

    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Failed:
    """It failed. ``mend`` is set where it is the server's machine that lacks something."""

    problem: str
    mend: str = ""


Request = Hello | Start | Shell | Exec | Collect | Fork | Stop | StopAll | Put
Reply = Welcome | Done | Go | Missing | Ran | Work | Failed

REQUESTS: Mapping[str, type] = {kind.__name__: kind for kind in Request.__args__}
REPLIES: Mapping[str, type] = {kind.__name__: kind for kind in Reply.__args__}
