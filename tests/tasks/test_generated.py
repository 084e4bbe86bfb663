"""Files that a build would write: in every tree that has none of its own, and in the digest."""

import pytest
from support import make_tiny_environment, tiny_task

from codegym.errors import DataError
from codegym.tasks import load_environment
from codegym.workspace.trees import trees_of


@pytest.fixture
def tiny(tmp_path):
    made = make_tiny_environment(tmp_path / "tiny")
    toml = made.folder / "environment.toml"
    text = toml.read_text()
    toml.write_text(text.replace('subdir = "."', 'generated = "generated"\nsubdir = "."'))
    return made


def test_every_tree_has_them_where_it_has_none(tiny):
    task = tiny_task(tiny)
    before = trees_of(task, tiny)
    own = next(path for path in before[0] if path.startswith("src/"))
    for path in ("src/tinycalc/_version.py", own):
        target = tiny.folder / "generated" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("made = True\n")
    home = load_environment(tiny.folder)
    assert home.digest != tiny.digest
    for old, new in zip(before, trees_of(task, home), strict=True):
        assert new["src/tinycalc/_version.py"].data == b"made = True\n"
        assert {path: new[path] for path in old} == old
        assert list(new) == sorted(new)


def test_they_are_part_of_the_digest(tiny):
    folder = tiny.folder / "generated"
    folder.mkdir()
    digests = set()
    for name, text in (("a.py", "1"), ("a.py", "2"), ("b.py", "2")):
        for old in folder.iterdir():
            old.unlink()
        (folder / name).write_text(text)
        digests.add(load_environment(tiny.folder).digest)
    assert len(digests) == 3


def test_a_folder_without_files_or_elsewhere(tiny, tmp_path):
    with pytest.raises(DataError, match="'generated' holds no file"):
        load_environment(tiny.folder)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("")
    (tiny.folder / "generated").symlink_to(outside)
    with pytest.raises(DataError, match="'generated' holds no file"):
        load_environment(tiny.folder)
