"""What the envs of one process share: the loop, and one ``Setting`` for each sandbox backend."""

from __future__ import annotations

import os
from collections.abc import Coroutine
from typing import Any, TypeVar

from codegym.envs.loop_thread import LoopThread, loop_thread
from codegym.grading.setting import Setting

T = TypeVar("T")


class Session:
    """A hold on a shared ``Setting``; the last one to close it frees it. Starts when first used.

    Args:
        sandbox: Name of a backend, or ``"auto"``.
    """

    def __init__(self, sandbox: str = "auto") -> None:
        self._sandbox = sandbox
        self._loop: LoopThread | None = None

    def anew(self) -> Session:
        """Another with the same arguments, which holds nothing yet."""
        return Session(self._sandbox)

    @property
    def inherited(self) -> bool:
        """Whether it belongs to the process that this one was forked from."""
        return self._loop is not None and self._loop.pid != os.getpid()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on this process's loop."""
        return (self._loop or loop_thread()).run(coroutine)

    async def setting(self) -> Setting:
        """The shared setting; to be called on the loop (see ``run``)."""
        if self._loop is None:
            loop = loop_thread()
            _hold(loop, self._sandbox)
            self._loop = loop
        return _shared[self._loop.pid, self._sandbox].setting

    def close(self) -> None:
        """Let go. Idempotent."""
        loop, self._loop = self._loop, None
        if loop is not None and loop.pid == os.getpid():
            loop.run(_release(loop.pid, self._sandbox))


class _Shared:
    """A setting and the number of its holders. Touched on the loop only."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.holders = setting, 0


_shared: dict[tuple[int, str], _Shared] = {}


def _hold(loop: LoopThread, sandbox: str) -> None:
    key = loop.pid, sandbox
    if key not in _shared:
        _shared[key] = _Shared(Setting.on(sandbox))
        loop.at_exit(lambda: _close(key))
    _shared[key].holders += 1


async def _release(pid: int, sandbox: str) -> None:
    shared = _shared.get((pid, sandbox))
    if shared is None:
        return  # closed at exit already
    shared.holders -= 1
    if not shared.holders:
        await _close((pid, sandbox))


async def _close(key: tuple[int, str]) -> None:
    shared = _shared.pop(key, None)
    if shared is not None:
        await shared.setting.close()
