"""Cloning repositories and reading folders: what crosses, and what stays behind."""

import os
import subprocess

import pytest
from support import git

from codegym.authoring.packages import limits
from codegym.authoring.packages.folders import read_folder
from codegym.authoring.packages.index import Requested
from codegym.authoring.packages.references import Cloned, Plain, parse_reference
from codegym.authoring.packages.repositories import export
from codegym.errors import DataError, UnavailableError, UsageError

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"


@pytest.fixture
def repository(tmp_path):
    """A checkout with all that could run or reach out, and a merge in its history."""
    inner = tmp_path / "inner"
    folder = tmp_path / "outer"
    for each in (inner, folder):
        each.mkdir()
        git(each, "init", "-q", "-b", "trunk")
        (each / "a.py").write_text("x = 1\n")
        git(each, "add", "-A")
        git(each, "commit", "-q", "-m", "one")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "in")
    (folder / "big.bin").write_text(LFS)
    (folder / ".gitattributes").write_text("*.bin filter=lfs\n*.py filter=evil\n")
    (folder / "cached.pyc").write_text("x")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "two")
    git(folder, "tag", "v1.0")
    git(folder, "tag", "-a", "-m", "signed by nobody", "v1.1")
    git(folder, "checkout", "-q", "-b", "side")
    (folder / "b.py").write_text("y = 2\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "three")
    git(folder, "checkout", "-q", "trunk")
    git(folder, "merge", "-q", "--no-ff", "-m", "merged", "side")
    git(folder, "branch", "-q", "unfinished")
    return folder


@pytest.fixture
def marked(repository, tmp_path):
    """The same, with hooks and configuration that leave a mark when they are run."""
    mark = tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    for hook in ("post-checkout", "pre-auto-gc", "reference-transaction", "post-index-change"):
        path = repository / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(program.read_text())
        path.chmod(0o755)
    for key in ("core.fsmonitor", "filter.evil.smudge", "filter.evil.process", "core.sshCommand",
                "uploadpack.packObjectsHook", "core.pager", "filter.lfs.smudge"):  # fmt: skip
        git(repository, "config", key, str(program))
    return repository, mark


def test_a_repository_crosses_as_objects(marked):
    repository, mark = marked
    found = export(str(repository))
    assert not mark.exists()
    assert found.history[1] == git(repository, "rev-parse", "HEAD").strip()
    assert sorted(found.tree) == [".gitattributes", ".gitmodules", "a.py", "b.py", "big.bin"]
    assert found.tree["big.bin"].data.decode() == LFS
    assert found.described.startswith("v1.1-2-g")
    assert found.notes == (
        "1 file is a pointer of git LFS: their content is not here.",
        "Its submodules are not here: their folders are missing.",
    )


def test_the_history_is_whole_and_has_its_tags(repository, tmp_path):
    found = export(str(repository))
    copy = tmp_path / "copy"
    copy.mkdir()
    git(copy, "init", "-q", "--bare")
    command = ["git", "-C", str(copy), "fast-import", "--quiet"]
    subprocess.run(command, input=found.history[0], check=True)
    theirs, ours = (git(each, "log", "--format=%H %P %s", "--all") for each in (repository, copy))
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
    assert git(copy, "tag").split() == ["v1.0", "v1.1"]
    assert git(copy, "for-each-ref", "--format=%(refname)", "refs/heads").split() == [
        "refs/heads/main"
    ]


def test_bare_detached_and_shallow_repositories(repository, tmp_path):
    head = git(repository, "rev-parse", "HEAD").strip()
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    assert parse_reference(str(bare)) == Cloned(str(bare))
    assert export(bare.as_uri()).history[1] == head
    git(repository, "checkout", "-q", "--detach", "v1.0")
    assert export(str(repository)).history[1] == git(repository, "rev-parse", "v1.0^0").strip()
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", bare.as_uri(), str(shallow))
    found = export(str(shallow))
    assert found.history[1] != head
    assert any("shallow" in note for note in found.notes)


def test_what_is_no_repository_to_use(tmp_path, monkeypatch, repository):
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    with pytest.raises(UsageError, match="has no commit"):
        export(str(empty))
    with pytest.raises(UnavailableError, match="cannot be cloned"):
        export((tmp_path / "nowhere").as_uri())
    monkeypatch.setattr(limits, "MAX_FILES", 3)
    with pytest.raises(UsageError, match="holds 7 files, and an environment at most 3"):
        export(str(repository))


def test_a_history_that_is_too_large(repository, monkeypatch):
    monkeypatch.setattr("codegym.authoring.packages.repositories.MAX_BYTES", 100)
    monkeypatch.setattr(limits, "MAX_BYTES", 100)
    with pytest.raises(UsageError, match="shallow clone"):
        export(str(repository))


def test_a_name_that_is_not_utf_8(repository, tmp_path):
    (repository / os.fsdecode(b"caf\xe9.py")).write_text("")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "odd")
    with pytest.raises(DataError, match="is not UTF-8; rename it"):
        export(str(repository))
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / os.fsdecode(b"caf\xe9.py")).write_text("")
    with pytest.raises(DataError, match="is not UTF-8; rename it"):
        read_folder(plain)


def test_a_plain_folder_is_read_without_what_tools_left(tmp_path):
    for name in ("pkg/a.py", ".tox/x", "venv/y.py", "own/pyvenv.cfg", "pkg/__pycache__/a.pyc"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "link").symlink_to("pkg")
    (tmp_path / "away").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    os.utime(tmp_path / "pkg/a.py", (2_000_000_000, 2_000_000_000))
    tree, newest = read_folder(tmp_path)
    assert {path: file.mode for path, file in tree.items()} == {
        "away": "120000",
        "link": "120000",
        "pkg/a.py": "100644",
        "run": "100755",
    }
    assert tree["away"].data == b"/etc/passwd"  # its name, never its content
    assert newest == 2_000_000_000


def test_folders_that_are_no_use(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="is empty"):
        read_folder(tmp_path)
    (tmp_path / "a").write_text("x" * 200)
    (tmp_path / "b").write_text("")
    monkeypatch.setattr(limits, "MAX_BYTES", 100)
    with pytest.raises(UsageError, match="holds more than"):
        read_folder(tmp_path)
    monkeypatch.setattr(limits, "MAX_FILES", 1)
    monkeypatch.setattr(limits, "MAX_BYTES", 1000)
    with pytest.raises(UsageError, match="at most 1"):
        read_folder(tmp_path)


def test_references(tmp_path, repository):
    assert parse_reference("pypi:A_b==1.0") == Requested("a-b", "1.0")
    assert parse_reference("pypi:toolz") == Requested("toolz", "")
    assert parse_reference("git+https://x.example/y") == Cloned("https://x.example/y")
    assert parse_reference("file:///x") == Cloned("file:///x")
    assert parse_reference(str(repository)) == Cloned(str(repository))
    (tmp_path / "plain").mkdir()
    assert parse_reference(str(tmp_path / "plain")) == Plain(tmp_path / "plain")
    for text in ("ssh://x/y", "git@x.example:y", "ext::sh -c x", "http://x/y", "nowhere", "--x"):
        with pytest.raises(UsageError, match="write pypi:NAME==VERSION"):
            parse_reference(text)
