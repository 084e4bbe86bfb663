"""What is inside a file: members of archives, compressed content, git objects; bounded.

What cannot be read is passed over: a repository may keep a broken archive for its tests.
Not looked into: zstd and 7z, encrypted members, encodings such as base64.
"""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator

from codegym.workspace.objects import PACK_MAGIC, UnreadableError, read_pack

MAX_BYTES = 64 * 1024 * 1024  # of one file and all that is in it
MAX_DEPTH = 3

_OPENERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": lambda data: zlib.decompressobj(31).decompress(data, MAX_BYTES),
    b"\x78": lambda data: zlib.decompressobj().decompress(data, MAX_BYTES),
    b"BZh": lambda data: bz2.BZ2Decompressor().decompress(data, MAX_BYTES),
    b"\xfd7zXZ\x00": lambda data: lzma.LZMADecompressor().decompress(data, MAX_BYTES),
    b"\x5d\x00\x00": lambda data: lzma.LZMADecompressor().decompress(data, MAX_BYTES),
}
_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,  # an encrypted member
    NotImplementedError,
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    UnreadableError,
)


def contents(data: bytes) -> Iterator[bytes]:
    """All that can be unpacked from a file, and from what was unpacked; not the file itself."""
    left = MAX_BYTES
    level = [data]
    for _ in range(MAX_DEPTH):
        inner: list[bytes] = []
        for outer in level:
            for member in _members(outer):
                left -= len(member)
                if left < 0:
                    return
                inner.append(member)
                yield member
        level = inner


def _members(data: bytes) -> Iterator[bytes]:
    """What a file holds directly."""
    try:
        if data.startswith(b"PK") or b"PK\x05\x06" in data[-1024:]:
            yield from _zip_members(data)
        if data[257:262] == b"ustar":
            yield from _tar_members(data)
        for magic, opened in _OPENERS.items():
            if data.startswith(magic):
                yield opened(data)
        at = data.find(PACK_MAGIC)  # a bundle has it after some lines of text
        if at >= 0:
            yield from (found.body for found in read_pack(data[at:]))
    except _UNREADABLE:
        return


def _zip_members(data: bytes) -> Iterator[bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            if member.file_size <= MAX_BYTES:
                yield archive.read(member)


def _tar_members(data: bytes) -> Iterator[bytes]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None and member.size <= MAX_BYTES:
                yield file.read()
