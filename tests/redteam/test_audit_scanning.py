"""The audit's eyes: each way in which an answer can lie around is laid out, and seen."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import itertools
import json
import lzma
import marshal
import py_compile
import struct
import tarfile
import textwrap
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import git, make_tiny_environment, tiny_task

from codegym.errors import SandboxError, UnavailableError
from codegym.redteam.audit import bytecode
from codegym.redteam.audit.matching import ANCHOR_BYTES, Matcher
from codegym.redteam.audit.needles import Needle, make_subject, needles_of
from codegym.redteam.audit.opening import views
from codegym.redteam.audit.reading import OVERLAP_BYTES, WINDOW_BYTES, Entry, batches, look
from codegym.redteam.audit.scanning import Scanner
from codegym.sandbox.fake import FakeBackend
from codegym.types import CommandResult, Image, SandboxSpec

MARKER = b"FIX_0123456789abcdef"
TEXT = (
    b"#" * 300
    + b"\n# the answer: "
    + MARKER
    + b' "quoted" and long enough to be cut by line ends\n'
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("env"))


def zipped(data: bytes, name: str = "pkg/x.py", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(name, data)
    return out.getvalue()


def tarred(data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("dist/x")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def compiled(tmp_path, source: bytes) -> bytes:
    (tmp_path / "x.py").write_bytes(source)
    py_compile.compile(str(tmp_path / "x.py"), str(tmp_path / "x.pyc"), doraise=True)
    return (tmp_path / "x.pyc").read_bytes()


FORMS = {
    "as it is": lambda t: t,
    "UTF-16": lambda t: t.decode().encode("utf-16"),
    "UTF-16, big end first": lambda t: t.decode().encode("utf-16-be"),
    "UTF-32": lambda t: t.decode().encode("utf-32-le"),
    "UTF-32, big end first": lambda t: b"\xff" + t.decode().encode("utf-32-be"),
    "base64": base64.b64encode,
    "base64 in lines": base64.encodebytes,
    "base64 for addresses": lambda t: base64.urlsafe_b64encode(b"\xff\xfe\xfb" + t),
    "base64 after a letter": lambda t: b"x" + base64.b64encode(t),
    "base64 after two": lambda t: b"xy" + base64.b64encode(t),
    "base64 of a part": lambda t: base64.b64encode(t[1:]),
    "hexadecimal": lambda t: t.hex().encode(),
    "hexadecimal, upper": lambda t: t.hex().upper().encode(),
    "hexadecimal after a digit": lambda t: b"7" + t.hex().encode(),
    "a string of JSON": lambda t: json.dumps({"a": json.dumps(t.decode())}).encode(),
    "a string of Python": lambda t: repr(t.decode()).encode(),
    "zlib": zlib.compress,
    "zlib, best": lambda t: zlib.compress(t, 9),
    "gzip": gzip.compress,
    "two gzips in a row": lambda t: gzip.compress(b"before" * 9) + gzip.compress(t),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda t: lzma.compress(t, lzma.FORMAT_ALONE),
    "zip": zipped,
    "zip, stored": lambda t: zipped(t, method=zipfile.ZIP_STORED),
    "zip, bzip2": lambda t: zipped(t, method=zipfile.ZIP_BZIP2),
    "zip without its end": lambda t: zipped(t)[:-40],
    "zip after a program": lambda t: b"#!/bin/sh\n" + zipped(t),
    "a name in a zip": lambda t: zipped(b"", name=MARKER.decode() + ".py"),
    "tar": tarred,
    "tar.gz": lambda t: gzip.compress(tarred(t)),
    "tar.xz": lambda t: lzma.compress(tarred(t)),
    "a wheel in a tar": lambda t: tarred(zipped(t)),
    "a tar.gz in a wheel": lambda t: zipped(gzip.compress(tarred(t))),
    "base64 of a wheel in gzip": lambda t: gzip.compress(base64.encodebytes(zipped(t))),
    "zlib in base64 in JSON": lambda t: json.dumps(
        {"x": base64.b64encode(zlib.compress(t)).decode()}
    ).encode(),
    "within other bytes": lambda t: bytes(range(256)) * 50 + zlib.compress(t) + bytes(range(256)),
    "a torn stream": lambda t: gzip.compress(t + b"x" * 10_000)[:-20],
}


def hits(data: bytes, *needles: Needle) -> set[int]:
    return {hit.needle for hit in Scanner(needles).scan(data)}


@pytest.mark.parametrize("form", FORMS)
def test_a_marker_is_seen_in_each_form(form):
    data = FORMS[form](TEXT)
    assert hits(data, Needle("marker", MARKER, ""), Needle("marker", b"something else", "")) == {0}
    assert hits(FORMS[form](TEXT.replace(MARKER, b"x")).replace(MARKER, b"x"),
                Needle("marker", MARKER, "")) == set()  # fmt: skip


def test_a_marker_is_seen_in_bytecode(tmp_path):
    for source in (b'"""%b"""', b"def %b(): pass", b"def f():\n    return {'%b': 1}", b"x.%b = 1"):
        data = compiled(tmp_path, source % MARKER)
        assert hits(data, Needle("marker", MARKER, "")) == {0}


def test_it_says_where():
    (hit,) = Scanner([Needle("marker", MARKER, "")]).scan(TEXT)
    assert (hit.offset, hit.line, hit.how) == (TEXT.index(MARKER), 2, "")
    (hit,) = Scanner([Needle("marker", MARKER, "")]).scan(b"....." + gzip.compress(zipped(TEXT)))
    assert (hit.offset, hit.line) == (TEXT.index(MARKER), 2)
    assert hit.how == "gzip at 5 > zip at 0"


def test_objects_of_git_are_opened(tmp_path):
    """Loose ones, and packed ones that are made from others."""
    git(tmp_path, "init", "-q")
    lines = "".join(f"line {number} of many\n" for number in range(500))
    # Cut in two, the marker is in no stream: only the object made from the delta has it.
    half = MARKER.decode()[:10]
    for text in (lines + half + "\n" + lines, lines + half + MARKER.decode()[10:] + "\n" + lines):
        name = git(tmp_path, "hash-object", "-w", "--stdin", stdin=text).strip()
        loose = (tmp_path / ".git/objects" / name[:2] / name[2:]).read_bytes()
        assert hits(loose, Needle("marker", MARKER, "")) == (
            {0} if MARKER.decode() in text else set()
        )
    names = git(tmp_path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    git(tmp_path, "pack-objects", "-q", "p", stdin=names)
    (pack,) = tmp_path.glob("p-*.pack")
    assert hits(pack.read_bytes(), Needle("marker", MARKER, "")) == {0}
    bundled = b"# v2 git bundle\n\n" + pack.read_bytes()
    assert hits(bundled, Needle("marker", MARKER, "")) == {0}


def test_what_is_opened_is_bounded():
    bomb = zlib.compress(zlib.compress(bytes(1 << 27), 9), 9)
    assert sum(len(view.data) for view in views(bomb)) < 1 << 28


needle = st.binary(min_size=ANCHOR_BYTES, max_size=14).map(lambda b: bytes(c % 3 + 97 for c in b))


@given(st.lists(needle, min_size=1, max_size=6, unique=True), st.binary(max_size=200), st.data())
def test_the_matcher_finds_what_a_plain_search_does(strings, data, draw):
    data = bytes(code % 3 + 97 for code in data)
    at = draw.draw(st.integers(0, len(data)))
    data = data[:at] + strings[0] + data[at:]
    plain = {
        (number, place)
        for number, string in enumerate(strings)
        for place in range(len(data))
        if data.startswith(string, place)
    }
    assert set(Matcher(strings, common=data[:50]).find(data)) == plain


@pytest.mark.parametrize("around", [-9, -8, -1, 0, 1, 7, 8])
def test_the_matcher_sees_across_its_own_bounds(around):
    at = (4 << 20) + around
    data = bytes(at) + MARKER + bytes(9)
    assert list(Matcher([MARKER]).find(data)) == [(0, at)]


SOLVED = '''
def settle(entries, limit):
    """Return the entries that are due."""
    due = []
    for entry in entries:
        if entry.deadline <= limit and not entry.cancelled:
            due.append(entry.amount * entry.quantity)
    return sorted(due, reverse=True)
'''
FAULTY = SOLVED.replace("<=", "<")
REWRITTEN = """
class Old:
    async def other(self): pass
    def take(things, bound):
        found = []
        for thing in things:
            if (thing.deadline <= bound
                    and not thing.cancelled):  # laid out in another way
                found.append(thing.amount * thing.quantity)
        return sorted(found, reverse=True)
