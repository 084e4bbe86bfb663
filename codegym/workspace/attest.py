"""Attestation: probing a written layer on disk for anything that could give the answer away.

It shares no code with what writes layers, only the constants that both must agree on: it lists what
is really there, reads each file and each git object, and compares with what ought to be.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from codegym.types import Attestation, Tree
from codegym.workspace import names
from codegym.workspace.attest_git import GIT_COUNTS, git_findings
from codegym.workspace.gold import GoldFiles
from codegym.workspace.layer import FILE_MODES, FOLDER_MODE, TIME_NS

#: Everything that is counted, with what it counts.
FILE_COUNTS = {
    "extra_files": "files and folders that are not in the task's tree",
    "missing_files": "files of the task's tree that are not there",
    "changed_files": "files with other content, kind or mode than in the task's tree",
    "special_files": "devices, pipes and sockets",
    "hard_links": "files that have a second name somewhere",
    "links_out": "symlinks that leave the tree or enter its .git",
    "mode_differs": "permissions other than 0644 and 0755, setuid among them",
    "owner_differs": "files of another owner",
    "mtime_differs": "files and folders whose time is not the constant",
    "attributes": "extended attributes that carry something",
    "bytecode": "compiled Python",
    "tool_caches": "caches of test runners, type checkers, linters and coverage",
    "backups": "copies that editors and merges leave",
    "nested_git": "a .git, in any case, where none belongs",
    "gold_files": "files, archive members or git objects with the content of a solved file",
}
_HARMLESS = ("security.selinux", "security.ima", "security.evm", "system.posix_acl")


def attest(
    layer: Path, tree: Tree, gold: Tree, *, git: bool = True, owner: tuple[int, int] | None = None
) -> Attestation:
    """Look for every leak that is known in a layer on disk.

    Args:
        layer: The folder.
        tree: All that it should hold.
        gold: The solved tree; none of what only it has may be found.
        git: Whether the layer should have a ``.git`` with one commit.
        owner: (uid, gid) that all should belong to; None for the caller's own.

    Returns:
        How often each of ``FILE_COUNTS`` and ``GIT_COUNTS`` was found; all 0 for a clean layer.
    """
    probe = _Probe(tree, GoldFiles(gold, tree), git, owner or (os.geteuid(), os.getegid()))
    probe.walk(layer)
    found = probe.found
    if git:
        found.update(git_findings(probe.git_files, probe.git_folders, tree, probe.gold))
    return Attestation({name: found[name] for name in (*FILE_COUNTS, *GIT_COUNTS)})


class _Probe:
    def __init__(self, tree: Tree, gold: GoldFiles, git: bool, owner: tuple[int, int]) -> None:
        self.found: Counter[str] = Counter()
        self.git_files: dict[str, bytes] = {}
        self.git_folders: set[str] = set()
        self.gold = gold
        self._tree, self._git, self._owner = tree, git, owner
        self._folders = names.folders_of(tree)

    def walk(self, layer: Path) -> None:
        """Look at the layer's folder and everything below."""
        self._metadata(str(layer), os.lstat(layer), folder=True)
        seen = set()
        for path, entry in _entries(str(layer), ""):
            seen.add(path)
            status = entry.stat(follow_symlinks=False)
            is_folder = stat.S_ISDIR(status.st_mode)
            self._metadata(entry.path, status, folder=is_folder)
            if self._git and (path == ".git" or path.startswith(".git/")):
                self._git_entry(path.removeprefix(".git").lstrip("/"), entry, status)
                continue
            self._name(path)
            if is_folder:
                self.found["extra_files"] += path not in self._folders
            elif path not in self._tree:
                self.found["extra_files"] += 1
                self.found["backups"] += names.is_backup(path)
                self._content(path, entry, status)
            else:
                self._expected(path, entry, status)
        self.found["missing_files"] += len(self._tree.keys() - seen)

    def _name(self, path: str) -> None:
        last = path.rpartition("/")[2]
        self.found["nested_git"] += names.is_git_name(last)
        self.found["bytecode"] += names.is_bytecode(path)
        self.found["tool_caches"] += names.is_tool_cache(path)

    def _metadata(self, path: str, status: os.stat_result, *, folder: bool) -> None:
        found = self.found
        found["mtime_differs"] += status.st_mtime_ns != TIME_NS
        found["owner_differs"] += (status.st_uid, status.st_gid) != self._owner
        found["hard_links"] += not folder and status.st_nlink != 1
        mode = stat.S_IMODE(status.st_mode)
        if folder:
            found["mode_differs"] += mode != FOLDER_MODE
        elif not stat.S_ISLNK(status.st_mode):
            found["mode_differs"] += mode not in FILE_MODES.values()
        try:
            attributes = os.listxattr(path, follow_symlinks=False)
        except OSError:  # a file system that has none
            return
        found["attributes"] += sum(not name.startswith(_HARMLESS) for name in attributes)

    def _expected(self, path: str, entry: os.DirEntry[str], status: os.stat_result) -> None:
        expected = self._tree[path]
        data = self._content(path, entry, status)
        same = data == expected.data and _mode(status) == expected.mode
        self.found["changed_files"] += not same

    def _content(self, path: str, entry: os.DirEntry[str], status: os.stat_result) -> bytes | None:
        """Read a file or link, and look into it."""
        if stat.S_ISLNK(status.st_mode):
            target = os.fsencode(os.readlink(entry.path))  # noqa: PTH115 a Path tidies "./x"
            self.found["links_out"] += names.link_leaves(path, target)
            return target
        if not stat.S_ISREG(status.st_mode):
            self.found["special_files"] += 1
            return None
        data = Path(entry.path).read_bytes()
        self.found["gold_files"] += self.gold.in_file(data)
        return data

    def _git_entry(self, path: str, entry: os.DirEntry[str], status: os.stat_result) -> None:
        if stat.S_ISDIR(status.st_mode):
            self.git_folders.add(path)
        elif stat.S_ISREG(status.st_mode):
            self.git_files[path] = Path(entry.path).read_bytes()
            self.found["mode_differs"] += status.st_mode & 0o111 != 0
        else:
            self.found["special_files"] += 1


def _entries(folder: str, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Everything below a folder, links not followed."""
    pending = [(folder, prefix)]
    while pending:
        folder, prefix = pending.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                path = prefix + entry.name
                yield path, entry
                if entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, path + "/"))


def _mode(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "120000"
    return "100755" if status.st_mode & 0o100 else "100644"
