"""A container's archive is data: whatever is in it, a layer holds only what it may."""

import contextlib
import io
import stat
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.errors import DataError
from codegym.sandbox.images import programs
from codegym.sandbox.images.docker.archive import RootArchive
from codegym.sandbox.images.settling import EPOCH_SEC

BLAME = Path("/somewhere/Dockerfile")
FOLDERS = ["etc", "opt", "opt/venv", "opt/venv/bin", "usr", "usr/bin", "usr/sub"]
KINDS = {
    "file": tarfile.REGTYPE,
    "folder": tarfile.DIRTYPE,
    "link": tarfile.SYMTYPE,
    "hard": tarfile.LNKTYPE,
    "char": tarfile.CHRTYPE,
    "block": tarfile.BLKTYPE,
    "pipe": tarfile.FIFOTYPE,
}


def entry(name, kind="file", data=b"", to="", mode=0o755, mtime=1_000_000_000):
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode, made.mtime = KINDS[kind], to, mode, mtime
    made.size = len(data) if kind == "file" else 0
    return made, data


def plain():
    """The least that an image is."""
    yield from (entry(name, "folder") for name in FOLDERS)
    yield entry("bin", "link", to="usr/bin")
    yield from (entry(f"usr/bin/{name}", data=b"#!") for name in programs.REQUIRED)
    yield entry("usr/bin/python3.11", data=b"\x7fELF")
    yield entry("opt/venv/bin/python3", "link", to="/usr/bin/python3.11")
    yield entry("opt/venv/bin/python", "link", to="python3")


def archive(*entries):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data[: info.size]))
    packed.seek(0)
    return tarfile.open(fileobj=packed)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def root(*entries):
    return RootArchive(archive(*plain(), *entries), BLAME)


def test_files_links_and_folders_come_through_and_devices_do_not(tmp_path):
    made = root(
        entry("usr/sub/file", data=b"x", mode=0o6741),
        entry("usr/sub/secret", data=b"y", mode=0o600),
        entry("usr/sub/same", "hard", to="usr/sub/file"),
        entry("usr/sub/up", "link", to="../bin/env"),
        entry("usr/sub/disk", "block"),
        entry("usr/sub/null", "char"),
        entry("usr/sub/pipe", "pipe"),
        entry("dev", "folder"),
        entry("dev/console", "char"),
        entry("proc/kcore", data=b"secret"),
        entry(".dockerenv"),
        entry("etc/hostname", data=b"0123456789ab"),
        entry("etc/resolv.conf", data=b"nameserver 192.0.2.1"),
    )
    made.write(tmp_path)
    sub = tmp_path / "usr/sub"
    assert names(sub) == ["file", "same", "secret", "up"]
    assert stat.S_IMODE((sub / "file").stat().st_mode) == 0o755
    assert stat.S_IMODE((sub / "secret").stat().st_mode) == 0o644
    assert (sub / "same").read_bytes() == b"x"
    assert (sub / "up").readlink() == Path("../bin/env")
    assert names(tmp_path) == ["bin", "dev", "etc", "opt", "proc", "sys", "usr"]
    assert names(tmp_path / "etc") == ["hosts", "mtab"]
    assert [*(tmp_path / "dev").iterdir(), *(tmp_path / "proc").iterdir()] == []
    assert (sub / "file").stat().st_mtime == 1_000_000_000
    assert sub.stat().st_mtime == (tmp_path / "etc/hosts").stat().st_mtime == EPOCH_SEC


