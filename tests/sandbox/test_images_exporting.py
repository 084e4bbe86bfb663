"""Reading what a build's sandbox hands out: nothing in it may lead elsewhere."""

import io
import stat
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import DataError
from codegym.sandbox.images.exporting import export, unpack

names = st.from_regex(r"[a-z]{1,6}", fullmatch=True)
trees = st.dictionaries(
    st.lists(names, min_size=1, max_size=3).map("/".join),
    st.tuples(st.binary(max_size=2000), st.booleans()),
    max_size=6,
).filter(lambda tree: not any(b.startswith(f"{a}/") for a in tree for b in tree))


def make_archive(folder, *members):
    path = folder / "archive"
    with tarfile.open(path, "w") as archive:
        for member, data in members:
            member.size = len(data) if member.isreg() else 0
            archive.addfile(member, io.BytesIO(data))
    return path


def member(name, **fields):
    made = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(made, key, value)
    return made


def take(folder, archive, **options):
    dest = folder / "out" / "dest"
    options = {"keep": lambda path: True, "secrets": {}, **options}
    unpack(archive, dest, folder / "environment.toml", **options)
    return {
        str(path.relative_to(dest)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in dest.rglob("*")
        if path.is_file()
    }


@given(trees)
def test_files_come_out_with_plain_modes(tmp_path_factory, tree):
    folder = tmp_path_factory.mktemp("export")
    members = [
        (member(f"./{path}", mode=0o6777 if program else 0o600), data)
        for path, (data, program) in tree.items()
    ]
    taken = take(folder, make_archive(folder, *members))
    assert taken == {
        path: (data, 0o755 if program else 0o644) for path, (data, program) in tree.items()
    }


@pytest.mark.parametrize(
    "bad",
    [
        member("../out"),
        member("a/../../out"),
        member("/etc/cron.d/x"),
        member(".."),
        member("."),
        member("link", type=tarfile.SYMTYPE, linkname="/etc"),
        member("hard", type=tarfile.LNKTYPE, linkname="first"),
        member("pipe", type=tarfile.FIFOTYPE),
        member("device", type=tarfile.CHRTYPE),
        member("first"),
        member("first/below"),
        member("sparse", type=tarfile.GNUTYPE_SPARSE),
    ],
    ids=lambda bad: f"{bad.name}-{bad.type.decode()}",
)
def test_what_could_lead_elsewhere_is_refused(tmp_path, bad):
    archive = make_archive(tmp_path, (member("first"), b"1"), (bad, b"2" if bad.isreg() else b""))
    with pytest.raises(DataError, match=r"environment\.toml: (?!.*toml: )"):
        take(tmp_path, archive)
    found = [path.name for path in (tmp_path / "out").rglob("*") if path.name != "dest"]
    assert found == ["first"]
    assert not (tmp_path / "out" / "out").exists()


def test_a_link_and_a_file_below_it_lead_nowhere(tmp_path):
    link = member("d", type=tarfile.SYMTYPE, linkname=str(tmp_path))
    archive = make_archive(tmp_path, (link, b""), (member("d/x"), b"1"))
    taken = take(tmp_path, archive, keep=lambda path: path != "d")
    assert taken == {"d/x": (b"1", 0o644)}
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("size", [100, 513, 1500])
def test_an_archive_that_is_cut_short_is_refused(tmp_path, size):
    archive = make_archive(tmp_path, (member("a"), b"x" * 2000))
    archive.write_bytes(archive.read_bytes()[:size])
    with pytest.raises(DataError, match="cannot be read"):
        take(tmp_path, archive)


def test_a_secret_in_any_file_is_refused_by_name_and_not_repeated(tmp_path):
    archive = make_archive(tmp_path, (member("a"), b"x" * 2000 + b"hunter2" + b"y"))
    with pytest.raises(DataError, match="build secret TOKEN") as caught:
        take(tmp_path, archive, secrets={"TOKEN": "hunter2", "EMPTY": ""})
    assert "hunter2" not in str(caught.value)


async def test_more_than_one_part_comes_out_whole(backend, spec, tmp_path, monkeypatch):
    monkeypatch.setattr("codegym.sandbox.images.exporting._PART_BYTES", 10_000)
    archive = tmp_path / "archive"
    async with await backend.start(spec) as box:
        await box.write("/tmp/d/zeros", bytes(35_000))
        await box.write("/tmp/d/program", b"#!/bin/sh\n", executable=True)
        await box.write("/tmp/d/skipped/x", b"no")
        await export(box, "/tmp/d", archive, tmp_path, skip="skipped")
    taken = take(tmp_path, archive)
    assert taken == {"zeros": (bytes(35_000), 0o644), "program": (b"#!/bin/sh\n", 0o755)}
