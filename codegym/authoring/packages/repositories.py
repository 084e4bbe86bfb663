"""A git repository as data: cloned without hooks, filters, submodules or configuration."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codegym.authoring.packages.limits import (
    MAX_BYTES,
    require_few,
    require_readable,
    require_small,
)
from codegym.errors import UnavailableError, UsageError
from codegym.types import Tree
from codegym.workspace import git
from codegym.workspace.history import Repository
from codegym.workspace.names import is_bytecode, is_tool_cache

CLONE_SEC = 900.0
_MAIN = "refs/heads/main"
_LFS = b"version https://git-lfs.github.com/spec/"
#: Of the user's variables, those that say how the network is reached.
_NETWORK = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
_CERTIFICATES = ("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR")
#: Likewise of the user's git configuration, which is read and runs nothing; and the kind of each.
_SETTINGS = {"http.sslCAInfo": "path", "http.sslCAPath": "path", "http.proxy": ""}
_CONFIGURED = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "HOME")
_SHORTER = "make a shallow clone (git clone --depth 200), and add that"


@dataclass(frozen=True, slots=True)
class Exported:
    """What a repository holds.

    Attributes:
        tree: The files of its newest commit; links to submodules are left out.
        history: The whole history of that commit as a stream, and the commit's full hash.
        described: What ``git describe`` says of it: the nearest tag, or ``""``.
        notes: What a user should know, as sentences.
    """

    tree: Tree
    history: tuple[bytes, str]
    described: str
    notes: tuple[str, ...]


def export(address: str) -> Exported:
    """Clone a repository into a temporary folder, and read it.

    Only objects cross: its hooks, configuration and filters (LFS among them) stay behind, and its
    submodules are not fetched.

    Args:
        address: ``https:``, ``file:``, or an absolute path.

    Raises:
        UnavailableError: It cannot be reached, or not in time.
        UsageError: It has no commit, or is too large.
        DataError: A file's name is not UTF-8.
    """
    with _clone(address) as folder:
        head = _settle_main(folder, address)
        names = git.run("ls-tree", "-r", "-z", "--name-only", "HEAD", folder=folder)
        paths = [os.fsdecode(name) for name in names.split(b"\0") if name]
        require_few(len(paths), address)
        require_readable(paths, address)
        stream = _stream(folder, address)
        described = _described(folder)
        tree = Repository(folder).tree_at(head)
        new = _imported(stream, address)
    notes = _notes(tree)
    if new != head:
        notes.append(
            f"Its commits are signed or shallow, so they have other hashes here: {head} is {new}."
        )
    kept = {p: f for p, f in tree.items() if not is_bytecode(p) and not is_tool_cache(p)}
    return Exported(kept, (stream, new), described, tuple(notes))


@contextlib.contextmanager
def _clone(address: str) -> Iterator[Path]:
    env = {"GIT_ALLOW_PROTOCOL": "file:https", "GIT_LFS_SKIP_SMUDGE": "1"}
    for name in _NETWORK:
        env |= {each: os.environ[each] for each in (name, name.upper()) if each in os.environ}
    env |= {name: os.environ[name] for name in _CERTIFICATES if name in os.environ}
    with tempfile.TemporaryDirectory(prefix="codegym-clone-") as folder:
        try:
            git.run(
                *("clone", "--quiet", "--bare", "--no-local", "--template="),
                *(*_settings(address, folder), "--", address, "clone"),
                folder=Path(folder),
                env=env,
                timeout_sec=CLONE_SEC,
            )
        except git.GitError as error:
            raise UnavailableError(
                f"{address} cannot be cloned: {error}",
                "Check the address; where it needs credentials, clone it and add the folder",
            ) from error
        yield Path(folder, "clone")


def _settings(address: str, folder: str) -> Iterator[str]:
    """Options for how the user's git reaches an address."""
    if not address.startswith("https:"):
        return
    variables = {"GIT_CONFIG_NOSYSTEM": "0", "GIT_CONFIG_GLOBAL": str(Path.home() / ".gitconfig")}
    variables |= {name: os.environ[name] for name in _CONFIGURED if name in os.environ}
    for key, kind in _SETTINGS.items():
        command = ("config", f"--type={kind}" if kind else "--no-type", "--get-urlmatch", key)
        with contextlib.suppress(git.GitError):  # it is not set
            said = git.run(*command, address, folder=Path(folder), env=variables)
            yield from ("--config", f"{key}={said.decode().strip()}")


def _settle_main(folder: Path, address: str) -> str:
    """Name the newest commit ``main``, wherever ``HEAD`` was; returns its hash."""
    try:
        said = git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", folder=folder)
    except git.GitError as error:
        raise UsageError(f"{address} has no commit on its main branch; make one first") from error
    head = said.decode().strip()
    git.run("update-ref", _MAIN, head, folder=folder)
    git.run("symbolic-ref", "HEAD", _MAIN, folder=folder)
    return head


def _stream(folder: Path, address: str) -> bytes:
    """The history of ``HEAD`` with the tags on it; they stay in the environment's own copy."""
    tags = git.run("tag", "--merged", "HEAD", folder=folder).decode(errors="replace").split()
    command = (
        *("fast-export", "--signed-tags=strip", "--tag-of-filtered-object=drop"),
        *("--reencode=no", _MAIN, *(f"refs/tags/{tag}" for tag in tags)),
    )
    with git.conversation(*command, folder=folder) as (stdin, stdout):
        stdin.close()
        stream = stdout.read(MAX_BYTES + 1)
    require_small(len(stream), f"the history of {address}", _SHORTER)
    return stream


def _imported(stream: bytes, address: str) -> str:
    """The newest commit as the stream has it: proof that it can be read again."""
    with tempfile.TemporaryDirectory(prefix="codegym-import-") as folder:
        place = Path(folder)
        git.run("init", "--quiet", "--bare", "--template=", ".", folder=place)
        try:
            git.run("fast-import", "--quiet", folder=place, stdin=stream)
            return git.run("rev-parse", _MAIN, folder=place).decode().strip()
        except git.GitError as error:
            raise UsageError(f"the history of {address} cannot be exported: {error}") from error


def _described(folder: Path) -> str:
    try:
        said = git.run(
            *("describe", "--tags", "--long", "--match", "*[0-9]*", "HEAD"), folder=folder
        )
    except git.GitError:
        return ""
    return said.decode(errors="replace").strip()


def _notes(tree: Tree) -> list[str]:
    notes = []
    pointers = sum(file.data.startswith(_LFS) for file in tree.values())
    if pointers:
        counted = "1 file is a pointer" if pointers == 1 else f"{pointers} files are pointers"
        notes.append(f"{counted} of git LFS: their content is not here.")
    if ".gitmodules" in tree:
        notes.append("Its submodules are not here: their folders are missing.")
    return notes