"""


def gold_needles(environment, *, kind: str = "FixTests", faulty: str = FAULTY) -> list[Needle]:
    """Of a task that changes ``settle``, and hides the test of it."""
    patch = _writing("src/tinycalc/settling.py", faulty, SOLVED)
    test = "def test_settle_keeps_what_is_due_today():\n    assert settle([entry], 3) == [20, 17]\n"
    task = replace(
        tiny_task(environment),
        instance_id="tiny-settle-0001",
        kind=kind,
        start_patch=_writing("src/tinycalc/settling.py", "", faulty),
        test_patch=_writing("tests/test_settling.py", "", test),
        patch=patch,
        fail_to_pass=("tests/test_settling.py::test_settle_keeps_what_is_due_today",),
        hidden=frozenset({"tests/test_settling.py::test_settle_keeps_what_is_due_today"}),
    )
    return needles_of([make_subject(task, environment)])


def _writing(path: str, old: str, new: str) -> str:
    sides = [text.splitlines() for text in (old, new)]
    body = "".join(
        f"{sign}{line}\n" for sign, side in zip("-+", sides, strict=True) for line in side
    )
    first = f"--- a/{path}" if old else "--- /dev/null"
    spans = [f"{min(1, len(side))},{len(side)}" for side in sides]
    return f"{first}\n+++ b/{path}\n@@ -{spans[0]} +{spans[1]} @@\n{body}"


def kinds(needles: list[Needle], data: bytes) -> set[str]:
    return {needles[hit.needle].kind for hit in Scanner(needles).scan(data)}


def test_a_copy_that_was_renamed_and_laid_out_anew_is_seen(environment):
    needles = gold_needles(environment)
    assert kinds(needles, REWRITTEN.encode()) == {"copy"}
    assert kinds(needles, REWRITTEN.replace("<=", "<").encode()) == set()


def test_a_gold_line_is_seen(environment):
    needles = gold_needles(environment)
    line = b"        if entry.deadline <= limit and not entry.cancelled:"
    assert kinds(needles, b"x\n" + line) == {"gold"}
    assert kinds(needles, line.replace(b"<=", b"<")) == set()
    assert kinds(needles, b"from collections import Counter\nimport os\n") == set()


def test_a_compiled_function_is_seen_whatever_became_of_its_text(environment, tmp_path):
    """Its operators cannot be told; that it is this function can."""
    needles = gold_needles(environment)
    bare = textwrap.dedent(SOLVED.replace('"""Return the entries that are due."""', "pass"))
    assert kinds(needles, compiled(tmp_path, bare.encode())) == {"bytecode"}
    assert kinds(needles, zipped(compiled(tmp_path, bare.encode()), "x.pyc")) == {"bytecode"}
    other = b"def settle(entries, limit):\n    return [e.deadline for e in entries if e.due(limit)]"
    assert kinds(needles, compiled(tmp_path, other)) == set()


def test_hidden_tests_and_rows_are_seen(environment):
    needles = gold_needles(environment)
    cache = b'["tests/test_settling.py::test_settle_keeps_what_is_due_today"]'
    assert kinds(needles, cache) == {"hidden-id"}
    assert kinds(needles, b"    assert settle([entry], 3) == [20, 17]") == {"hidden-body"}
    assert kinds(needles, b'{"instance_id": "tiny-settle-0001"}') == {"row"}
    assert kinds(needles, b'{"FAIL_TO_PASS": []}') == {"row"}


def test_deleted_symbols_are_seen_in_a_tools_cache(environment):
    stub = "def settle(entries, limit):\n    raise NotImplementedError\n"
    needles = gold_needles(environment, kind="ImplementFeature", faulty=stub)
    cached = b'{"names": {"settle": {"fullname": "tinycalc.settling.settle", "kind": "Gdef"}}}'
    assert kinds(needles, cached) == {"symbol"}
    stubs = b'def settle(entries, limit):\n    """Return the entries that are due."""\n    ...\n'
    assert "gold" in kinds(needles, stubs)


def test_a_files_older_bytecode_is_read(tmp_path):
    """3.8 to 3.10 keep a code object's parts in another order."""

    def text(kind: bytes, value: str) -> bytes:
        return kind + bytes([len(value)]) + value.encode()

    def several(*parts: bytes) -> bytes:
        return b")" + bytes([len(parts)]) + b"".join(parts)

    code = b"c" + struct.pack("<6i", 1, 0, 0, 1, 1, 0) + b"s" + struct.pack("<i", 2) + b"S\0"
    code += several(text(b"z", "a constant"), b"N") + several(text(b"Z", "deadline"))
    code += several(text(b"Z", "entries")) + several() + several() + text(b"z", "x.py")
    code += text(b"Z", "settle") + struct.pack("<i", 1) + b"s" + struct.pack("<i", 0)
    (found,) = bytecode.codes(struct.pack("<H", 3413) + b"\r\n" + bytes(12) + code)
    assert (found.name, found.words) == ("settle", {"a constant", "deadline", "entries"})


