"""Care for sandboxes: attempts, copies, ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from codegym.errors import SandboxError
from codegym.sandbox.base import Sandbox
from codegym.types import Manifest

T = TypeVar("T")

#: How often infrastructure is tried before it is a fault.
ATTEMPTS = 3


async def persistently(attempt: Callable[[], Awaitable[T]]) -> T:
    """Try again, on another sandbox, where one failed.

    Raises:
        SandboxError: The last attempt's.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return await attempt()
        except SandboxError:
            await asyncio.sleep(0)
    return await attempt()


async def collect_copy(box: Sandbox) -> Manifest:
    """The work so far, without disturbing what runs."""
    twin = await box.fork()
    try:
        return await twin.collect()
    finally:
        await twin.stop()


async def stop(box: Sandbox | None) -> None:
    """Stop a sandbox, where there is one."""
    if box is not None:
        await box.stop()
