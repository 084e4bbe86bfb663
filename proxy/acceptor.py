"""Owns the sockets: one for each episode, in a folder of its own. The listener is the identity."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
from pathlib import Path

from mitmproxy.options import Options

from .account import Account
from .bridge import Bridge

SOCKET = "proxy.sock"


class Listener:
    """An episode's socket and its open connections.

    Bytes are read with plain ``recv``: descriptors that a client sends along are never received.
    """

    def __init__(self, folder: Path, account: Account, options: Options) -> None:
        self._account, self._options = account, options
        self._bridges: set[Bridge] = set()
        self._server: asyncio.Server | None = None
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    async def open(self) -> None:
        """Begin to listen; a socket that a killed proxy left is replaced."""
        listening = _listening(self._folder)
        self._server = await asyncio.start_unix_server(self._serve, sock=listening)

    def close(self) -> None:
        """Stop listening, and end this episode's connections and no others; idempotent."""
        if self._server is not None:
            self._server.close()
        for bridge in self._bridges:
            bridge.abort()
        if self._folder >= 0:
            _remove_socket(self._folder)
            os.close(self._folder)
            self._folder = -1
        self._account.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._bridges) >= self._account.policy.limits.max_connections:
            writer.transport.abort()
            return
        bridge = Bridge(reader, writer, self._options, self._account)
        self._bridges.add(bridge)
        try:
            await bridge.handle_client()
        finally:
            self._bridges.discard(bridge)
            bridge.abort()


def _listening(folder: int) -> socket.socket:
    _remove_socket(folder)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Through the descriptor, as a path may be longer than an address of a socket.
        path = Path(f"/proc/self/fd/{folder}/{SOCKET}")
        listening.bind(str(path))
        path.chmod(0o666)  # whoever sees the folder may connect, whatever their user is called
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _remove_socket(folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.stat(SOCKET, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(SOCKET, dir_fd=folder)
