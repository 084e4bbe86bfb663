"""One connection out of a sandbox, handed to mitmproxy without a listener of mitmproxy's own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from mitmproxy.flow import Flow
from mitmproxy.options import Options
from mitmproxy.proxy import commands, layers
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.proxy.server import LiveConnectionHandler

from .account import Account
from .addon import Addon

#: Hooks at which nothing is decided. One that is neither here nor in `Addon` ends the connection.
_NOTHING_TO_DECIDE = frozenset((
    *("client_connected", "server_connected", "server_disconnected", "http_connected"),
    *("http_connect_error", "tls_clienthello", "tls_established_client"),
    *("tls_established_server", "tls_failed_client", "tls_failed_server"),
))  # fmt: skip
_MODE = ProxyMode.parse("regular")


class CountedReader:
    """What the client sends, until the episode's budget for that is spent."""

    def __init__(self, reader: asyncio.StreamReader, account: Account) -> None:
        self._reader, self._account = reader, account

    async def read(self, size: int) -> bytes:
        """Read some bytes. Raises ``ConnectionAbortedError`` when the budget is spent."""
        data = await self._reader.read(size)
        spent = self._account.spent
        spent.uploaded += len(data)
        if spent.uploaded > self._account.policy.limits.max_upload_bytes:
            raise ConnectionAbortedError("the episode's budget for uploads is spent")
        return data


class Bridge(LiveConnectionHandler):  # type: ignore[misc]
    """mitmproxy's handling of one connection, with every hook answered by ``Addon``."""

    layer: Any

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        options: Options,
        account: Account,
    ) -> None:
        super().__init__(CountedReader(reader, account), writer, options, _MODE)
        self.layer = layers.modes.HttpProxy(self.layer.context)
        self._addon = Addon(account, self.abort)
        self._writer = writer

    def abort(self) -> None:
        """End the connection at once; idempotent."""
        self._writer.transport.abort()

    async def handle_hook(self, hook: commands.StartHook) -> None:
        """Answer a hook; whatever goes wrong, the connection ends and the hook has no answer."""
        with self.timeout_watchdog.disarm():
            (data,) = hook.args()
            try:
                if hook.name not in _NOTHING_TO_DECIDE:
                    answer: Callable[[Any], None] = getattr(self._addon, hook.name)
                    answer(data)
                if isinstance(data, Flow):
                    await data.wait_for_resume()
            except BaseException:
                self.abort()
                raise

    def log(self, message: str, level: int = logging.INFO, exc_info: Any = None) -> None:
        """An error within mitmproxy ends the connection, rather than going on half broken."""
        if level >= logging.ERROR:
            self.abort()
        super().log(message, level, exc_info)
