"""An environment's true history, as a bare repository in the cache. It never enters a sandbox."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

from codegym.errors import DataError, NotFoundError, UsageError
from codegym.store import LayerStore, cache_dir
from codegym.types import File, Mode, Tree
from codegym.workspace import git
from codegym.workspace.diff import diff_trees

if TYPE_CHECKING:
    from codegym.tasks.environment import Environment

_HASH = re.compile(r"[0-9a-f]{40}")
_MODES: dict[bytes, Mode] = {b"100644": "100644", b"100755": "100755", b"120000": "120000"}
_KEPT_BYTES = 128 * 1024 * 1024
_IN_FLIGHT = 512  # requests of 41 bytes: they fit a pipe, so neither side waits for the other


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a history.

    Attributes:
        hash: Full hash.
        parents: Full hashes.
        subject: The message's first line.
        message: The whole message.
        date: Author date, ISO 8601.
    """

    hash: str
    parents: tuple[str, ...]
    subject: str
    message: str
    date: str


class Repository:
    """A bare repository, read only. Safe for threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._cached: Callable[[str], Tree] = lru_cache(maxsize=16)(self._read_tree)
        self._blobs: dict[bytes, bytes] = {}  # commits share most of their files

    def tree_at(self, commit: str) -> Tree:
        """The files of a commit; submodules are left out.

        Raises:
            NotFoundError: There is no such commit.
        """
        with self._lock:
            return self._cached(commit)

    def commits(self, head: str) -> list[Commit]:
        """A commit and its ancestors, oldest first, parents before children."""
        _check(head)
        text = git.run(
            "log",
            "--reverse",
            "--topo-order",
            "-z",
            "--encoding=UTF-8",
            "--format=%H%n%P%n%aI%n%B",
            head,
            "--",
            folder=self.path,
        )
        return [_commit(entry) for entry in text.decode(errors="replace").split("\0") if entry]

    def diff(self, old: str, new: str, paths: Collection[str] | None = None) -> str:
        """What changed between two commits, as a patch; of ``paths`` only, where given."""
        before, after = self.tree_at(old), self.tree_at(new)
        if paths is not None:
            before = {path: file for path, file in before.items() if path in paths}
            after = {path: file for path, file in after.items() if path in paths}
        return diff_trees(before, after)

    def changed(self, old: str, new: str) -> tuple[str, ...]:
        """Paths that differ between two commits, sorted."""
        before, after = self.tree_at(old), self.tree_at(new)
        return tuple(
            sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))
        )

    def _read_tree(self, commit: str) -> Tree:
        _check(commit)
        with git.conversation("cat-file", "--batch", folder=self.path) as (stdin, stdout):
            ask = _Asker(stdin, stdout)
            root = ask.all([f"{commit}^{{tree}}".encode()])[0]
            if root is None:
                raise NotFoundError("commit", commit, hint=f"{self.path} does not hold it")
            return self._walk(ask, root)

    def _walk(self, ask: _Asker, root: bytes) -> Tree:
        """Read a tree level by level; one git process answers all."""
        tree: dict[str, File] = {}
        level: list[tuple[str, bytes]] = [("", root)]
        while level:
            folders: list[tuple[str, bytes]] = []
            files: list[tuple[str, Mode, bytes]] = []
            for prefix, data in level:
                for mode, name, oid in tree_entries(data):
                    path = prefix + name.decode("utf-8", "surrogateescape")
                    if mode == b"40000":
                        folders.append((path + "/", oid))
                    elif mode != b"160000":  # a submodule: the folder of another repository
                        files.append((path, _MODES.get(mode, "100644"), oid))
            new = [oid for oid in {oid for _, _, oid in files} if oid not in self._blobs]
            self._blobs.update(zip(new, ask.objects(new), strict=True))
            tree.update((path, File(self._blobs[oid], mode)) for path, mode, oid in files)
            bodies = ask.objects([oid for _, oid in folders])
            level = [(path, body) for (path, _), body in zip(folders, bodies, strict=True)]
        if sum(map(len, self._blobs.values())) > _KEPT_BYTES:
            self._blobs.clear()
        return dict(sorted(tree.items()))


class _Asker:
    """The conversation with ``git cat-file --batch``."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self._stdin, self._stdout = stdin, stdout

    def objects(self, oids: Sequence[bytes]) -> list[bytes]:
        """Bodies of objects that must be there."""
        bodies = self.all([oid.hex().encode() for oid in oids])
        if None in bodies:
            raise git.GitError("git cat-file: an object is missing from the history")
        return [body for body in bodies if body is not None]

    def all(self, names: Sequence[bytes]) -> list[bytes | None]:
        """Bodies of objects, None for each that is missing."""
        bodies: list[bytes | None] = []
        for start in range(0, len(names), _IN_FLIGHT):
            chunk = names[start : start + _IN_FLIGHT]
            self._stdin.write(b"".join(name + b"\n" for name in chunk))
            self._stdin.flush()
            bodies.extend(self._answer() for _ in chunk)
        return bodies

    def _answer(self) -> bytes | None:
        head = self._stdout.readline().rstrip(b"\n").rsplit(b" ", 2)
        if len(head) != 3 or not head[2].isdigit():
            return None
        body = self._stdout.read(int(head[2]) + 1)
        return body[:-1]


def tree_entries(data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """The (mode, name, binary hash) entries of a git tree object."""
    entries = []
    at = 0
    while at < len(data):
        end = data.index(b"\0", at)
        mode, _, name = data[at:end].partition(b" ")
        entries.append((mode, name, data[end + 1 : end + 21]))
        at = end + 21
    return entries


def open_history(environment: Environment) -> Repository:
    """The history's repository, imported on first use (safe for processes that do so at once).

    Raises:
        DataError: The file is missing, cannot be imported, or does not hold ``head``.
        UnavailableError: There is no git, or no room.
    """
    if _HASH.fullmatch(environment.head) is None:
        raise DataError(
            environment.folder / "environment.toml", "must be a full commit hash", field="head"
        )
    try:
        stream = environment.history.read_bytes()
    except OSError as error:
        raise DataError(environment.history, f"cannot be read: {error.strerror}") from error
    digest = hashlib.sha256(b"%s\0%s" % (environment.head.encode(), stream)).hexdigest()
    store = LayerStore(cache_dir() / "repos")
    path = store.publish(
        f"repo-{digest}", lambda folder: _import(folder, stream, environment.head, environment)
    )
    return _repository(path)


@lru_cache(maxsize=32)
def _repository(path: Path) -> Repository:
    return Repository(path)


def _import(folder: Path, stream: bytes, head: str, environment: Environment) -> None:
    try:
        git.run(
            "init", "--quiet", "--bare", "--template=", "--initial-branch=main", ".", folder=folder
        )
        # Without --allow-unsafe-features the stream can name no file of this machine.
        git.run(
            "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", folder=folder, stdin=stream
        )
    except git.GitError as error:
        raise DataError(environment.history, f"cannot be imported: {error}") from error
    try:
        kind = git.run("cat-file", "-t", head, folder=folder).strip()
    except git.GitError:
        kind = b""
    if kind != b"commit":
        raise DataError(
            environment.history, f"does not hold the commit {head} that environment.toml names"
        )


def _check(commit: str) -> None:
    if _HASH.fullmatch(commit) is None:
        raise UsageError(f"{commit!r} is no full commit hash (40 hex digits)")


def _commit(entry: str) -> Commit:
    full, parents, date, message = entry.split("\n", 3)
    return Commit(full, tuple(parents.split()), message.partition("\n")[0], message.rstrip(), date)
