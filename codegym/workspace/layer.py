"""Writing a tree as a layer: every file fresh, in random order, nothing about it telling.

Equal times are not enough: inode numbers and change times follow the order of writing, so that an
order with a meaning (a base, then a mutated file) would point at the file that matters.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path

from codegym.errors import UsageError
from codegym.types import File, Tree
from codegym.workspace.gitdir import COMMIT_TIME_SEC, git_files
from codegym.workspace.names import folders_of, tree_problem

TIME_NS = COMMIT_TIME_SEC * 1_000_000_000
FILE_MODES = {"100644": 0o644, "100755": 0o755}
FOLDER_MODE = 0o755


def write_layer(dest: Path, tree: Tree, *, owner: tuple[int, int] | None, git: bool) -> None:
    """Write ``tree`` into the empty folder ``dest``.

    All times are ``TIME_NS``, modes 0644 or 0755. Needs root where ``owner`` is somebody else.

    Args:
        dest: An empty folder of the caller's.
        tree: What to write.
        owner: (uid, gid) of all of it; None for the caller's own.
        git: Whether to add a ``.git`` with one commit.

    Raises:
        UsageError: The tree cannot be written: a path or link leaves it, or ``.git`` is in it.
    """
    problem = tree_problem(tree)
    if problem:
        raise UsageError(f"the tree cannot be written: {problem}")
    files: dict[str, File] = dict(tree)
    if git:
        files.update((f".git/{path}", File(data)) for path, data in git_files(tree).items())
    folders = folders_of(files)
    _Writer(dest, owner).write(files, folders)


class _Writer:
    """Writes through descriptors of the folders, so that no path is walked twice."""

    def __init__(self, dest: Path, owner: tuple[int, int] | None) -> None:
        self._dest = dest
        self._owner = owner if owner != (os.geteuid(), os.getegid()) else None
        self._made: set[str] = set()

    def write(self, files: Mapping[str, File], folders: set[str]) -> None:
        order = random.SystemRandom()
        names: list[str] = [*files, *folders]
        order.shuffle(names)
        for name in names:
            if name in files:
                self._folder(name.rpartition("/")[0])
                self._file(name, files[name])
            else:
                self._folder(name)
        for folder in sorted(
            self._made, key=len, reverse=True
        ):  # writing into one changes its time
            self._settle(self._at(folder))
        self._settle(self._at(""))

    def _folder(self, folder: str) -> None:
        if folder and folder not in self._made:
            self._folder(folder.rpartition("/")[0])
            Path(self._at(folder)).mkdir(0o700)
            self._made.add(folder)

    def _file(self, name: str, file: File) -> None:
        path = self._at(name)
        if file.mode == "120000":
            Path(path).symlink_to(os.fsdecode(file.data))
            self._own(path)
            os.utime(path, ns=(TIME_NS, TIME_NS), follow_symlinks=False)
            return
        mode = FILE_MODES[file.mode]
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        try:
            view = memoryview(file.data)
            while view:
                view = view[os.write(descriptor, view) :]
            if self._owner:
                os.fchown(descriptor, *self._owner)
            os.fchmod(descriptor, mode)  # whatever the umask
            os.utime(descriptor, ns=(TIME_NS, TIME_NS))
        finally:
            os.close(descriptor)

    def _settle(self, path: str) -> None:
        self._own(path)
        Path(path).chmod(FOLDER_MODE)
        os.utime(path, ns=(TIME_NS, TIME_NS))

    def _own(self, path: str) -> None:
        if self._owner:
            os.chown(path, *self._owner, follow_symlinks=False)

    def _at(self, name: str) -> str:
        return f"{self._dest}/{name}" if name else str(self._dest)
