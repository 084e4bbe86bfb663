"""The part of attestation that is about git: what a ``.git`` really holds."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping

from codegym.types import Tree
from codegym.workspace.gitdir import BRANCH, COMMIT_TIME_SEC, CONFIG, IDENTITY, MESSAGE
from codegym.workspace.gold import GoldFiles
from codegym.workspace.objects import GitObject, UnreadableError, read_loose, read_pack

#: Everything that is counted, with what it counts.
GIT_COUNTS = {
    "git_commits": "commits beyond the one",
    "git_refs": "branches, tags, notes, stashes, replacements and other refs beyond the branch",
    "git_heads": "HEAD off the branch; ORIG_HEAD, FETCH_HEAD, MERGE_HEAD and the like",
    "git_unreachable": "objects that the one commit does not lead to",
    "git_unreadable": "objects and packs that cannot be read to the end",
    "git_differs": "paths where the commit and the task's tree differ",
    "git_index": "entries of the staging area that the task's tree does not have, or lacks",
    "git_identity": "a commit whose author, date or message is not the constant",
    "git_config": "configuration other than the constant",
    "git_remotes": "remotes and what was fetched from them",
    "git_alternates": "object stores borrowed from elsewhere",
    "git_keep_packs": "packs kept from collection, promised or partial",
    "git_packs": "packs beyond the one, and indexes without a pack",
    "git_hooks": "hooks",
    "git_reflogs": "reflogs",
    "git_worktrees": "worktrees that are linked",
    "git_submodules": "repositories of submodules, and links to commits of them",
    "git_grafts": "shallow and grafted histories",
    "git_extra": "any other file or folder in .git",
}

_PLAIN = {"HEAD", "config", "index", BRANCH}
_FOLDERS = {"", "objects", "objects/pack", "refs", "refs/heads"}
_PACK = re.compile(r"objects/pack/pack-[0-9a-f]{40}\.(pack|idx)")
_LOOSE = re.compile(r"objects/[0-9a-f]{2}/[0-9a-f]{38}")
_KINDS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("git_remotes", r"(refs/remotes|logs/refs/remotes|remotes|branches)(/.*)?"),
        ("git_reflogs", r"(logs|worktrees/[^/]*/logs)(/.*)?"),
        ("git_worktrees", r"worktrees(/.*)?|gitdir|commondir"),
        ("git_submodules", r"modules(/.*)?"),
        ("git_hooks", r"hooks(/.*)?"),
        ("git_heads", r"[A-Z_]*_HEAD|AUTO_MERGE|(rebase-merge|rebase-apply|sequencer)(/.*)?"),
        ("git_alternates", r"objects/info/(http-)?alternates"),
        ("git_keep_packs", r"objects/pack/.*\.(keep|promisor|mtimes|bitmap)"),
        ("git_packs", r"objects/pack/.*"),
        ("git_grafts", r"shallow|info/grafts|objects/info/commit-graphs?(/.*)?"),
        ("git_refs", r"refs/.*"),
    )
)


def git_findings(
    files: Mapping[str, bytes], folders: set[str], tree: Tree, gold: GoldFiles
) -> Counter[str]:
    """Count what a ``.git`` should not hold; paths are relative to it."""
    found: Counter[str] = Counter()
    found["git_extra"] += len(_FOLDERS - folders) + len(_PLAIN - files.keys())
    for path in folders - _FOLDERS:
        found[_kind(path) or "git_extra"] += 1
    objects: dict[bytes, GitObject] = {}
    for path, data in files.items():
        if path not in _PLAIN and not _LOOSE.fullmatch(path) and not _PACK.fullmatch(path):
            found[_kind(path) or "git_extra"] += 1
            found["gold_files"] += gold.in_file(data)
        try:
            for item in _objects_in(path, data):
                objects[item.oid] = item
        except UnreadableError:
            found["git_unreadable"] += 1
    found["git_packs"] += _stray_packs(files)
    found["git_refs"] += _packed_refs(files)
    found["git_config"] += files.get("config") != CONFIG
    found["git_remotes"] += files.get("config", b"").count(b"[remote")
    found["git_heads"] += files.get("HEAD") != f"ref: {BRANCH}\n".encode()
    found["gold_files"] += sum(gold.in_bytes(item.body) for item in objects.values())
    found.update(_history(files.get(BRANCH, b""), objects, tree))
    found["git_index"] += _index_differs(files.get("index", b""), tree)
    return found


def _kind(path: str) -> str:
    return next((name for name, pattern in _KINDS if pattern.fullmatch(path)), "")


def _objects_in(path: str, data: bytes) -> list[GitObject]:
    if _LOOSE.fullmatch(path):
        item = read_loose(data)
        if item.oid.hex() != path.removeprefix("objects/").replace("/", ""):
            raise UnreadableError("another name than its content has")
        return [item]
    return read_pack(data) if path.endswith(".pack") else []


def _stray_packs(files: Mapping[str, bytes]) -> int:
    packs = {path[:-5] for path in files if _PACK.fullmatch(path) and path.endswith(".pack")}
    indexes = {path[:-4] for path in files if _PACK.fullmatch(path) and path.endswith(".idx")}
    return max(0, len(packs) - 1) + len(packs ^ indexes)


def _packed_refs(files: Mapping[str, bytes]) -> int:
    lines = files.get("packed-refs", b"").splitlines()
    return sum(not line.startswith((b"#", b"^")) for line in lines)


def _history(head: bytes, objects: Mapping[bytes, GitObject], tree: Tree) -> Counter[str]:
    """Follow the branch: one commit, its tree the task's, nothing left over."""
    found: Counter[str] = Counter()
    commits = [item for item in objects.values() if item.kind == b"commit"]
    found["git_commits"] = max(0, len(commits) - 1)
    try:
        commit = objects.get(bytes.fromhex(head.decode("ascii").removesuffix("\n")))
    except ValueError:
        commit = None
    if commit is None or commit.kind != b"commit":
        found["git_refs"] += 1
        return found
    stamp = b"%s %d +0000" % (IDENTITY, COMMIT_TIME_SEC)
    root, _, rest = commit.body.removeprefix(b"tree ").partition(b"\n")
    found["git_identity"] = rest != b"author %s\ncommitter %s\n\n%s" % (stamp, stamp, MESSAGE)
    reached = {commit.oid}
    held: dict[str, tuple[str, bytes | None]] = {}
    for path, mode, oid in _walk(objects, root, reached):
        if mode == "160000":
            found["git_submodules"] += 1
        item = objects.get(oid)
        held[path] = mode, item.body if item else None
    wanted = {path: (str(file.mode), file.data) for path, file in tree.items()}
    found["git_differs"] = sum(held.get(p) != wanted.get(p) for p in held.keys() | wanted.keys())
    found["git_unreachable"] = len(objects.keys() - reached)
    return found


