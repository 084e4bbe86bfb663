"""A plain folder as a tree: its regular files and links, read, never followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from codegym.authoring.packages.limits import require_few, require_readable, require_small
from codegym.errors import DataError, UsageError
from codegym.types import File, Tree
from codegym.workspace.names import is_bytecode, is_git_name, is_tool_cache

_LEFT_OUT = frozenset({".codegym", "node_modules", ".venv", "venv"})


def read_folder(folder: Path) -> tuple[Tree, int]:
    """Read a folder; returns its tree, and the time of its newest file in seconds since 1970.

    Virtual environments, caches and compiled files are left out.

    Raises:
        UsageError: It holds nothing, or too much.
        DataError: A file cannot be read, or its name is not UTF-8.
    """
    tree: dict[str, File] = {}
    newest = size = 0
    for path in _files(folder):
        name = path.relative_to(folder).as_posix()
        require_few(len(tree) + 1, str(folder))
        require_readable([name], str(folder))
        try:
            info = path.lstat()
            size += info.st_size
            require_small(size, str(folder), "move what the tests do not need elsewhere")
            if stat.S_ISLNK(info.st_mode):
                tree[name] = File(os.fsencode(path.readlink()), "120000")
            elif stat.S_ISREG(info.st_mode):
                mode = "100755" if info.st_mode & 0o100 else "100644"
                tree[name] = File(path.read_bytes(), mode)  # type: ignore[arg-type]
        except OSError as error:
            raise DataError(path, f"cannot be read: {error.strerror}") from error
        newest = max(newest, int(info.st_mtime))
    if not tree:
        raise UsageError(f"{folder} is empty")
    return dict(sorted(tree.items())), newest


def _files(folder: Path) -> Iterator[Path]:
    for where, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if _is_wanted(Path(where, name)))
        links = [name for name in names if Path(where, name).is_symlink()]
        for name in (*files, *links):
            path = Path(where, name)
            if not is_bytecode(name) and not is_git_name(name) and not is_tool_cache(name):
                yield path


def _is_wanted(folder: Path) -> bool:
    name = folder.name
    if name in _LEFT_OUT or name == "__pycache__" or is_git_name(name) or is_tool_cache(name):
        return False
    return not (folder / "pyvenv.cfg").is_file()
