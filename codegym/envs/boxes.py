"""Care for sandboxes: attempts, copies, ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from codegym.envs.network import Network
from codegym.errors import SandboxError
from codegym.grading.setting import Ready, Setting
from codegym.network.ways import Keeping, Way
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


async def start(
    setting: Setting, ready: Ready, network: Network | None, keeping: Keeping
) -> tuple[Sandbox, Way | None]:
    """A policy's sandbox, and its way out where it has one."""
    if network is None:
        return await setting.start(ready), None
    way = await network.open(ready, keeping)
    try:
        return await setting.start(ready, network.spec(ready.start_spec, way)), way
    except BaseException:
        await stop(None, way)
        raise


async def stop(box: Sandbox | None, way: Way | None) -> None:
    """Stop a sandbox and close its way out, where there are such."""
    try:
        if box is not None:
            await box.stop()
    finally:
        if way is not None:
            await asyncio.to_thread(way.close)
