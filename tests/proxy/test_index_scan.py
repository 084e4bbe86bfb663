"""What is to be hidden is found wherever it is, and what cannot be looked through is refused."""

import bz2
import gzip
import io
import lzma
import tarfile
import tracemalloc
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.index import scan
from proxy.index.scan import Scanner, UnsearchableError

MARKER = "def the_fix():\n    return 42"
BOTH_ENDS = (MARKER.encode(), MARKER.replace("\n", "\r\n").encode())


def zipped(content, name="a.py", method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("first.txt", "harmless" * 50)
        archive.writestr(name, content)
    return buffer.getvalue()


def tarred(content, mode="w:gz", name="pkg/a.py"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


WRAPPED = {
    "plain": lambda content: b"x" * 5000 + content,
    "zip": zipped,
    "lzma zip": lambda content: zipped(content, method=zipfile.ZIP_LZMA),
    "tar": lambda content: tarred(content, "w"),
    "tar.gz": tarred,
    "tar.bz2": lambda content: tarred(content, "w:bz2"),
    "tar.xz": lambda content: tarred(content, "w:xz"),
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "wheel in sdist": lambda content: tarred(zipped(content), name="pkg/vendor/a.whl"),
    "sdist in wheel": lambda content: zipped(tarred(content), "a/a.tar.gz"),
    "zip behind a program": lambda content: b"#!/usr/bin/python\n" + zipped(content),
    "zip in zip in tar.gz": lambda content: tarred(zipped(zipped(content), "x.bin")),
}


@pytest.fixture
def file(tmp_path):
    def written(content):
        path = tmp_path / "file"
        path.write_bytes(content)
        return path

    return written


@pytest.mark.parametrize("marker", BOTH_ENDS)
@pytest.mark.parametrize("wrapped", WRAPPED.values(), ids=WRAPPED)
def test_a_marker_is_found(file, wrapped, marker):
    scanner = Scanner(("never", MARKER))
    assert scanner.finds(file(wrapped(b"a\n" + marker + b"\nb")))
    assert not scanner.finds(file(wrapped(b"a\n" + marker[:-1] + b"\nb")))


def test_what_is_written_with_returns_is_found_without_them(file):
    scanner = Scanner((MARKER.replace("\n", "\r\n"),))
    assert scanner.finds(file(MARKER.encode()))


def test_without_markers_nothing_is_opened(file):
    assert not Scanner(("", " \n")).finds(file(b"PK\x03\x04 no archive"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(before=st.integers(0, 70), after=st.binary(max_size=5), markers=st.sets(st.text(min_size=1)))
def test_a_marker_is_found_across_pieces(file, monkeypatch, before, after, markers):
    monkeypatch.setattr(scan, "_CHUNK_BYTES", 16)
    scanner = Scanner((*markers, MARKER))
    assert scanner.finds(file(b"x" * before + MARKER.encode() + after))


def cut(content):
    return content[: len(content) // 2]


def bomb():
    return gzip.compress(bytes(9_000_000))


def deep():
    content = b"x"
    for _ in range(scan.MAX_DEPTH + 1):
        content = zipped(content, "x.zip")
    return content


UNSEARCHABLE = {
    "half a tar.gz": lambda: cut(tarred(bytes(range(256)) * 999)),
    "a damaged zip": lambda: zipped(b"abc", method=zipfile.ZIP_STORED).replace(b"abc", b"abd"),
    "a zip with a password": lambda: zipped(b"x").replace(
        b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
    ),
    "more than may be": bomb,
    "more in an archive": lambda: zipped(bomb(), "x.gz"),
    "too many layers": deep,
}


@pytest.mark.parametrize("made", UNSEARCHABLE.values(), ids=UNSEARCHABLE)
def test_what_cannot_be_looked_through_is_refused(file, made):
    path = file(made())
    tracemalloc.start()
    with pytest.raises(UnsearchableError):
        Scanner((MARKER,), max_bytes=4 << 20).finds(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20


def test_too_many_members_are_refused(file, monkeypatch):
    monkeypatch.setattr(scan, "MAX_MEMBERS", 3)
    assert not Scanner((MARKER,)).finds(file(zipped(b"x")))
    with pytest.raises(UnsearchableError, match="members"):
        Scanner((MARKER,)).finds(file(zipped(zipped(b"x"), "x.zip")))


def test_an_archive_within_that_is_damaged_is_bytes(file):
    scanner = Scanner((MARKER,))
    damaged = cut(tarred(bytes(range(256)) * 999))
    assert not scanner.finds(file(zipped(damaged, "tests/broken.tar.gz")))
    assert scanner.finds(file(zipped(damaged + MARKER.encode(), "tests/broken.tar.gz")))


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_links_and_devices_are_not_followed(file, mode):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            info = tarfile.TarInfo(f"x{kind!r}")
            info.type, info.linkname = kind, "/dev/zero"
            archive.addfile(info)
    assert not Scanner((MARKER,)).finds(file(buffer.getvalue()))
