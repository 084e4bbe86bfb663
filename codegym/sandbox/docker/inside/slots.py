"""The folders that sandboxes work in: one sized filesystem each, laid, read and wiped here."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable

from codegym.sandbox.docker.inside import archive

#: What a sandbox can write, and the folder that its first program finds the keeper in.
PARTS = ("ws", "tmp", "home")
BOOT = "boot"


class Slot:
    """One sandbox's files."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._empty = _used(folder)

    def part(self, name: str) -> str:
        """The path of one of its folders."""
        return f"{self.folder}/{name}"

    def prepare(self, extra: list[str]) -> bool:
        """Wipe it and make its folders anew; whether nothing at all was left.

        Args:
            extra: Folders beside the usual ones, for files that are laid into the root.
        """
        wipe(self.folder)
        if _used(self.folder) != self._empty:  # as the kernel counts: not a file, not a block
            return False
        for name in (*PARTS, BOOT, *extra):
            os.mkdir(self.part(name), 0o755)
        return True

    def listen(self) -> socket.socket:
        """Where the container's first program comes to, once."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = f"{self.part(BOOT)}/s"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(1)
        listener.setblocking(False)
        return listener

    def silence(self, listener: socket.socket) -> None:
        """Take the meeting place away: it is for one."""
        listener.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.part(BOOT)}/s")

    def pack(self, send: Callable[[bytes], object]) -> None:
        """Send everything that a sandbox can write."""
        for name in PARTS:
            for piece in archive.pack(self.part(name)):
                send(piece)

    def unpack(self, read: archive.Read) -> None:
        """Write what ``pack`` sent."""
        for name in PARTS:
            archive.unpack(read, self.part(name))

    def write(self, path: str, data: bytes) -> None:
        """Write a file of a folder that its sandbox can only read; any program may run it."""
        full = self.part(path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "xb") as file:
            file.write(data)
        os.chmod(full, 0o755 if data.startswith(b"#!") else 0o644)


def wipe(folder: str) -> None:
    """Remove all that a folder holds, however deep: what is deep is moved up first."""
    number = 0
    while entries := list(os.scandir(folder)):
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            for inner in list(os.scandir(entry.path)):
                if inner.is_dir(follow_symlinks=False):
                    os.chmod(inner.path, 0o700)  # moving a folder writes into it
                    os.rename(inner.path, f"{folder}/.{number}-{os.urandom(8).hex()}")
                    number += 1
                else:
                    os.unlink(inner.path)
            os.rmdir(entry.path)


def _used(folder: str) -> tuple[int, int]:
    seen = os.statvfs(folder)
    return seen.f_bfree, seen.f_ffree
