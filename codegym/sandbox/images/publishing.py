"""Publishing a layer that asynchronous code builds."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from codegym.store import LayerStore
from codegym.store.cache import full_disk_explained


class _AbandonedError(Exception):
    """Ends the waiting thread; never leaves this module."""


async def publish(store: LayerStore, key: str, build: Callable[[Path], Awaitable[None]]) -> Path:
    """``LayerStore.publish`` for a coroutine, which runs here, in the caller's task.

    A thread of its own waits for the lock (another process may hold it for minutes) and keeps it
    while ``build`` runs, so the event loop goes on and a cancelled caller leaves nothing behind.

    Raises:
        UnavailableError: The disk is full. Whatever ``build`` raises.
    """
    found = store.find(key)
    if found is not None:
        return found
    loop = asyncio.get_running_loop()
    draft: asyncio.Future[Path] = loop.create_future()
    built: concurrent.futures.Future[None] = concurrent.futures.Future()

    def wait_for_build(dest: Path) -> None:
        if not built.done():  # else the caller was cancelled while it waited
            loop.call_soon_threadsafe(draft.set_result, dest)
        built.result()

    pool = ThreadPoolExecutor(1, "codegym-publish")
    try:
        published = loop.run_in_executor(pool, store.publish, key, wait_for_build)
        try:
            await asyncio.wait({published, draft}, return_when=asyncio.FIRST_COMPLETED)
            if not published.done():
                with full_disk_explained(store.root):
                    await build(draft.result())
        except BaseException:
            built.set_exception(_AbandonedError())
            if draft.done():  # the thread removes the draft; that is quick
                await asyncio.wait({published})
            published.add_done_callback(lambda done: done.exception())  # nobody awaits it
            raise
        if not built.done():
            built.set_result(None)
        return await published
    finally:
        pool.shutdown(wait=False)
