"""The sandbox: where code runs. One small interface; every backend passes one conformance suite.

Covered: the code inside reaches no network, no file of the host, no process outside, and gains no
privileges; limits hold as ``Capabilities`` declares. Not covered: a kernel flaw; what code inside
does to its own workspace, which is why nothing it prints decides a reward.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self, TypeVar, runtime_checkable

from codegym.types import Capabilities, Change, CommandResult, Manifest, SandboxSpec, ShellState

_T = TypeVar("_T")

DEFAULT_TIMEOUT_SEC = 120.0
DEFAULT_OUTPUT_BYTES = 64_000
_FILE_SEC = 20.0  # reading or writing one file; what takes longer is no ordinary file
MAX_READ_BYTES = 16 * 1024 * 1024


class Sandbox(ABC):
    """One running sandbox over one workspace. Not safe for concurrent calls.

    Raises (every method): ``SandboxError`` where the infrastructure broke. What the code inside
    does (exit, hang, exhaust its limits) is never an error: it is in the result.
    """

    spec: SandboxSpec

    @property
    @abstractmethod
    def state(self) -> ShellState:
        """The shell's directory and exported variables after its last command."""

    @abstractmethod
    async def shell(
        self,
        command: str,
        *,
        timeout_sec: float = DEFAULT_TIMEOUT_SEC,
        max_output_bytes: int = DEFAULT_OUTPUT_BYTES,
    ) -> CommandResult:
        """Run a command in the persistent shell: directory, variables and functions are kept.

        Standard input is ``/dev/null``. A command that ends the shell, or passes its time, ends
        every process in the sandbox; the next finds files, directory and exported variables.
        """

    @abstractmethod
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
        """Run one program in the workspace root, apart from the shell's state.

        Args:
            argv: The program, by absolute path, and its arguments.
            stdin: Its whole standard input.
            env: Variables added to the image's.
            timeout_sec: Wall time; past it all processes in the sandbox are killed.
            max_output_bytes: Bound on the output kept.
            report: Open a pipe at descriptor ``REPORT_FD`` and return what is written to it.
        """

    @abstractmethod
    async def collect(self) -> Manifest:
        """Kill every process, then read the workspace's changes as data, from outside.

        Idempotent; the sandbox can be used again afterwards (its shell starts anew).
        """

    @abstractmethod
    async def fork(self) -> Sandbox:
        """A second sandbox with the same files, directory and exported variables; not processes.

        This one goes on undisturbed (its processes are paused while files are copied).
        """

    @abstractmethod
    async def stop(self) -> None:
        """Kill every process, wait until none is left, free everything. Idempotent."""

    async def read(self, path: str, *, max_bytes: int = MAX_READ_BYTES) -> bytes:
        """Read a regular file, as code inside would.

        Raises:
            ValueError: It does not exist, is no regular file, or is larger than ``max_bytes``.
        """
        script = (
            f"p={shlex.quote(path)}; "
            'if [ ! -e "$p" ]; then echo "no such file" >&2; exit 1; '
            'elif [ ! -f "$p" ]; then echo "not a regular file" >&2; exit 1; fi; '
            f'exec /usr/bin/head -c {max_bytes + 1} -- "$p" >&{REPORT_FD}'
        )
        result = await self.exec(
            ["/bin/sh", "-c", script],
            report=True,
            max_output_bytes=max_bytes + 1,
            timeout_sec=_FILE_SEC,
        )
        if result.exit_code != 0:
            raise ValueError(f"{path}: {result.output.decode(errors='replace').strip()}")
        if len(result.report) > max_bytes:
            raise ValueError(f"{path}: larger than {max_bytes} bytes")
        return result.report

    async def write(self, path: str, data: bytes, *, executable: bool = False) -> None:
        """Write a file, making its folders.

        Raises:
            ValueError: The path cannot be written.
        """
        quoted = shlex.quote(path)
        mode = "755" if executable else "644"
        script = (
            f'if [ -e {quoted} ] && [ ! -f {quoted} ]; then echo "not a regular file"; exit 1; fi; '
            f'/bin/mkdir -p -- "$(/usr/bin/dirname -- {quoted})" && '
            f"/bin/cat > {quoted} && /bin/chmod {mode} -- {quoted}"
        )
        result = await self.exec(["/bin/sh", "-c", script], stdin=data, timeout_sec=_FILE_SEC)
        if result.exit_code != 0:
            raise ValueError(f"{path}: {result.output.decode(errors='replace').strip()}")

    async def apply(self, changes: Sequence[Change]) -> None:
        """Write or delete many files of the workspace (relative paths, already checked).

        Deletions come first, and take the folders with them that they leave empty.

        Raises:
            ValueError: A path cannot be written or deleted.
        """
        deletions = [change.path for change in changes if change.data is None]
        writes = [change for change in changes if change.data is not None]
        for batch in _batches(deletions, len):
            await self._script(_deleting(batch), b"")
        for many in _batches(writes, lambda change: len(change.path)):
            data = b"".join(change.data or b"" for change in many)
            await self._script(_writing(many), data)

    async def _script(self, script: str, stdin: bytes) -> None:
        result = await self.exec(["/bin/sh", "-ec", script], stdin=stdin)
        if result.exit_code != 0:
            raise ValueError(result.output.decode(errors="replace").strip())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        await self.stop()


