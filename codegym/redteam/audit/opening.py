"""What is within bytes: compressed streams anywhere in them, git's packs, other encodings.

Streams are found by how they begin, wherever that is: a member of a wheel in a tar, an object in a
pack, bytes after a program. What is decoded is decoded again, within bounds. Not undone:
encryption, zstd and 7z, base85 and rarer encodings, text that a program puts together.
"""

from __future__ import annotations

import binascii
import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from codegym.workspace.objects import PACK_MAGIC, UnreadableError, read_pack

MAX_BYTES = 64 << 20  # of one thing that is decoded
MAX_DEPTH = 5
_SHORTEST = 12
_STEP_BYTES = 64 << 10

_CONTROLS = bytes({*range(32)} - {*b"\t\n\r\f\x1b"})
_LETTERS_IN_A_ROW = 8
_DIGITS = rb"[A-Za-z0-9+/_-]"
_CLASS = bytes(bool(re.match(_DIGITS, bytes([code]))) for code in range(256))
_SHORTEST_RUN = b"\1" * 24
_RUN = re.compile(rb"%b{24,}(?:\s{1,2}%b{16,})*" % (_DIGITS, _DIGITS))
_SPACE = re.compile(rb"\s+")
_HEX = re.compile(rb"[0-9a-fA-F]+")
_ESCAPE = re.compile(rb"\\(?:[\\\"'ntr/]|x[0-9a-fA-F]{2}|u00[0-9a-fA-F]{2})")
_PLAIN = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}
_URL = bytes.maketrans(b"-_", b"+/")


@dataclass(frozen=True, slots=True)
class View:
    """Bytes that were found in others; ``how`` says where and by what, ``""`` for a file's own."""

    data: bytes
    how: str = ""
    depth: int = 0


class _Stream(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


_LEVELS = (0x01, 0x5E, 0x9C, 0xDA)
_Deflated = type(zlib.decompressobj())
#: How streams begin, each with what it is called and what opens it; a zip's has a header first.
_OPENERS: dict[bytes, tuple[str, Callable[[], _Stream]]] = {
    b"\x1f\x8b\x08": ("gzip", lambda: zlib.decompressobj(31)),
    b"BZh": ("bzip2", bz2.BZ2Decompressor),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMADecompressor),
    b"PK\x03\x04": ("zip", lambda: zlib.decompressobj(-15)),
    **{bytes([0x78, level]): ("zlib", lambda: zlib.decompressobj(15)) for level in _LEVELS},
}


def views(data: bytes) -> Iterator[View]:
    """The bytes themselves, and all that is within them, outermost first."""
    pending = [View(data)]
    left = 4 * MAX_BYTES
    while pending:
        view = pending.pop(0)
        yield view
        if view.depth == MAX_DEPTH:
            continue
        for how, inner in _within(view.data):
            left -= len(inner)
            if left < 0:
                return
            how = f"{view.how} > {how}" if view.how else how
            pending.append(View(inner, how, view.depth + 1))


def _within(data: bytes) -> Iterator[tuple[str, bytes]]:
    if _is_wide(data):
        yield "UTF-16 or UTF-32", data.replace(b"\0", b"")
    if b"\\" in data and _is_text(data) and _ESCAPE.search(data):
        yield "escapes", _ESCAPE.sub(_unescaped, data)
    yield from _text_runs(data)
    if data.startswith(b"\x5d\x00\x00"):
        yield "lzma", _inflated(data, 0, lzma.LZMADecompressor())[0]
    for magic in _OPENERS:
        at = data.find(magic)
        while at >= 0:
            opened, after = _stream(data, at, magic)
            yield from opened
            at = data.find(magic, after)
    at = data.find(PACK_MAGIC)
    if at >= 0:
        yield from _packed(data, at)


def _is_text(data: bytes) -> bool:
    head = data[:_STEP_BYTES]
    return b"\0" not in data and len(head.translate(None, _CONTROLS)) == len(head)


