"""What goes over the stream to a keeper: folders, and frames."""

from docker_boxes import taking
from hypothesis import given
from hypothesis import strategies as st

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
