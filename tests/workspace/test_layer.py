"""Layers: what is written tells nothing, and git finds it in order."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codegym.errors import UsageError
from codegym.types import File
from codegym.workspace.gitdir import git_files
from codegym.workspace.layer import TIME_NS, write_layer

TREE = {
    "README.md": File(b"# hello\n"),
    "bin/run": File(b"#!/bin/sh\n", "100755"),
    "src/pkg/__init__.py": File(b""),
    "src/pkg/core.py": File(b"x = 1\r\n\xff\x00"),
    "src/pkg-data/x": File(b"sorted between pkg and pkg/"),
    "src/link": File(b"./pkg/core.py", "120000"),
    "caf\u00e9/with space": File(b"1"),
}


def plain_git(folder: Path, *arguments: str) -> str:
    """Git as an agent would run it."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def write(folder: Path, tree=TREE, owner=None, git=True) -> Path:
    folder.mkdir()
    write_layer(folder, tree, owner=owner, git=git)
    return folder


def everything(layer: Path) -> list[Path]:
    return [layer, *layer.rglob("*")]


def test_an_agent_finds_a_clean_repository_with_one_commit(tmp_path):
    layer = write(tmp_path / "l")
    assert plain_git(layer, "status", "--porcelain", "--branch") == "## main\n"
    assert plain_git(layer, "diff-index", "HEAD") == plain_git(layer, "diff-files") == ""
    assert plain_git(layer, "fsck", "--strict", "--full", "--unreachable") == ""
    log = plain_git(layer, "log", "--all", "--format=%an <%ae>|%cn <%ce>|%aI|%B")
    who = "codegym <codegym@invalid>"
    assert log.strip() == f"{who}|{who}|2000-01-01T00:00:00+00:00|start"
    assert plain_git(layer, "remote", "-v") == plain_git(layer, "stash", "list") == ""
    assert plain_git(layer, "reflog", "--all") == ""


def test_an_agent_can_diff_commit_branch_and_stash(tmp_path):
    layer = write(tmp_path / "l")
    (layer / "README.md").write_text("# other\n")
    (layer / "new").write_text("x\n")
    assert plain_git(layer, "status", "--short") == " M README.md\n?? new\n"
    assert "-# hello\n+# other\n" in plain_git(layer, "diff")
    plain_git(layer, "stash", "--include-untracked")
    plain_git(layer, "stash", "pop")
    plain_git(layer, "checkout", "-q", "-b", "mine")
    plain_git(layer, "add", "-A")
    plain_git(layer, "commit", "-q", "-m", "mine")
    plain_git(layer, "gc", "-q")
    assert len(plain_git(layer, "log", "--oneline").splitlines()) == 2
    assert "error" not in plain_git(layer, "fsck", "--strict")


def test_a_change_of_the_same_size_is_seen(tmp_path):
    """The staging area compares times and sizes only; a racy one has git read the content."""
    layer = write(tmp_path / "l")
    (layer / "README.md").write_text("# hullo\n")
    os.utime(layer / "README.md", ns=(TIME_NS, TIME_NS))
    assert plain_git(layer, "status", "--short") == " M README.md\n"


def test_times_modes_and_links_tell_nothing(tmp_path):
    old = os.umask(0o077)
    try:
        layer = write(tmp_path / "l")
    finally:
        os.umask(old)
    for path in everything(layer):
        status = path.lstat()
        assert status.st_mtime_ns == TIME_NS, path
        assert status.st_nlink == 1 or path.is_dir(), path
        if not path.is_symlink():
            wanted = 0o755 if path.is_dir() or path.name == "run" else 0o644
            assert stat.S_IMODE(status.st_mode) == wanted, path
    assert os.fsencode(os.readlink(layer / "src/link")) == TREE["src/link"].data  # noqa: PTH115
    assert (layer / "src/pkg/core.py").read_bytes() == b"x = 1\r\n\xff\x00"


def test_the_order_of_writing_is_random_and_the_content_is_not(tmp_path):
    tree = {f"f{number:02}": File(b"%d" % number) for number in range(40)}
    orders = []
    for name in "abc":
        layer = write(tmp_path / name, tree)
        files = [path for path in layer.iterdir() if path.is_file()]
        assert len(files) == 40
        orders.append(tuple(p.name for p in sorted(files, key=lambda path: path.stat().st_ino)))
    assert len(set(orders)) == 3
    assert tuple(sorted(orders[0])) not in orders
    assert git_files(tree) == git_files(dict(reversed(tree.items())))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_layer_belongs_to_its_owner(tmp_path):
    layer = write(tmp_path / "l", owner=(54321, 54322))
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in everything(layer)} == {
        (54321, 54322)
    }


def test_without_git_there_is_none(tmp_path):
    layer = write(tmp_path / "l", git=False)
    assert sorted(path.name for path in layer.iterdir()) == ["README.md", "bin", "café", "src"]


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("../x", File(b"")),
        ("/x", File(b"")),
        ("a//b", File(b"")),
        ("src/.git/config", File(b"")),
        (".GIT", File(b"")),
        ("bin/run/under", File(b"")),
        ("l", File(b"/etc/passwd", "120000")),
        ("src/l", File(b"../../x", "120000")),
        ("l2", File(b".git/config", "120000")),
    ],
)
def test_a_tree_that_leaves_its_folder_is_not_written(tmp_path, path, file):
    (tmp_path / "l").mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        write_layer(tmp_path / "l", {**TREE, path: file}, owner=None, git=True)
    assert list((tmp_path / "l").iterdir()) == []


names = st.text(st.sampled_from("ab-./ é"), min_size=1, max_size=6).map(lambda t: t.strip("/. "))
small_trees = st.dictionaries(
    names.filter(lambda name: name and "//" not in name and "/." not in name and "./" not in name),
    st.builds(File, st.binary(max_size=40), st.sampled_from(["100644", "100755"])),
    min_size=0,
    max_size=8,
).filter(lambda tree: not {p[:i] for p in tree for i, c in enumerate(p) if c == "/"} & tree.keys())


@given(small_trees)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_our_git_is_gits(tmp_path_factory, tree):
    """Objects, names and the staging area are those that git itself would write."""
    folder = tmp_path_factory.mktemp("g")
    layer = write(folder / "l", tree)
    assert plain_git(layer, "status", "--porcelain") == ""
    assert plain_git(layer, "fsck", "--strict", "--full") == ""
    ours = plain_git(layer, "rev-parse", "HEAD^{tree}")
    plain_git(layer, "rm", "-r", "-q", "--cached", "--ignore-unmatch", ".")
    plain_git(layer, "add", "-A")
    assert plain_git(layer, "write-tree") == ours
