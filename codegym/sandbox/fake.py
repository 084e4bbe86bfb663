"""A fake sandbox, to test tools and policies without a real one: it runs and isolates nothing.

Commands are answered by a function; files live in a dict. It is never chosen by ``"auto"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from codegym.errors import SandboxError
from codegym.sandbox.base import (
    DEFAULT_OUTPUT_BYTES,
    DEFAULT_TIMEOUT_SEC,
    MAX_READ_BYTES,
    Sandbox,
)
from codegym.types import Capabilities, Change, CommandResult, Manifest, SandboxSpec, ShellState

Answer = Callable[[str], CommandResult]


def _silence(_command: str) -> CommandResult:
    return CommandResult(0, b"")


class FakeBackend:
    """Makes fake sandboxes; a ``Backend``.

    Args:
        answer: Given each shell command (or an ``exec``'s words joined), returns its result.
    """

    name = "fake"
    owner = None

    def __init__(self, answer: Answer = _silence) -> None:
        self._answer = answer

    def capabilities(self) -> Capabilities:
        """Nothing is limited."""
        return Capabilities(self.name, frozenset(), frozenset(), notes=("It runs nothing.",))

    async def start(self, spec: SandboxSpec) -> Sandbox:
        """A fresh one, over the files of ``spec.workspace``."""
        return FakeSandbox(spec, self._answer)

    async def close(self) -> None:
        """Nothing to end."""


class FakeSandbox(Sandbox):
    """A dict of files, and answers."""

    def __init__(
        self, spec: SandboxSpec, answer: Answer, written: Mapping[str, Change] | None = None
    ) -> None:
        self.spec = spec
        self.commands: list[str] = []
        self._answer = answer
        self._written = dict(written or {})
        self._stopped = False

    @property
    def state(self) -> ShellState:
        """Always what it started with."""
        return self.spec.state

    async def shell(
        self,
        command: str,
        *,
        timeout_sec: float = DEFAULT_TIMEOUT_SEC,  # noqa: ARG002
        max_output_bytes: int = DEFAULT_OUTPUT_BYTES,  # noqa: ARG002
    ) -> CommandResult:
        """Answer."""
        if self._stopped:
            raise SandboxError("this sandbox was stopped")
        self.commands.append(command)
        return self._answer(command)

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",  # noqa: ARG002
        env: Mapping[str, str] | None = None,  # noqa: ARG002
        timeout_sec: float = DEFAULT_TIMEOUT_SEC,
        max_output_bytes: int = DEFAULT_OUTPUT_BYTES,
        report: bool = False,  # noqa: ARG002
    ) -> CommandResult:
        """Answer."""
        return await self.shell(
            " ".join(argv), timeout_sec=timeout_sec, max_output_bytes=max_output_bytes
        )

    async def read(self, path: str, *, max_bytes: int = MAX_READ_BYTES) -> bytes:
        """Read what was written, else the workspace's own file."""
        name = self._name(path)
        if name in self._written:
            data = self._written[name].data
        else:
            file = self.spec.workspace / name
            data = file.read_bytes() if file.is_file() else None
        if data is None:
            raise ValueError(f"{path}: no such file")
        if len(data) > max_bytes:
            raise ValueError(f"{path}: larger than {max_bytes} bytes")
        return data

    async def write(self, path: str, data: bytes, *, executable: bool = False) -> None:
        """Keep it."""
        name = self._name(path)
        self._written[name] = Change(name, data, executable)

    async def apply(self, changes: Sequence[Change]) -> None:
        """Keep them."""
        self._written |= {change.path: change for change in changes}

    async def collect(self) -> Manifest:
        """Return what was written."""
        return Manifest(tuple(self._written[name] for name in sorted(self._written)))

    async def fork(self) -> Sandbox:
        """One with the same files."""
        return FakeSandbox(self.spec, self._answer, self._written)

    async def stop(self) -> None:
        """Refuse further commands."""
        self._stopped = True

    def _name(self, path: str) -> str:
        return path.removeprefix(f"{self.spec.mount}/")
