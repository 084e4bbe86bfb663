"""The register of checks."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from codegym.sandbox.base import Backend, Sandbox
from codegym.types import CommandResult, SandboxSpec

Check = Callable[[Backend, SandboxSpec], Awaitable[None]]

#: Every check, by name, in the order of definition.
CHECKS: dict[str, Check] = {}


class ConformanceError(Exception):
    """A backend does not do what the interface promises."""


def check(body: Callable[[Sandbox], Awaitable[None]]) -> Callable[[Sandbox], Awaitable[None]]:
    """Register a check of one fresh sandbox."""

    async def run(backend: Backend, spec: SandboxSpec) -> None:
        async with await backend.start(spec) as box:
            await body(box)

    CHECKS[body.__name__] = run
    return body


def check_backend(body: Check) -> Check:
    """Register a check that starts its own sandboxes."""
    CHECKS[body.__name__] = body
    return body


def expect(holds: bool, promise: str, seen: object = "") -> None:
    """Raise ``ConformanceError`` unless ``holds``."""
    if not holds:
        raise ConformanceError(f"{promise}; seen: {seen!r}")


async def says(box: Sandbox, command: str, **options: float) -> str:
    """What a shell command prints."""
    return text(await box.shell(command, timeout_sec=options.get("timeout_sec", 60.0)))


async def python(box: Sandbox, code: str) -> CommandResult:
    """Run Python code inside."""
    return await box.exec([box.spec.image.python, "-c", code], timeout_sec=60.0)


def text(result: CommandResult) -> str:
    """A result's output as text."""
    return result.output.decode(errors="replace").strip()


def workspace(folder: Path, owner: tuple[int, int] | None) -> None:
    """Fill a layer with the tree that the checks expect."""
    (folder / "package").mkdir()
    (folder / "README").write_text("hello\n")
    (folder / "package" / "module.py").write_text("VALUE = 1\n")
    (folder / "package" / "other.py").write_text("VALUE = 2\n")
    if owner:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, *owner)
