"""How much a repository may hold, and what its files may be called."""

from __future__ import annotations

from collections.abc import Iterable

from codegym.errors import DataError, UsageError
from codegym.types import Tree
from codegym.workspace.names import tree_problem

MAX_FILES = 50_000
MAX_BYTES = 512 * 1024**2


def require_few(count: int, where: str) -> None:
    """Refuse a tree with more files than a workspace can have. Raises ``UsageError``."""
    if count > MAX_FILES:
        raise UsageError(
            f"{where} holds {count} files, and an environment at most {MAX_FILES}: add the part "
            "that has the tests, as a folder or repository of its own"
        )


def require_small(size: int, where: str, mend: str) -> None:
    """Refuse what does not fit into memory comfortably. Raises ``UsageError``."""
    if size > MAX_BYTES:
        raise UsageError(f"{where} holds more than {MAX_BYTES // 1024**2} MiB: {mend}")


def require_readable(paths: Iterable[str], where: str) -> None:
    """Refuse names that are not UTF-8. Raises ``DataError``."""
    for path in paths:
        try:
            path.encode()
        except UnicodeEncodeError as error:
            shown = path.encode("utf-8", "surrogateescape")
            raise DataError(
                where, f"the file name {shown!r} is not UTF-8; rename it, and add it again"
            ) from error


def require_workspace(tree: Tree, where: str) -> None:
    """Refuse a tree that cannot be written as files. Raises ``DataError``."""
    if problem := tree_problem(tree):
        raise DataError(where, f"{problem}; remove it from the repository, and add it again")
