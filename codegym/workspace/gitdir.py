"""A ``.git`` with one commit, as data: nothing in it but the tree that it is made of.

It is written here and not by git, so that there is nothing to scrub: no template, hook, reflog,
remote, or object that was ever part of another history. It also costs no process.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Mapping

from codegym.types import Tree
from codegym.workspace.names import folders_of

COMMIT_TIME_SEC = 946_684_800  # 2000-01-01T00:00:00Z, of the commit and of every file
IDENTITY = b"codegym <codegym@invalid>"
MESSAGE = b"start\n"
BRANCH = "refs/heads/main"

# So that a policy can commit, there is a name; it is not the one that the first commit has.
# Times inside are all the same and inode numbers are those of another mount: `minimal` has git
# compare sizes and whole seconds only, so that it need not read every file again.
CONFIG = b"""\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tcheckStat = minimal
[user]
\tname = agent
\temail = agent@invalid
"""

_PACK_TYPES = {b"commit": 1, b"tree": 2, b"blob": 3}


def git_files(tree: Tree) -> Mapping[str, bytes]:
    """The files of a ``.git`` whose only commit is ``tree``; paths relative to ``.git``.

    The same tree gives the same bytes. ``git status`` is clean on files with ``COMMIT_TIME_SEC``
    as their modification time.
    """
    objects: dict[bytes, tuple[bytes, bytes]] = {}
    blobs = {path: _add(objects, b"blob", file.data) for path, file in tree.items()}
    root = _add_folders(objects, tree, blobs)
    stamp = b"%s %d +0000" % (IDENTITY, COMMIT_TIME_SEC)
    lines = (
        b"tree " + root.hex().encode(),
        b"author " + stamp,
        b"committer " + stamp,
        b"",
        MESSAGE,
    )
    commit = _add(objects, b"commit", b"\n".join(lines))
    pack, index = _pack(objects)
    name = f"objects/pack/pack-{pack[-20:].hex()}"
    return {
        "HEAD": f"ref: {BRANCH}\n".encode(),
        "config": CONFIG,
        "index": _index(tree, blobs),
        BRANCH: commit.hex().encode() + b"\n",
        f"{name}.pack": pack,
        f"{name}.idx": index,
    }


def object_id(kind: bytes, body: bytes) -> bytes:
    """The (binary) name of a git object."""
    digest = hashlib.sha1(b"%s %d\0" % (kind, len(body)), usedforsecurity=False)
    digest.update(body)
    return digest.digest()


def _add(objects: dict[bytes, tuple[bytes, bytes]], kind: bytes, body: bytes) -> bytes:
    oid = object_id(kind, body)
    objects[oid] = kind, body
    return oid


def _add_folders(
    objects: dict[bytes, tuple[bytes, bytes]], tree: Tree, blobs: Mapping[str, bytes]
) -> bytes:
    """Add the tree objects, deepest first; return the root's name."""
    entries: dict[str, list[tuple[bytes, bytes, bytes]]] = {f: [] for f in folders_of(tree)}
    deepest_first = sorted(entries, key=lambda folder: folder.count("/"), reverse=True)
    entries[""] = []
    for path, file in tree.items():
        folder, _, name = path.rpartition("/")
        entries[folder].append((file.mode.encode(), os.fsencode(name), blobs[path]))
    for path in deepest_first:
        folder, _, name = path.rpartition("/")
        oid = _add(objects, b"tree", _folder(entries[path]))
        entries[folder].append((b"40000", os.fsencode(name), oid))
    return _add(objects, b"tree", _folder(entries[""]))


def _folder(rows: list[tuple[bytes, bytes, bytes]]) -> bytes:
    """The body of a tree object; git sorts folders as if their names ended in a slash."""
    ordered = sorted(rows, key=lambda row: row[1] + b"/" * (row[0] == b"40000"))
    return b"".join(b"%s %s\0%s" % row for row in ordered)


def _index(tree: Tree, blobs: Mapping[str, bytes]) -> bytes:
    """The staging area, version 2, with the times and sizes that the files will have."""
    rows = sorted((os.fsencode(path), path) for path in tree)
    parts = [b"DIRC" + struct.pack(">II", 2, len(rows))]
    for name, path in rows:
        file = tree[path]
        fields = (0, 0, COMMIT_TIME_SEC, 0, 0, 0, int(file.mode, 8), 0, 0, len(file.data))
        entry = struct.pack(">10I", *fields) + blobs[path]
        entry += struct.pack(">H", min(len(name), 0xFFF)) + name
        parts.append(entry + b"\0" * (8 - len(entry) % 8))
    body = b"".join(parts)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _pack(objects: Mapping[bytes, tuple[bytes, bytes]]) -> tuple[bytes, bytes]:
    """All objects in one pack, and the pack's index, both version 2."""
    names = sorted(objects)
    parts = [b"PACK" + struct.pack(">II", 2, len(names))]
    offsets, checks, at = [], [], len(parts[0])
    for name in names:
        kind, body = objects[name]
        entry = _entry_head(_PACK_TYPES[kind], len(body)) + zlib.compress(body, 1)
        parts.append(entry)
        offsets.append(at)
        checks.append(zlib.crc32(entry))
        at += len(entry)
    body = b"".join(parts)
    pack = body + hashlib.sha1(body, usedforsecurity=False).digest()
    return pack, _pack_index(names, checks, offsets, pack[-20:])


def _entry_head(kind: int, size: int) -> bytes:
    head = bytearray([kind << 4 | size & 15])
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head)


def _pack_index(
    names: list[bytes], checks: Iterable[int], offsets: list[int], pack_sum: bytes
) -> bytes:
    counts = [0] * 256
    for name in names:
        counts[name[0]] += 1
    fanout, total = [], 0
    for count in counts:
        total += count
        fanout.append(total)
    large = [offset for offset in offsets if offset >= 1 << 31]
    place = iter(range(len(large)))
    small = [offset if offset < 1 << 31 else 1 << 31 | next(place) for offset in offsets]
    body = b"".join((
        b"\xfftOc" + struct.pack(">I", 2),
        struct.pack(">256I", *fanout),
        *names,
        struct.pack(f">{len(names)}I", *checks),
        struct.pack(f">{len(names)}I", *small),
        struct.pack(f">{len(large)}Q", *large),
        pack_sum,
    ))  # fmt: skip
    return body + hashlib.sha1(body, usedforsecurity=False).digest()
