"""A tree as a history of one commit, in git's fast-export format."""

from __future__ import annotations

import tempfile
from pathlib import Path

from codegym.types import Tree
from codegym.workspace import git
from codegym.workspace.quoting import quote

_AUTHOR = "CodeGym <codegym@localhost>"


def one_commit(tree: Tree, message: str, seconds: int) -> tuple[bytes, str]:
    """Write a tree as one commit on ``main``.

    Args:
        tree: The files.
        message: The commit's message.
        seconds: Its date, since 1970, UTC.

    Returns:
        The stream and the commit's full hash; both the same for the same arguments.
    """
    parts: list[bytes] = []
    for mark, file in enumerate(tree.values(), start=1):
        parts.append(b"blob\nmark :%d\n%s" % (mark, _data(file.data)))
    who = f"{_AUTHOR} {max(0, seconds)} +0000\n".encode()
    parts.append(b"reset refs/heads/main\ncommit refs/heads/main\n")
    parts.append(b"author " + who + b"committer " + who + _data(message.encode()))
    for mark, (path, file) in enumerate(tree.items(), start=1):
        parts.append(f"M {file.mode} :{mark} {quote(path)}\n".encode())
    stream = b"".join(parts)
    with tempfile.TemporaryDirectory(prefix="codegym-history-") as folder:
        git.run("init", "--quiet", "--bare", "--template=", ".", folder=Path(folder))
        git.run("fast-import", "--quiet", folder=Path(folder), stdin=stream)
        head = git.run("rev-parse", "refs/heads/main", folder=Path(folder))
    return stream, head.decode().strip()


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)
