"""Reading git objects from bytes on disk, whoever wrote them: loose ones, packs, deltas.

An index is never trusted to say what a pack holds, and git itself is not asked: it would look
where alternates and configuration send it.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass

PACK_MAGIC = b"PACK\x00\x00\x00\x02"
MAX_BYTES = 1 << 30
_CHUNK_BYTES = 4096

_KINDS = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}
_OFFSET_DELTA, _NAMED_DELTA = 6, 7


class UnreadableError(ValueError):
    """The bytes are not what git writes."""


@dataclass(frozen=True, slots=True)
class GitObject:
    """One object; ``oid`` is its binary name."""

    oid: bytes
    kind: bytes
    body: bytes


def make_object(kind: bytes, body: bytes) -> GitObject:
    """Name an object."""
    digest = hashlib.sha1(b"%s %d\0" % (kind, len(body)), usedforsecurity=False)
    digest.update(body)
    return GitObject(digest.digest(), kind, body)


def read_loose(data: bytes) -> GitObject:
    """Read the content of a file below ``objects/xx``. Raises ``UnreadableError``."""
    plain, rest = _inflate(data, 0)
    head, mark, body = plain.partition(b"\0")
    kind, _, size = head.partition(b" ")
    if not mark or kind not in _KINDS.values() or size != b"%d" % len(body) or rest != len(data):
        raise UnreadableError("no loose object")
    return make_object(kind, body)


def read_pack(data: bytes) -> list[GitObject]:
    """Read every object of a pack, deltas resolved.

    Raises:
        UnreadableError: It is malformed, has bytes beside its objects, or needs objects that are
            elsewhere (a thin pack).
    """
    if not data.startswith(PACK_MAGIC) or len(data) < 32:
        raise UnreadableError("no pack, version 2")
    reader = _Pack(data)
    for _ in range(struct.unpack(">I", data[8:12])[0]):
        reader.read_entry()
    if reader.at + 20 != len(data):
        raise UnreadableError("bytes beside the objects")
    return reader.resolved()


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """Rebuild an object from another. Raises ``UnreadableError``."""
    size, at = _varint(delta, 0)
    result_size, at = _varint(delta, at)
    if size != len(base):
        raise UnreadableError("a delta of another base")
    out = bytearray()
    while at < len(delta):
        code, at = delta[at], at + 1
        if code & 0x80:
            start, length, at = _copy_range(delta, at, code)
            if start + length > len(base):
                raise UnreadableError("a delta reaches past its base")
            out += base[start : start + length]
        elif code and at + code <= len(delta):
            out += delta[at : at + code]
            at += code
        else:
            raise UnreadableError("a malformed delta")
        if len(out) > result_size:
            break
    if len(out) != result_size:
        raise UnreadableError("a delta of another size")
    return bytes(out)


class _Pack:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 12
        self._whole: dict[int, GitObject] = {}
        self._deltas: dict[int, tuple[int | bytes, bytes]] = {}  # base's offset or name, delta
        self._total = 0

    def read_entry(self) -> None:
        start = self.at
        try:
            byte = self._data[self.at]
            kind, self.at = byte >> 4 & 7, self.at + 1
            while byte & 0x80:  # the size, which the content tells as well
                byte, self.at = self._data[self.at], self.at + 1
            base: int | bytes | None = None
            if kind == _OFFSET_DELTA:
                base = start - self._distance()
            elif kind == _NAMED_DELTA:
                base, self.at = self._data[self.at : self.at + 20], self.at + 20
        except IndexError as error:
            raise UnreadableError("a pack that ends too soon") from error
        body, self.at = _inflate(self._data, self.at)
        self._total += len(body)
        if self._total > MAX_BYTES:
            raise UnreadableError("a pack too large to look into")
        if base is not None:
            self._deltas[start] = base, body
        elif kind in _KINDS:
            self._whole[start] = make_object(_KINDS[kind], body)
        else:
            raise UnreadableError("an entry of no kind")

    def resolved(self) -> list[GitObject]:
        """All objects, deltas applied in as many rounds as their chains are long."""
        named = {found.oid: found for found in self._whole.values()}
        while self._deltas:
            ready = {
                start: base
                for start, (where, _) in self._deltas.items()
                if (base := self._whole.get(where) if isinstance(where, int) else named.get(where))
            }
            if not ready:
                raise UnreadableError("a delta whose base is not in the pack")
            for start, base in ready.items():
                made = make_object(base.kind, apply_delta(base.body, self._deltas.pop(start)[1]))
                self._whole[start] = named[made.oid] = made
        return list(self._whole.values())

    def _distance(self) -> int:
        byte, self.at = self._data[self.at], self.at + 1
        value = byte & 0x7F
        while byte & 0x80:
            byte, self.at = self._data[self.at], self.at + 1
            value = (value + 1) << 7 | byte & 0x7F
        return value


def _inflate(data: bytes, at: int) -> tuple[bytes, int]:
    """Decompress from ``at``; return the content and where it ended."""
    stream = zlib.decompressobj()
    parts: list[bytes] = []
    size = 0
    try:
        while not stream.eof and at < len(data):
            chunk = data[at : at + _CHUNK_BYTES]  # so that what follows is not copied each time
            parts.append(stream.decompress(chunk))
            at += len(chunk) - len(stream.unused_data)
            size += len(parts[-1])
            if size > MAX_BYTES:
                raise UnreadableError("an object too large to look into")
    except zlib.error as error:
        raise UnreadableError("no compressed object") from error
    if not stream.eof:
        raise UnreadableError("a compressed object that does not end")
    return b"".join(parts), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
    raise UnreadableError("a number that does not end")


def _copy_range(delta: bytes, at: int, code: int) -> tuple[int, int, int]:
    """The (start, length) that a copy instruction names, and where it ends."""
    value = 0
    for bit in range(7):
        if code & 1 << bit:
            if at >= len(delta):
                raise UnreadableError("a malformed delta")
            value |= delta[at] << 8 * bit
            at += 1
    return value & 0xFFFFFFFF, value >> 32 or 0x10000, at
