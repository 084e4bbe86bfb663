"""Looks through a downloaded file, and the archives in it, for strings that must not pass.

What is looked through has bounds, so that a small file that unpacks to a huge one ends the search
and not the machine. A file beyond them does not pass.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Protocol

#: Bytes that a file, its members, and archives among them unpack to, all together.
MAX_UNPACKED_BYTES = 2 << 30
MAX_MEMBERS = 200_000
#: Layers: a `.tar.gz` is two, what is in it is the third.
MAX_DEPTH = 5
_CHUNK_BYTES = 1 << 20


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


_COMPRESSED: dict[bytes, Callable[[IO[bytes]], _Readable]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
#: What reading a damaged archive raises.
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError),
)


class UnsearchableError(Exception):
    """A file cannot be looked through: it is damaged, or more than may be looked at."""


class _DamagedError(Exception):
    pass


class Scanner:
    """Looks for strings.

    Args:
        markers: The strings; the ends of their lines may be written in either way.
        max_bytes: Bytes that a file may unpack to.
    """

    def __init__(self, markers: tuple[str, ...], max_bytes: int = MAX_UNPACKED_BYTES) -> None:
        plain = {each.replace("\r\n", "\n") for each in markers if each.strip()}
        both = plain | {each.replace("\n", "\r\n") for each in plain}
        self._markers = sorted(each.encode() for each in both)
        self._max_bytes = max_bytes

    def finds(self, path: Path) -> bool:
        """Whether any of the strings is in a file, or in anything that it unpacks to.

        Raises:
            UnsearchableError: It cannot be looked through.
        """
        if not self._markers:
            return False
        with path.open("rb") as file:
            return _Search(self._markers, self._max_bytes, path.parent).content(file, 0)


class _Search:
    """One search, with what is left of its bounds."""

    def __init__(self, markers: list[bytes], max_bytes: int, folder: Path) -> None:
        self._markers, self._overlap = markers, max(map(len, markers)) - 1
        self._bytes, self._members, self._folder = max_bytes, MAX_MEMBERS, folder

    def content(self, file: IO[bytes], depth: int) -> bool:
        """Search bytes as they are, then what they unpack to."""
        if self._has_marker(file):
            return True
        try:
            return any(self._unpacked(part, depth + 1) for part in _parts(file))
        except _DamagedError as error:
            if depth == 0:
                raise UnsearchableError(f"it cannot be unpacked: {error}") from error
            return False  # for whoever gets it, too, there are only its bytes

    def _has_marker(self, file: IO[bytes]) -> bool:
        file.seek(0)
        tail = b""
        while chunk := file.read(_CHUNK_BYTES):
            seen = tail + chunk
            if any(marker in seen for marker in self._markers):
                return True
            tail = seen[-self._overlap :] if self._overlap else b""
        return False

    def _unpacked(self, part: _Readable, depth: int) -> bool:
        self._members -= 1
        if depth > MAX_DEPTH or self._members < 0:
            raise UnsearchableError("it has more archives in archives, or members, than may be")
        with tempfile.SpooledTemporaryFile(_CHUNK_BYTES, dir=str(self._folder)) as copy:
            for chunk in _chunks(part):
                self._bytes -= len(chunk)
                if self._bytes < 0:
                    raise UnsearchableError("it unpacks to more than may be looked at")
                copy.write(chunk)
            return self.content(copy, depth)


def _chunks(stream: _Readable) -> Iterator[bytes]:
    try:
        while chunk := stream.read(_CHUNK_BYTES):
            yield chunk
    except _DAMAGED as error:
        raise _DamagedError(str(error)) from error


def _parts(file: IO[bytes]) -> Iterator[_Readable]:
    """What an archive holds, or what compressed bytes are; nothing for other files."""
    try:
        file.seek(0)
        head = file.read(8)
        file.seek(0)
        for magic, opened in _COMPRESSED.items():
            if head.startswith(magic):
                yield opened(file)
                return
        tar = _tar(file)
        if tar is not None:
            with tar:
                for member in tar:
                    if member.isreg() and (stream := tar.extractfile(member)):
                        yield stream
        elif zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                for info in archive.infolist():
                    with archive.open(info) as stream:
                        yield stream
    except _DAMAGED as error:
        raise _DamagedError(str(error)) from error


def _tar(file: IO[bytes]) -> tarfile.TarFile | None:
    try:
        return tarfile.TarFile(fileobj=file)
    except tarfile.TarError:
        file.seek(0)
        return None
