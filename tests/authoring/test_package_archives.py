"""A source distribution is read as data, and a hostile one is refused."""

import gzip
import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.authoring.packages.recording import one_commit
from codegym.authoring.packages.sdist import MAX_FILES, MAX_UNPACKED_BYTES, unpack_sdist
from codegym.errors import DataError
from codegym.types import File

GOOD = {"PKG-INFO": "Name: pkg\nVersion: 1.0\n", "pkg/__init__.py": "x = 1\n"}


def entry(name, kind=tarfile.REGTYPE, link="", data=b""):
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made, data


def test_a_good_one_is_a_tree(sdist):
    files = {**GOOD, "pkg/__pycache__/x.pyc": "", "run.sh": "#!/bin/sh\n", "pkg/a b.txt": "é\n"}
    unpacked = unpack_sdist(sdist(files), "pkg-1.0.tar.gz")
    assert list(unpacked.tree) == ["PKG-INFO", "pkg/__init__.py", "pkg/a b.txt", "run.sh"]
    assert unpacked.tree["pkg/a b.txt"].data == "é\n".encode()
    assert unpacked.newest == 1_700_000_000


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (entry("../out.py"), "leads out"),
        (entry("/etc/passwd"), "leads out"),
        (entry("pkg-1.0/a/../../../out.py"), "leads out"),
        (entry("pkg-1.0/a\nb"), "leads out or is no name"),
        (entry("other/x.py"), "one folder"),
        (entry("loose.py"), "one folder"),
        (entry("pkg-1.0/link", tarfile.SYMTYPE, "/etc/passwd"), "no ordinary file"),
        (entry("pkg-1.0/link", tarfile.SYMTYPE, "PKG-INFO"), "no ordinary file"),
        (entry("pkg-1.0/hard", tarfile.LNKTYPE, "pkg-1.0/PKG-INFO"), "no ordinary file"),
        (entry("pkg-1.0/pipe", tarfile.FIFOTYPE), "no ordinary file"),
        (entry("pkg-1.0/null", tarfile.CHRTYPE), "no ordinary file"),
        (entry("pkg-1.0/.git/hooks/post-checkout"), "git"),
        (entry("pkg-1.0/pkg/__init__.py/x"), "a file and a folder"),
    ],
)
def test_a_hostile_one_is_refused(sdist, extra, said):
    with pytest.raises(DataError, match=said) as caught:
        unpack_sdist(sdist(GOOD, extra=[extra]), "pkg-1.0.tar.gz")
    assert str(caught.value).startswith("pkg-1.0.tar.gz: ")


def test_a_bomb_is_refused_before_it_unfolds():
    with pytest.raises(DataError, match="unpacks to more than"):
        unpack_sdist(gzip.compress(bytes(MAX_UNPACKED_BYTES + 1), 1), "bomb.tar.gz")


def test_a_header_that_claims_too_much_is_refused():
    made = tarfile.TarInfo("pkg-1.0/huge")
    made.size = MAX_UNPACKED_BYTES + 1
    data = gzip.compress(made.tobuf() + bytes(1024))
    with pytest.raises(DataError):
        unpack_sdist(data, "pkg-1.0.tar.gz")


def test_too_many_files_are_refused():
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz", compresslevel=1) as tar:
        for number in range(MAX_FILES + 1):
            tar.addfile(tarfile.TarInfo(f"pkg-1.0/{number}"))
    with pytest.raises(DataError, match="files"):
        unpack_sdist(raw.getvalue(), "pkg-1.0.tar.gz")


@given(st.binary(max_size=300))
def test_junk_is_refused_in_words(data):
    for content in (data, gzip.compress(data)):
        with pytest.raises(DataError):
            unpack_sdist(content, "junk.tar.gz")


def test_a_cut_one_is_refused(sdist):
    whole = sdist({**GOOD, "pkg/data.txt": "0123456789" * 5000})
    for part in (10, len(whole) // 2):
        with pytest.raises(DataError):
            unpack_sdist(whole[:part], "pkg-1.0.tar.gz")


PATHS = st.sampled_from(["a.py", "pkg/b.py", "pkg/c d.txt", "pkg/é.txt", 'pkg/"q".txt', "x\\y"])


@settings(max_examples=12)
@given(st.dictionaries(PATHS, st.binary(max_size=50), min_size=1))
def test_a_tree_becomes_one_commit_and_comes_back(tmp_path_factory, contents):
    from codegym.workspace import git
    from codegym.workspace.history import Repository

    tree = {path: File(data) for path, data in sorted(contents.items())}
    stream, head = one_commit(tree, "pkg 1.0\n", 1_700_000_000)
    assert one_commit(tree, "pkg 1.0\n", 1_700_000_000) == (stream, head)
    folder = tmp_path_factory.mktemp("history")
    git.run("init", "--quiet", "--bare", ".", folder=folder)
    git.run("fast-import", "--quiet", folder=folder, stdin=stream)
    repository = Repository(folder)
    assert repository.tree_at(head) == tree
    (commit,) = repository.commits(head)
    assert (commit.subject, commit.date) == ("pkg 1.0", "2023-11-14T22:13:20+00:00")
