"""Restoration: a policy's work as commits with the true history, on a branch of the user's clone.

Only objects and one new ref are written. The clone's work tree, index, HEAD and other branches stay
as they are, and neither its hooks nor what its configuration names is run.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from codegym.errors import UnavailableError, UsageError
from codegym.tasks import Environment
from codegym.types import Change, File, Manifest, Mode, Task, Tree
from codegym.workspace import git
from codegym.workspace.names import path_problem
from codegym.workspace.patch import apply_patch
from codegym.workspace.trees import base_tree, shows_tests

_AUTHOR = {"NAME": "codegym", "EMAIL": "codegym@invalid"}


def restore(
    repo: Path, task: Task, environment: Environment, work: Manifest, *, branch: str = ""
) -> str:
    """Commit a policy's work onto a new branch that starts at the task's true commit.

    A mutant's ``start_patch`` and tests that the policy was shown become commits of their own
    before it. Dates are the base commit's, so that restoring twice gives the same commit.

    Args:
        repo: A git repository (its root, or a bare one) that has the task's commit.
        task: The task.
        environment: Its environment.
        work: The policy's work.
        branch: The branch to make; by default ``codegym/<instance_id>``.

    Returns:
        The new commit's full hash; the branch points at it.

    Raises:
        UsageError: ``repo`` is no repository or lacks the commit, or the branch exists and is
            another commit, or its name cannot be one.
        UnavailableError: The repository cannot be written.
        TaskError: The task's patches do not apply.
    """
    branch = branch or f"codegym/{task.instance_id}"
    folder = _opened(repo)
    ref = _checked_ref(folder, branch)
    base = base_tree(task, environment)
    mutated = apply_patch(base, task.start_patch, where=task.instance_id)
    shown = mutated
    if shows_tests(task):
        shown = apply_patch(mutated, task.test_patch, where=task.instance_id)
    steps = (
        (f"Start of {task.instance_id}", _changes(base, mutated)),
        (f"Tests of {task.instance_id}", _changes(mutated, shown)),
        (f"Work on {task.instance_id}", _files(work.changes)),
    )
    committer = _Committer(folder, task.base_commit, repo)
    for message, files in steps:
        if files:
            committer.commit(message, files)
    return _point(folder, ref, branch, committer)


def _opened(repo: Path) -> Path:
    """The repository's own folder (``.git``, or a bare one's)."""
    if not repo.is_dir():
        raise UsageError(f"--repo {repo}: no such folder")
    ceiling = {"GIT_CEILING_DIRECTORIES": str(repo.resolve().parent)}
    try:
        said = git.run("rev-parse", "--absolute-git-dir", folder=repo.resolve(), env=ceiling)
    except git.GitError as error:
        raise UsageError(f"--repo {repo}: not the root of a git repository") from error
    return Path(os.fsdecode(said.rstrip(b"\n")))


def _checked_ref(folder: Path, branch: str) -> str:
    try:
        named = git.run("check-ref-format", "--branch", branch, folder=folder)
    except git.GitError as error:
        raise UsageError(f"{branch!r} cannot be a branch's name") from error
    if named != os.fsencode(f"{branch}\n"):  # what git resolves, such as @{-1}, names another one
        raise UsageError(f"{branch!r} cannot be a branch's name")
    return f"refs/heads/{branch}"


def _point(folder: Path, ref: str, branch: str, committer: _Committer) -> str:
    """Make the branch, unless it is there; another process may be doing so."""
    head = committer.head
    there = git.run("for-each-ref", "--format=%(objectname)", ref, folder=folder).decode().split()
    if there == [head]:
        return head
    if there:
        raise UsageError(
            f"branch {branch!r} exists and is another commit ({there[0][:12]}); "
            "delete or rename it, or name another branch"
        )
    try:
        new = (ref, head, "0" * 40)  # all noughts: only where it is not there
        git.run("update-ref", "-m", "codegym restore", *new, folder=folder, env=committer.who)
    except git.GitError as error:
        raise UsageError(f"branch {branch!r} cannot be made: {error}") from error
    return head


def _changes(old: Tree, new: Tree) -> dict[str, File | None]:
    paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    return {path: new.get(path) for path in paths}


def _files(changes: Sequence[Change]) -> dict[str, File | None]:
    files: dict[str, File | None] = {}
    for change in changes:
        problem = path_problem(change.path)
        if problem:
            raise UsageError(f"the work cannot be restored: {change.path!r} {problem}")
        mode: Mode = "100755" if change.executable else "100644"
        files[change.path] = None if change.data is None else File(change.data, mode)
    return files


class _Committer:
    """Makes commits from files with an index of its own."""

    def __init__(self, folder: Path, base: str, repo: Path) -> None:
        self._folder = folder
        try:
            said = git.run("cat-file", "commit", base, folder=folder)
        except git.GitError as error:
            raise UsageError(
                f"--repo {repo}: does not hold the commit {base} that the task starts from; "
                "fetch it, or give a clone of the environment's own repository"
            ) from error
        self.head = base
        committer = next(line for line in said.split(b"\n") if line.startswith(b"committer "))
        date = committer.rpartition(b"> ")[2].decode()
        who = {**_AUTHOR, "DATE": date}
        self.who = {
            f"GIT_{role}_{key}": text
            for role in ("AUTHOR", "COMMITTER")
            for key, text in who.items()
        }

    def commit(self, message: str, files: Mapping[str, File | None]) -> None:
        """Add a commit that writes and deletes files."""
        with tempfile.TemporaryDirectory(prefix="codegym-") as scratch:
            try:
                self._commit(message, files, Path(scratch))
            except git.GitError as error:
                raise UnavailableError(
                    f"the work could not be written into {self._folder}: {error}",
                    "Check its permissions and the room on its disk",
                ) from error

    def _commit(self, message: str, files: Mapping[str, File | None], scratch: Path) -> None:
        index = {"GIT_INDEX_FILE": str(scratch / "index")}
        written = {path: file for path, file in files.items() if file is not None}
        oids = dict(zip(written, self._blobs(list(written.values()), scratch), strict=True))
        gone = [b"0 %s\t%s\0" % (b"0" * 40, os.fsencode(path)) for path in files]
        added = [
            b"%s %s\t%s\0" % (file.mode.encode(), oids[path], os.fsencode(path))
            for path, file in written.items()
        ]
        git.run("read-tree", self.head, folder=self._folder, env=index)
        lines = b"".join(gone + added)  # first all go, so that a file can become a folder
        git.run("update-index", "-z", "--index-info", folder=self._folder, stdin=lines, env=index)
        tree = (
            git.run("write-tree", "--missing-ok", folder=self._folder, env=index).decode().strip()
        )
        made = git.run(
            "commit-tree", tree, "-p", self.head, "-m", message, folder=self._folder, env=self.who
        )
        self.head = made.decode().strip()

    def _blobs(self, files: Sequence[File], scratch: Path) -> list[bytes]:
        paths = [scratch / str(number) for number in range(len(files))]
        for path, file in zip(paths, files, strict=True):
            path.write_bytes(file.data)
        names = b"".join(b"%s\n" % os.fsencode(path) for path in paths)
        said = git.run(
            "hash-object", "-w", "--no-filters", "--stdin-paths", folder=self._folder, stdin=names
        )
        return said.split()