@pytest.mark.parametrize(
    "entries",
    [
        [entry("../out", data=b"x")],
        [entry("usr/../../out", data=b"x")],
        [entry("..", "folder")],
        [entry("usr/up", "link", to="../.."), entry("usr/up/out", data=b"x")],
        [entry("usr/up", "link", to="/"), entry("usr/up/out", "folder")],
        [entry("usr/bin/env/below", data=b"x")],
        [entry("usr/x", "hard", to="../../out")],
        [entry("usr/x", "hard", to="/etc/passwd")],
        [entry("usr/x", "hard", to="usr/nothing")],
        [entry("usr/x", "hard", to="usr/sub")],
        [entry("usr/x", "hard", to="..")],
    ],
)
def test_nothing_is_written_outside_and_what_cannot_be_laid_out_is_told(entries, tmp_path):
    outside = tmp_path / "out"
    dest = tmp_path / "a/b"
    dest.mkdir(parents=True)
    with pytest.raises(DataError, match=r"^/somewhere/Dockerfile: its image"):
        root(*entries).write(dest)
    assert not outside.exists()
    assert not (tmp_path / "a/out").exists()


@pytest.mark.parametrize(
    "path",
    [
        "usr/lib/python3/dist-packages/numpy/core.py",
        "usr/local/lib/python3.12/site-packages/pip/__init__.py",
        "usr/lib/python3.12/ensurepip/_bundled/x",
        "usr/lib/python3.12/sitecustomize.py",
    ],
)
def test_installers_and_what_they_installed_are_refused(path):
    with pytest.raises(DataError, match=rf"/{path}.*install\.py"):
        root(entry(path, data=b"x"))


@pytest.mark.parametrize(
    "missing", ["usr/bin/git", "opt/venv/bin/python", "bin", "usr/bin/python3.11"]
)
def test_what_every_sandbox_needs_is_asked_for(missing):
    kept = [one for one in plain() if one[0].name != missing]
    with pytest.raises(DataError, match=r"its image has no program at /"):
        RootArchive(archive(*kept), BLAME)


def test_a_link_that_leads_nowhere_or_round_is_no_program():
    for target in ("python3", "/nowhere", "/opt/venv/bin/python", "/opt"):
        others = [one for one in plain() if one[0].name != "opt/venv/bin/python3"]
        with pytest.raises(DataError, match="no program at /opt/venv/bin/python"):
            RootArchive(archive(*others, entry("opt/venv/bin/python3", "link", to=target)), BLAME)


def test_the_digest_is_of_all_that_is_written_and_of_nothing_else():
    base = root(entry("usr/x", data=b"1")).digest()
    assert root(entry("usr/x", data=b"1", mtime=5), entry("dev/x", "char")).digest() == base
    others = [
        root(entry("usr/x", data=b"2")),
        root(entry("usr/y", data=b"1")),
        root(entry("usr/x", data=b"1", mode=0o644)),
        root(entry("usr/x", "folder")),
        root(entry("usr/x", "link", to="bin")),
        root(entry("usr/x", "hard", to="usr/bin/env")),
        root(entry("usr/x", data=b"1"), entry("usr/z", data=b"")),
        root(),
    ]
    digests = {one.digest() for one in others}
    assert len(digests) == len(others)
    assert base not in digests


NAMES = st.sampled_from(
    ["a", "b", "a/b", "b/a", "..", "../x", "/etc/x", "a/../../x", "usr/bin/env"]
)


@settings(max_examples=60)
@given(st.lists(st.tuples(NAMES, st.sampled_from(sorted(KINDS)), NAMES), max_size=6))
def test_no_archive_writes_outside_or_is_read_through(tmp_path_factory, entries):
    top = tmp_path_factory.mktemp("top")
    dest = top / "dest"
    dest.mkdir()
    (top / "x").write_text("mine")
    with contextlib.suppress(DataError):
        root(*(entry(name, kind, b"data", to) for name, kind, to in entries)).write(dest)
    assert names(top) == ["dest", "x"]
    assert ((top / "x").read_text(), (top / "x").stat().st_nlink) == ("mine", 1)
    for path in dest.rglob("*"):
        kind = path.lstat().st_mode
        assert stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)
        if stat.S_ISREG(kind):
            assert stat.S_IMODE(kind) in (0o644, 0o755)