def _walk(
    objects: Mapping[bytes, GitObject], root: bytes, reached: set[bytes]
) -> Iterator[tuple[str, str, bytes]]:
    """All (path, mode, object) below a tree; what is met is added to ``reached``."""
    try:
        pending = [("", bytes.fromhex(root.decode("ascii")))]
    except ValueError:
        return
    while pending:
        prefix, oid = pending.pop()
        item = objects.get(oid)
        reached.add(oid)
        at, body = 0, item.body if item and item.kind == b"tree" else b""
        while (end := body.find(b"\0", at)) >= 0:
            mode, _, name = body[at:end].partition(b" ")
            path = prefix + name.decode("utf-8", "surrogateescape")
            child, at = body[end + 1 : end + 21], end + 21
            if mode == b"40000":
                pending.append((path + "/", child))
            else:
                reached.add(child)
                yield path, mode.decode("ascii", "replace"), child


def _index_differs(data: bytes, tree: Tree) -> int:
    """Compare the names in the staging area with the tree's; extensions count as one each."""
    if data[:8] != b"DIRC\0\0\0\2" or len(data) < 32:
        return 1
    listed, at = set(), 12
    for _ in range(min(struct.unpack(">I", data[8:12])[0], len(data))):
        end = data.find(b"\0", at + 62)
        if end < 0:
            return 1
        listed.add(data[at + 62 : end].decode("utf-8", "surrogateescape"))
        at += (end - at) // 8 * 8 + 8
    return len(listed ^ tree.keys()) + (at + 20 != len(data))