#: Characters of paths in one script of ``apply``; a program's argument has room for some more.
_SCRIPT_CHARS = 12_000


def _batches(items: Sequence[_T], size: Callable[[_T], int]) -> Iterator[list[_T]]:
    batch: list[_T] = []
    room = _SCRIPT_CHARS
    for item in items:
        if batch and size(item) + 50 > room:
            yield batch
            batch, room = [], _SCRIPT_CHARS
        batch.append(item)
        room -= size(item) + 50
    if batch:
        yield batch


def _deleting(paths: Sequence[str]) -> str:
    script = f"/bin/rm -f -- {shlex.join(paths)}"
    folders = sorted({path.rpartition("/")[0] for path in paths} - {""}, reverse=True)
    if folders:
        script += f"\n/bin/rmdir -p -- {shlex.join(folders)} 2>/dev/null || :"
    return script


def _writing(changes: Sequence[Change]) -> str:
    """A script that cuts its input into files; ``head`` takes no more of a pipe than it is told."""
    lines = []
    folders = sorted({change.path.rpartition("/")[0] for change in changes} - {""})
    if folders:
        lines.append(f"/bin/mkdir -p -- {shlex.join(folders)}")
    for change in changes:
        size = len(change.data or b"")
        lines.append(f"/usr/bin/head -c {size} > {shlex.quote(change.path)}")
    for mode, executable in (("644", False), ("755", True)):
        paths = [change.path for change in changes if change.executable is executable]
        if paths:
            lines.append(f"/bin/chmod {mode} -- {shlex.join(paths)}")
    return "\n".join(lines)


#: The descriptor ``exec(report=True)`` opens in the program.
REPORT_FD = 6


class Backend(Protocol):
    """A way to make sandboxes. One object per event loop; ``close`` ends all that it started."""

    name: str

    def capabilities(self) -> Capabilities:
        """What it can do here. Raises ``UnavailableError``, with the mend, where it cannot run."""
        ...

    @property
    def owner(self) -> tuple[int, int] | None:
        """Host (uid, gid) that workspace layers must belong to, or None for the caller's own."""
        ...

    async def start(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox whose shell is ready. Raises ``SandboxError``."""
        ...

    async def close(self) -> None:
        """Stop all sandboxes. Idempotent."""
        ...


@runtime_checkable
class Telling(Protocol):
    """A backend that now and then takes long, and says so."""

    def tell(self, progress: Callable[[str], None]) -> None:
        """Have somebody told, in words, what takes time."""
        ...
