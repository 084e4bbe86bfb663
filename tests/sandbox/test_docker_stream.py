"""What is sent: folders and frames to a keeper, images to the engine."""

import io
import tarfile
import threading

from docker_boxes import taking
from hypothesis import given
from hypothesis import strategies as st

from codegym.sandbox.docker import importing
from codegym.sandbox.docker.inside import archive, frames
from codegym.sandbox.docker.inside.slots import wipe


def test_a_tree_that_is_laid_is_the_tree_that_was_sent(tmp_path):
    source, sent, laid = tmp_path / "source", tmp_path / "sent", tmp_path / "laid"
    for folder in (source / "a/b", source / "empty", sent, laid):
        folder.mkdir(parents=True)
    (source / "a/b/f").write_bytes(b"x" * 1_000_000)
    (source / "a/b/f").chmod(0o755)
    (source / "link").symlink_to("a/b/f")
    with (source / "sparse").open("wb") as file:
        file.seek(1 << 26)
        file.write(b"end")
    (source / "locked").mkdir()
    (source / "locked" / "in").write_text("in")
    (source / "locked").chmod(0o000)
    stream = b"".join(archive.pack(str(source)))
    assert len(stream) < 1_100_000, "a hole costs nothing"
    assert archive.unpack(taking(stream), str(sent)) == 8
    archive.copy(str(sent), str(laid))
    for each in (sent, laid):
        assert described(each) == described(source)
    wipe(str(laid))
    assert list(laid.iterdir()) == []


def described(folder):
    """Every entry's content, mode, time and size; a link's target, and no time."""
    found = {}
    for path, info in archive.walk(str(folder)):
        full = folder / path
        if full.is_symlink():
            found[path] = full.readlink(), info.st_mode
        else:
            content = full.read_bytes() if full.is_file() else None
            found[path] = content, info.st_mode, info.st_mtime_ns
    return found


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 255), st.binary(max_size=300))),
    st.lists(st.integers(1, 40), min_size=1),
)
def test_frames_come_back_whole_however_they_are_cut(sent, sizes):
    stream = b"".join(frames.frame(*each) for each in sent)
    parser, found, turn = frames.Parser(), [], 0
    while stream:
        size = sizes[turn % len(sizes)]
        found += parser.feed(stream[:size])
        stream, turn = stream[size:], turn + 1
    assert found == sent


def test_an_images_layers_become_one(tmp_path):
    above, below = tmp_path / "above", tmp_path / "below"
    for layer in (above, below):
        (layer / "usr/bin").mkdir(parents=True)
        (layer / "usr/bin/tool").write_text(layer.name)
    (below / "usr/bin/other").write_text("other")
    (below / "usr/bin/other").chmod(0o755)
    (below / "bin").symlink_to("usr/bin")
    sent = io.BytesIO(b"".join(importing.archive((above, below))))
    with tarfile.open(fileobj=sent) as tar:
        found = {entry.name: entry for entry in tar}
        assert tar.extractfile("usr/bin/tool").read() == b"above"
        assert sorted(found) == ["bin", "usr", "usr/bin", "usr/bin/other", "usr/bin/tool"]
    assert found["bin"].linkname == "usr/bin"
    assert found["usr/bin/other"].mode == 0o755
    assert {(entry.uid, entry.gid, entry.uname) for entry in found.values()} == {(0, 0, "root")}


def test_an_archive_that_nobody_reads_on_ends(tmp_path):
    for number in range(30):
        (tmp_path / f"{number}").write_bytes(bytes(1 << 20))
    before = threading.active_count()
    pieces = importing.archive((tmp_path,))
    next(pieces)
    assert threading.active_count() == before + 1
    pieces.close()
    assert threading.active_count() == before