def _is_wide(data: bytes) -> bool:
    """Whether some letters in a row have NULs between them, as in UTF-16 and UTF-32."""
    if b"\0" not in data:
        return False
    array = np.frombuffer(data, np.uint8)
    for width in (2, 4):
        for at in range(width):
            rows = array[at : at + (len(array) - at) // width * width].reshape(-1, width)
            letters = (rows[:, 0] >= 32) & (rows[:, 0] < 127)
            for column in range(1, width):
                letters &= rows[:, column] == 0
            if b"\1" * _LETTERS_IN_A_ROW in letters.tobytes():
                return True
    return False


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[0][1:]
    if len(code) > 1:
        return bytes([int(code[-2:], 16)])
    return _PLAIN.get(code, code)


def _text_runs(data: bytes) -> Iterator[tuple[str, bytes]]:
    """All runs of base64 digits, and of hexadecimal ones, decoded from each possible beginning."""
    base: list[bytes] = []
    hexes: list[bytes] = []
    for run in _runs(data):
        if _HEX.fullmatch(run):
            hexes += [binascii.unhexlify(run[at : len(run) - (len(run) - at) % 2]) for at in (0, 1)]
        if run.lower() != run:  # else it is a name, or a line drawn with dashes
            text = run.translate(_URL)
            base += [_from_base64(text[at:]) for at in range(4)]
    if base:
        yield "base64", b"\n".join(base)
    if hexes:
        yield "hexadecimal", b"\n".join(hexes)


def _from_base64(text: bytes) -> bytes:
    """Decode digits without their padding; a last one that stands alone is none."""
    whole = text[: len(text) - (len(text) % 4 == 1)]
    return binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))


def _runs(data: bytes) -> Iterator[bytes]:
    """Long runs of digits, line ends within them left out."""
    classes = data.translate(_CLASS)  # a search in it is far quicker than the expression's own
    at = classes.find(_SHORTEST_RUN)
    while at >= 0 and (found := _RUN.match(data, at)):
        yield _SPACE.sub(b"", found[0])
        at = classes.find(_SHORTEST_RUN, found.end())


def _stream(data: bytes, at: int, magic: bytes) -> tuple[list[tuple[str, bytes]], int]:
    """What is compressed at a place, and where to go on looking."""
    name, make = _OPENERS[magic]
    begin = _member_begins(data, at) if name == "zip" else at
    body, end = _inflated(data, begin, make()) if begin is not None else (b"", 0)
    opened = [(f"{name} at {at}", body)] if len(body) >= _SHORTEST else []
    return opened, max(end, at + 1) if opened else at + 1


def _member_begins(data: bytes, at: int) -> int | None:
    """Where a deflated member's bytes begin; None for one that is stored, or of another method."""
    if len(data) < at + 30:
        return None
    method, name, extra = (int.from_bytes(data[at + i : at + i + 2], "little") for i in (8, 26, 28))
    return at + 30 + name + extra if method == 8 else None


def _inflated(data: bytes, at: int, stream: _Stream) -> tuple[bytes, int]:
    """All that comes out, up to the first fault; and the end of what went in."""
    parts: list[bytes] = []
    size = 0
    while not stream.eof and at < len(data) and size < MAX_BYTES:
        chunk = data[at : at + _STEP_BYTES]
        before = stream.copy() if isinstance(stream, _Deflated) else None
        try:
            part = stream.decompress(chunk, MAX_BYTES - size)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
            return b"".join([*parts, *_salvaged(chunk, before)]), 0
        at += len(chunk) - len(stream.unused_data)
        parts.append(part)
        size += len(part)
    return b"".join(parts), at


def _salvaged(chunk: bytes, stream: _Stream | None) -> Iterator[bytes]:
    """What comes out before a fault, byte by byte: a wrong checksum comes after all of it."""
    if stream is None:
        return
    for at in range(len(chunk)):
        try:
            yield stream.decompress(chunk[at : at + 1])
        except zlib.error:
            return


def _packed(data: bytes, at: int) -> Iterator[tuple[str, bytes]]:
    """Objects of a git pack: those made from deltas are in no stream as they are."""
    try:
        bodies = [each.body for each in read_pack(data[at:])]
    except UnreadableError:
        return  # torn, thin or followed by more: its streams are looked into one by one
    yield f"git pack at {at}", b"\n".join(bodies)
