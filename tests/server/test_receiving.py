"""What a client sends as a layer is written where it belongs, as it was said, or not at all."""

import hashlib
import os
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.sandbox.remote.folders import digest_of, entries_of, pieces_of
from codegym.sandbox.remote.messages import Entry, Put
from codegym.server.receiving import Receiver, RefusedError, check

TOP = Entry("", "folder", 0o755, 1)


def file(path, data=b"x", **other):
    fields = {"mode": 0o644, "time_ns": 5, "size": len(data)} | other
    return Entry(path, "file", content=hashlib.sha256(data).hexdigest(), **fields)


def link(path, target):
    return Entry(path, "link", 0o777, 5, 0, target)


def folder(path):
    return Entry(path, "folder", 0o755, 5)


def put(*entries):
    return Put(digest_of(entries), False, entries)


@pytest.mark.parametrize(
    "entries",
    [
        [file("../x")],
        [file("/etc/passwd")],
        [file("/")],
        [folder("a"), file("a/../../x")],
        [folder("a"), file("a/./x")],
        [folder("a"), file("a//x")],
        [folder("."), file("./x")],
        [folder(".."), file("../x")],
        [file("a\0b")],
        [file("n" * 256)],
        [link("a", "/etc"), file("a/passwd")],
        [link("a", "/etc"), folder("a/b")],
        [link("a", "/etc"), folder("a"), file("a/passwd")],
        [file("a"), file("a/b")],
        [file("not/listed")],
        [file("a"), file("a")],
        [file("\ud800")],
        [link("a", "\ud800")],
        [link("a", "")],
        [link("a", "b\0c")],
        [link("a", "b" * 4000)],
        [file("a", mode=0o4755)],
        [file("a", mode=0o2755)],
        [file("a", mode=-1)],
        [file("a", size=-1)],
        [file("a", time_ns=-1)],
        [file("a", time_ns=1 << 70)],
        [file("a", size=9 << 30)],
        [Entry("a", "fifo", 0o644, 5)],
        [Entry("a", "file", 0o644, 5, 1, "../../x")],
        [TOP],
    ],
    ids=lambda entries: " ".join(f"{each.kind}:{each.path[:20]!a}" for each in entries),
)
def test_a_list_that_leads_out_or_cannot_be_is_refused(entries):
    check(put(TOP))
    with pytest.raises(RefusedError):
        check(put(TOP, *entries))


def test_a_list_without_its_folder_or_with_another_digest_is_refused():
    for bad in (put(file("a")), put(), replace(put(TOP), digest="0" * 64)):
        with pytest.raises(RefusedError):
            check(bad)


names = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=60)
paths = st.lists(st.one_of(names, st.sampled_from(["..", ".", "", "/"])), max_size=4).map("/".join)


@settings(max_examples=50)
@given(st.lists(st.tuples(paths, st.sampled_from(["file", "folder", "link"])), max_size=6))
def test_whatever_is_not_refused_stays_inside(tmp_path_factory, listed):
    made = {path: kind for path, kind in listed if path}
    entries = [TOP]
    for path, kind in made.items():
        if kind == "file":
            entries.append(file(path))
        else:
            entries.append(link(path, "/") if kind == "link" else folder(path))
    outside = tmp_path_factory.mktemp("outside")
    dest = outside / "dest"
    dest.mkdir()
    try:
        check(put(*entries))
    except RefusedError:
        return
    Receiver(dest, None, lambda: b"x").write(entries)
    assert [each.name for each in outside.iterdir()] == ["dest"]


def write(dest, entries, data):
    pieces = iter(data)
    Receiver(dest, None, lambda: next(pieces)).write(entries)


def test_a_layer_arrives_as_it_was(tmp_path):
    source, dest = tmp_path / "source", tmp_path / "dest"
    (source / "a" / "b").mkdir(parents=True)
    (source / "a" / "large").write_bytes(os.urandom(300_000))
    (source / "a" / "b" / "tool").write_text("#!/bin/sh\n")
    (source / "a" / "b" / "tool").chmod(0o755)
    (source / "empty").touch()
    (source / "out").symlink_to("/etc/passwd")
    os.utime(source / "out", ns=(7, 7), follow_symlinks=False)
    (source / os.fsdecode(b"\xff\n")).write_text("odd")
    (source / "a").chmod(0o555)
    os.utime(source / "a", ns=(3, 3))
    dest.mkdir()
    entries = entries_of(source)
    check(Put(digest_of(entries), False, tuple(entries)))
    write(dest, entries, pieces_of(source, entries))
    assert digest_of(entries_of(dest)) == digest_of(entries)
    assert (dest / "out").is_symlink()
    assert (dest / "a").stat().st_mtime_ns == 3


@pytest.mark.parametrize(
    ("data", "told"), [([b"y"], "not what the list says"), ([b"xx"], "more was sent")]
)
def test_other_bytes_are_refused(tmp_path, data, told):
    with pytest.raises(RefusedError, match=told):
        write(tmp_path, [TOP, file("a")], data)


def test_any_change_changes_the_digest(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "l").symlink_to("a")
    seen = {digest_of(entries_of(tmp_path))}
    assert {digest_of(entries_of(tmp_path)) for _ in range(5)} == seen  # in any order
    changes = [
        lambda: (tmp_path / "a").chmod(0o700),
        lambda: (tmp_path / "a").write_text("y"),
        lambda: os.utime(tmp_path / "a", ns=(1, 1)),
        lambda: (tmp_path / "a").rename(tmp_path / "b"),
        lambda: ((tmp_path / "l").unlink(), (tmp_path / "l").symlink_to("b")),
        (tmp_path / "d").mkdir,
    ]
    for change in changes:
        change()
        seen.add(digest_of(entries_of(tmp_path)))
    assert len(seen) == len(changes) + 1
