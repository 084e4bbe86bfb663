"""Restoration: the work on a branch with the true history; nothing else in the clone changes."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

import pytest

from codegym.errors import UsageError
from codegym.types import Change, Manifest
from codegym.workspace.patch import apply_changes
from codegym.workspace.restore import restore
from codegym.workspace.trees import start_tree
from tests.support import git, make_tiny_environment, make_tiny_repository, tiny_task

WORK = Manifest((
    Change("README.md", None),
    Change("src/tinycalc/order.py", b"# solved \xff\r\n"),
    Change("src/tinycalc/new dir/tool", b"#!/bin/sh\n", executable=True),
))  # fmt: skip


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("env"))


@pytest.fixture(scope="module")
def task(environment):
    return tiny_task(environment)


@pytest.fixture
def clone(tmp_path):
    make_tiny_repository(tmp_path / "clone")
    return tmp_path / "clone"


def untouched(clone: Path) -> dict[str, bytes]:
    """Everything of a clone but its objects and the ref (and reflog) that restoring makes."""
    return {
        str(path.relative_to(clone)): path.read_bytes()
        for path in clone.rglob("*")
        if path.is_file() and "objects" not in path.parts and "codegym" not in path.parts
    }


def files_at(clone: Path, commit: str) -> dict[str, tuple[str, str]]:
    files = {}
    for row in git(clone, "ls-tree", "-r", "-z", commit).split("\0")[:-1]:
        meta, path = row.split("\t")
        mode, _, oid = meta.split()
        git(clone, "cat-file", "-e", oid)
        files[path] = mode, oid
    return files


def test_the_work_becomes_a_branch_with_the_true_history(environment, task, clone):
    (clone / "README.md").write_text("# edited, staged\n")
    git(clone, "add", "README.md")
    (clone / "README.md").write_text("# edited again\n")
    (clone / "untracked").write_text("x")
    before = untouched(clone)
    commit = restore(clone, task, environment, WORK)
    assert untouched(clone) == before
    assert git(clone, "rev-parse", "codegym/tiny-median").strip() == commit
    subjects = git(clone, "log", "--format=%s", commit).splitlines()
    assert subjects == [
        "Work on tiny-median",
        "Tests of tiny-median",
        "Largest and median",
        "Sums and means",
    ]
    assert git(clone, "rev-parse", f"{commit}~2").strip() == task.base_commit
    names = git(clone, "diff", "--name-status", f"{commit}~1", commit).split("\n")[:-1]
    assert names == [
        "D\tREADME.md",
        "A\tsrc/tinycalc/new dir/tool",
        "M\tsrc/tinycalc/order.py",
    ]
    wanted = apply_changes(start_tree(task, environment), WORK.changes)
    assert {p: mode for p, (mode, _) in files_at(clone, commit).items()} == {
        path: file.mode for path, file in wanted.items()
    }
    git(clone, "fsck", "--strict")
    git(clone, "checkout", "-q", "-f", commit)
    for path, file in wanted.items():
        assert (clone / path).read_bytes() == file.data


def test_a_mutants_start_is_a_commit_of_its_own(environment, task, clone):
    start = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# tinycalc\n+# mutant\n"
    mutant = dataclasses.replace(task, start_patch=start)
    commit = restore(clone, mutant, environment, WORK, branch="mutants/one")
    assert git(clone, "log", "-4", "--format=%s", commit).splitlines() == [
        "Work on tiny-median",
        "Tests of tiny-median",
        "Start of tiny-median",
        "Largest and median",
    ]
    assert git(clone, "show", f"{commit}~2:README.md").startswith("# mutant\n")


def test_restoring_twice_is_the_same_commit_and_other_work_is_refused(environment, task, clone):
    commit = restore(clone, task, environment, WORK)
    assert restore(clone, task, environment, WORK) == commit
    other = Manifest((Change("README.md", b"other"),))
    with pytest.raises(
        UsageError, match=r"branch 'codegym/tiny-median' exists .* delete or rename"
    ):
        restore(clone, task, environment, other)
    assert git(clone, "rev-parse", "codegym/tiny-median").strip() == commit
    assert restore(clone, task, environment, other, branch="codegym/two") != commit


def test_a_file_can_become_a_folder_and_back(environment, task, clone):
    work = Manifest((
        Change("README.md", None),
        Change("README.md/deep/x", b"1"),
        Change("src/tinycalc", b"2"),
        *(Change(p, None) for p in start_tree(task, environment) if p.startswith("src/")),
    ))  # fmt: skip
    files = files_at(clone, restore(clone, task, environment, work))
    assert "README.md/deep/x" in files
    assert [path for path in files if path.startswith("src")] == ["src/tinycalc"]


def test_no_work_is_a_branch_all_the_same(environment, task, clone):
    issue = dataclasses.replace(task, kind="FixIssue")
    assert restore(clone, issue, environment, Manifest()) == task.base_commit


def test_a_bare_repository_and_a_worktree_will_do(environment, task, clone, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", str(clone), str(tmp_path / "bare"))
    commit = restore(tmp_path / "bare", task, environment, WORK)
    git(clone, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert restore(tmp_path / "tree", task, environment, WORK) == commit
    assert git(clone, "rev-parse", "codegym/tiny-median").strip() == commit


def test_what_cannot_be_restored_into_is_refused(environment, task, clone, tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        restore(tmp_path / "nowhere", task, environment, WORK)
    (clone / "inner").mkdir()
    for folder in (clone / "inner", clone / "src"):
        with pytest.raises(UsageError, match="not the root of a git repository"):
            restore(folder, task, environment, WORK)
    git(tmp_path, "init", "-q", "empty")
    with pytest.raises(UsageError, match=r"does not hold the commit .* fetch it"):
        restore(tmp_path / "empty", task, environment, WORK)
    assert not (tmp_path / "empty/.git/index").exists()
    for branch in ("a..b", "-x y", "a/", "x.lock", "-x", "HEAD", "@{-1}"):
        with pytest.raises(UsageError, match="cannot be a branch"):
            restore(clone, task, environment, WORK, branch=branch)
    git(clone, "branch", "taken")
    with pytest.raises(UsageError, match="cannot be made"):
        restore(clone, task, environment, WORK, branch="taken/below")
    for path in (".git/hooks/x", "../x", "/x", "a/../../x", "src/.GIT/config"):
        with pytest.raises(UsageError, match="cannot be restored"):
            restore(clone, task, environment, Manifest((Change(path, b"x"),)))
    assert git(clone, "branch", "--format=%(refname:short)").split() == ["main", "taken"]


def test_nothing_that_the_clone_configures_is_run(environment, task, clone, tmp_path):
    marker, script = tmp_path / "ran", tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    script.chmod(0o755)
    hooks = (
        "reference-transaction",
        "post-index-change",
        "post-commit",
        "pre-commit",
        "post-checkout",
    )
    (clone / ".git/hooks").mkdir(exist_ok=True)
    for hook in hooks:
        shutil.copy(script, clone / ".git/hooks" / hook)
    for key, value in {
        "core.fsmonitor": str(script), "core.hooksPath": str(clone / ".git/hooks"),
        "core.pager": str(script), "core.editor": str(script), "gpg.program": str(script),
        "commit.gpgSign": "true", "log.showSignature": "true", "core.splitIndex": "true",
        "filter.evil.clean": str(script), "filter.evil.smudge": str(script),
        "core.sshCommand": str(script), "diff.external": str(script),
    }.items():  # fmt: skip
        git(clone, "config", key, value)
    (clone / ".git/info").mkdir(exist_ok=True)
    (clone / ".git/info/attributes").write_text("* filter=evil diff=evil text eol=crlf\n")
    marker.unlink(missing_ok=True)  # our own `git config` may have run them
    commit = restore(clone, task, environment, WORK)
    assert not marker.exists()
    script.unlink()
    shutil.rmtree(clone / ".git/hooks")
    assert b"\r\n" not in git(clone, "show", f"{commit}~2:README.md").encode()
    assert not list((clone / ".git").glob("sharedindex.*"))


def test_a_clone_that_lacks_objects_is_not_fetched_into(environment, task, clone, tmp_path):
    """A partial clone: what is missing stays missing, and its remote is not asked."""
    git(clone, "config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    git(
        tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{clone}", "partial"
    )
    asked = tmp_path / "asked"
    git(partial, "config", "remote.origin.uploadpack", f"touch {asked}; git-upload-pack")
    commit = restore(partial, task, environment, WORK)
    assert git(partial, "rev-parse", "codegym/tiny-median").strip() == commit
    assert not asked.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="root stands in for another owner")
def test_a_clone_of_another_user_is_read_all_the_same(environment, task, clone):
    for path in (clone, clone / ".git"):
        os.chown(path, 54321, 54321)
    assert restore(clone, task, environment, WORK)
