"""Which paths and links a workspace may hold, and which files are leftovers of tools."""

from __future__ import annotations

import posixpath
import re

from codegym.types import Tree

_CACHES = frozenset({
    ".coverage", ".eggs", ".hypothesis", ".ipynb_checkpoints", ".jedi", ".mypy_cache", ".nox",
    ".pyre", ".pytest_cache", ".pytype", ".ruff_cache", ".tox", "htmlcov",
})  # fmt: skip
_BACKUP = re.compile(r"(.*~|#.*#|\.#.*|.*\.(orig|rej|bak|old|save|sw[a-p]))", re.DOTALL)


def path_problem(path: str) -> str:
    """Say why a workspace may not hold ``path``, or return ``""``."""
    if not path or path.startswith("/"):
        return "is empty or absolute"
    if "\0" in path:
        return "holds a NUL"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return "is not normalised"
        if is_git_name(part):
            return "has a part that git keeps for itself"
    return ""


def is_git_name(part: str) -> bool:
    """Whether one part of a path is ``.git`` in any case, as some file systems see it."""
    return part.rstrip(". ").lower() in (".git", "git~1")


def link_leaves(path: str, target: bytes) -> bool:
    """Whether a symlink at ``path`` points out of the tree, or into its ``.git``."""
    text = target.decode("utf-8", "surrogateescape")
    if not text or text.startswith("/") or "\0" in text:
        return True
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
    parts = end.split("/")
    return parts[0] == ".." or any(is_git_name(part) for part in parts)


def is_bytecode(path: str) -> bool:
    """Whether it is compiled Python: it tells of the source that it was made from."""
    parts = path.split("/")
    return parts[-1].endswith((".pyc", ".pyo")) or "__pycache__" in parts


def is_tool_cache(path: str) -> bool:
    """Whether it is what a test runner, type checker or linter keeps of sources it has seen."""
    return any(part in _CACHES or part.startswith(".coverage.") for part in path.split("/"))


def is_backup(path: str) -> bool:
    """Whether it is an editor's or a merge's copy of another file."""
    return _BACKUP.fullmatch(path.rpartition("/")[2]) is not None


def tree_problem(tree: Tree) -> str:
    """Say what keeps a tree from being written as files, or return ``""``."""
    folders = folders_of(tree)
    for path, file in tree.items():
        problem = path_problem(path)
        if problem:
            return f"{path!r} {problem}"
        if path in folders:
            return f"{path!r} is a file and a folder"
        if file.mode == "120000" and link_leaves(path, file.data):
            return f"{path!r} is a link that leaves the tree"
    return ""


def folders_of(tree: Tree) -> set[str]:
    """All folders that a tree's files lie in, the root (``""``) left out."""
    folders: set[str] = set()
    for path in tree:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders
