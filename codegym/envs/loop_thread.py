"""One event loop in a thread, per process: how synchronous faces reach the asynchronous core.

It starts when first used, not before. A forked child does not have its parent's thread, so it gets
a loop of its own when it first needs one. At exit the loop runs what was asked of it, then ends.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_INTERRUPT_GRACE_SEC = 30.0


class LoopThread:
    """An event loop that runs in a daemon thread until ``close``."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._at_exit: list[Callable[[], Awaitable[None]]] = []
        self._closed = False
        self._thread = threading.Thread(target=self._main, name="codegym-loop", daemon=True)
        self._thread.start()

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it.

        An interrupt (Ctrl-C) cancels it, waits until it has cleaned up, and is raised again.

        Raises:
            RuntimeError: Called on the loop itself, which would wait for ever, or after ``close``.
        """
        if self._closed or threading.current_thread() is self._thread:
            coroutine.close()
            why = "is closed" if self._closed else "cannot wait for itself"
            raise RuntimeError(f"CodeGym's event loop {why}")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            if not future.done():
                self._cancel(future)
            raise

    def _cancel(self, future: concurrent.futures.Future[Any]) -> None:
        """Cancel, and wait until the task has really ended: the future alone ends at once."""

        async def settle() -> None:
            # The cancellation was sent before this started, so it has reached the task.
            await asyncio.sleep(0)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            cancelled = [task for task in others if task.cancelling()]
            if cancelled:
                await asyncio.wait(cancelled, timeout=_INTERRUPT_GRACE_SEC)

        future.cancel()
        asyncio.run_coroutine_threadsafe(settle(), self._loop).result(_INTERRUPT_GRACE_SEC + 1)

    def at_exit(self, close: Callable[[], Awaitable[None]]) -> None:
        """Have ``close`` awaited before the loop ends, newest first."""
        self._at_exit.append(close)

    def close(self) -> None:
        """End the loop: run what was registered, cancel the rest, stop. Idempotent."""
        if self._closed or self.pid != os.getpid():
            return
        try:
            self.run(self._finish())
        finally:
            self._closed = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=5.0)
            if not self._thread.is_alive():
                self._loop.close()

    async def _finish(self) -> None:
        while self._at_exit:
            await self._at_exit.pop()()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=_INTERRUPT_GRACE_SEC)
        await self._loop.shutdown_default_executor()


class _Process:
    """What this process has: its loop, and the lock under which it is made."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.loop: LoopThread | None = None

    def forget(self) -> None:
        """In a forked child: the thread did not come along, and the lock may have been held."""
        self.lock, self.loop = threading.Lock(), None

    def close(self) -> None:
        if self.loop is not None:
            self.loop.close()


_process = _Process()
os.register_at_fork(after_in_child=_process.forget)
atexit.register(_process.close)


def loop_thread() -> LoopThread:
    """This process's loop, started where it is not yet."""
    with _process.lock:
        if _process.loop is None:
            _process.loop = LoopThread()
        return _process.loop