def test_the_reader_of_bytecode_agrees_with_the_interpreter(tmp_path):
    """On this module, whatever version runs it."""
    data = compiled(tmp_path, Path(__file__).read_bytes())
    pending, names = [marshal.loads(data[16:])], []
    while pending:
        code = pending.pop()
        names.append(code.co_name)
        pending += [part for part in code.co_consts if hasattr(part, "co_code")]
    assert sorted(each.name for each in bytecode.codes(data)) == sorted(names)


@given(st.binary(max_size=300))
@example(b"\xe3" * 300)
@example(b"(" + struct.pack("<i", 2**31 - 1))
def test_no_bytes_break_the_reader_of_bytecode(body):
    for magic in (3413, 3495, 3571):
        bytecode.codes(struct.pack("<H", magic) + b"\r\n" + bytes(12) + body)


@given(st.binary(max_size=300))
@example(b"PK\x03\x04" + bytes(22) + b"\xff" * 4)
@example(b"BZh91AY&SY" * 9)
def test_no_bytes_break_what_opens(body):
    for view in views(body):
        assert view.depth <= 5


@given(st.lists(st.integers(0, 3 * WINDOW_BYTES), max_size=5))
def test_windows_cover_each_file_and_share_their_edges(sizes):
    entries = [Entry(str(number), size, "") for number, size in enumerate(sizes)]
    asked = [part for batch in batches(entries) for part in batch]
    for entry in entries:
        spans = [(at, at + length) for one, at, length in asked if one is entry]
        assert spans[0][0] == 0
        assert spans[-1][1] == entry.size
        for (_, end), (start, _) in itertools.pairwise(spans):
            assert end - start >= min(OVERLAP_BYTES, entry.size - start)


@pytest.mark.parametrize("report", [b"", b'{"path": "/x"}\n', b"{", b'{"body": 9}\n123'])
async def test_a_listing_without_its_end_is_no_listing(report, tmp_path):
    image = Image("x", (), python="/usr/bin/python3")
    backend = FakeBackend(lambda _: CommandResult(0, b"killed", report=report))
    box = await backend.start(SandboxSpec(image, tmp_path))
    with pytest.raises(SandboxError, match="could not read a sandbox to the end: killed"):
        await look(box)


async def test_an_image_without_python_is_said(tmp_path):
    box = await FakeBackend().start(SandboxSpec(Image("x", ()), tmp_path))
    with pytest.raises(UnavailableError, match="no Python"):
        await look(box)
