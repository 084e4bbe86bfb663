"""Attestation: each leak is planted into a copy of a layer, and found under its own name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from codegym.types import File
from codegym.workspace.attest import FILE_COUNTS, attest
from codegym.workspace.attest_git import GIT_COUNTS
from codegym.workspace.layer import TIME_NS, write_layer

SOLUTION = b"def answer():\n    return 42  # the one that nobody must see\n"
START = {
    "README.md": File(b"# deep thought\n"),
    "src/answer.py": File(b"def answer():\n    return 41\n"),
    "src/run": File(b"#!/bin/sh\nexec true\n", "100755"),
    "src/link": File(b"answer.py", "120000"),
    "empty": File(b""),
}
GOLD = {**START, "src/answer.py": File(SOLUTION), "src/new_empty.py": File(b"")}


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp("template") / "layer"
    folder.mkdir()
    write_layer(folder, START, owner=None, git=True)
    return folder


@pytest.fixture
def layer(template, tmp_path):
    copy = tmp_path / "layer"
    shutil.copytree(template, copy, symlinks=True)
    return copy


def found_in(layer: Path, settle: bool = True) -> dict[str, int]:
    """What attestation finds; with times put right first, so that they do not give a plant away."""
    if settle:
        for path in (layer, *layer.rglob("*")):
            os.utime(path, ns=(TIME_NS, TIME_NS), follow_symlinks=False)
    counts = attest(layer, START, GOLD).found
    assert set(counts) == {*FILE_COUNTS, *GIT_COUNTS}
    return {name: count for name, count in counts.items() if count}


def git(layer: Path, *arguments: str, stdin: bytes = b"") -> str:
    identity = {"NAME": "codegym", "EMAIL": "codegym@invalid", "DATE": "946684800 +0000"}
    who = {f"GIT_{r}_{key}": v for r in ("AUTHOR", "COMMITTER") for key, v in identity.items()}
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **who}
    command = ["git", "-C", str(layer), "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(command, env=env, input=stdin, capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_a_clean_layer_is_clean(template, layer):
    assert attest(template, START, GOLD).clean
    assert found_in(layer) == {}


def test_where_gold_only_takes_lines_away_the_start_is_clean(tmp_path):
    start = {"a.py": File(SOLUTION + b"    print('superfluous, and to be removed')\n")}
    tmp_path.joinpath("l").mkdir()
    write_layer(tmp_path / "l", start, owner=None, git=True)
    assert attest(tmp_path / "l", start, {"a.py": File(SOLUTION)}).clean
    (tmp_path / "l/copy.py").write_bytes(SOLUTION)
    assert attest(tmp_path / "l", start, {"a.py": File(SOLUTION)}).found["gold_files"] == 1


def counted(tmp_path: Path, start: dict[str, File], gold: dict[str, File]) -> dict[str, int]:
    (tmp_path / "l").mkdir()
    write_layer(tmp_path / "l", start, owner=None, git=True)
    return {
        name: count for name, count in attest(tmp_path / "l", start, gold).found.items() if count
    }


def test_a_solved_copy_that_the_repository_itself_holds_is_found(tmp_path):
    """In a file and in the git object of it."""
    start = {**START, "build/lib/answer.py": File(SOLUTION)}
    gold = {**GOLD, "build/lib/answer.py": File(SOLUTION)}
    assert counted(tmp_path, start, gold) == {"gold_files": 2}


def test_moving_and_repeating_files_is_no_leak(tmp_path):
    header = File(b"# Copyright the authors. All of it is free to use.\n")
    start = {"a/__init__.py": header, "a/old.py": File(SOLUTION)}
    gold = {"a/__init__.py": header, "b/__init__.py": header, "b/new.py": File(SOLUTION)}
    assert counted(tmp_path, start, gold) == {}


def test_a_layer_without_git_may_have_none(tmp_path, template):
    counts = attest(template, START, GOLD, git=False).found
    assert counts["nested_git"] == 1
    assert counts["extra_files"] > 5
    (tmp_path / "l").mkdir()
    write_layer(tmp_path / "l", START, owner=None, git=False)
    assert attest(tmp_path / "l", START, GOLD, git=False).clean
    assert not attest(tmp_path / "l", START, GOLD, git=True).clean


def blob(layer: Path) -> str:
    return git(layer, "hash-object", "-w", "--stdin", stdin=SOLUTION)


def solved_commit(layer: Path) -> str:
    (layer / "src/answer.py").write_bytes(SOLUTION)
    tree = git(layer, "-c", "core.bare=false", "stash", "create")
    (layer / "src/answer.py").write_bytes(START["src/answer.py"].data)
    return tree


def put(path: str, data: bytes = b"x") -> Callable[[Path], None]:
    def plant(layer: Path) -> None:
        (layer / path).parent.mkdir(parents=True, exist_ok=True)
        (layer / path).write_bytes(data)

    return plant


def shell(*commands: str) -> Callable[[Path], None]:
    """Git commands; ``{fix}`` is a commit of the solution that no ref points at."""

    def plant(layer: Path) -> None:
        fix = solved_commit(layer)
        for command in commands:
            git(layer, *(part.format(fix=fix, up=layer.parent) for part in command.split()))

    return plant


def zipped() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pkg/answer.py", SOLUTION)
    return data.getvalue()


def tarred() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        member = tarfile.TarInfo("sdist/answer.py")
        member.size = len(SOLUTION)
        archive.addfile(member, io.BytesIO(SOLUTION))
    return data.getvalue()


def pack(layer: Path) -> bytes:
    name = git(layer, "pack-objects", "--quiet", "p", stdin=blob(layer).encode())
    data = (layer / f"p-{name}.pack").read_bytes()
    for suffix in ("pack", "idx"):
        (layer / f"p-{name}.{suffix}").unlink()
    return data


def kept_pack(layer: Path) -> None:
    name = git(
        layer, "pack-objects", "--quiet", ".git/objects/pack/pack", stdin=blob(layer).encode()
    )
    (layer / f".git/objects/pack/pack-{name}.keep").write_bytes(b"")
    shutil.rmtree(layer / ".git/objects" / blob(layer)[:2])


def nested_repository(layer: Path) -> None:
    (layer / "vendored").mkdir()
    git(layer / "vendored", "init", "-q")


def submodule(layer: Path) -> None:
    other = layer.parent / "other"
    git(layer.parent, "init", "-q", "other")
    (other / "answer.py").write_bytes(SOLUTION)
    git(other, "add", "-A")
    git(other, "commit", "-q", "-m", "x")
    git(layer, "submodule", "--quiet", "add", str(other), "sub")


def bundle(layer: Path) -> None:
    (layer / "x").write_bytes(b"# v2 git bundle\n\n" + pack(layer))


def staged(layer: Path) -> None:
    git(layer, "update-index", "--add", "--cacheinfo", f"100644,{'1' * 40},src/future.py")


def amended(layer: Path) -> None:
    git(layer, "commit", "--amend", "-q", "-m", "base of fix 4f2a")


def thin_object(layer: Path) -> None:
    (layer / ".git/objects/aa").mkdir()
    (layer / ".git/objects/aa" / ("b" * 38)).write_bytes(zlib.compress(b"blob 1\0x"))


def torn_pack(layer: Path) -> None:
    path = next((layer / ".git/objects/pack").glob("*.pack"))
    path.write_bytes(path.read_bytes() + SOLUTION)


def hard_link(layer: Path) -> None:
    os.link(layer / "README.md", layer.parent / "elsewhere")


def link(path: str, target: str) -> Callable[[Path], None]:
    return lambda layer: (layer / path).symlink_to(target)


def attribute(layer: Path) -> None:
    os.setxattr(layer / "README.md", "user.origin", SOLUTION)


PLANTS: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    # history
    "a second commit": (shell("reset -q --hard {fix}"), {"git_commits", "git_identity"}),
    "a branch": (shell("branch upstream {fix}"), {"git_refs", "git_commits", "gold_files"}),
    "a tag": (shell("tag -a -m x v2 {fix}"), {"git_refs", "gold_files", "git_unreachable"}),
    "packed refs": (shell("tag v2 {fix}", "pack-refs --all"), {"git_refs", "gold_files"}),
    "a stash": (shell("stash store {fix}"), {"git_refs", "git_reflogs", "gold_files"}),
    "a note": (shell("notes add -m see-upstream HEAD"), {"git_refs", "git_commits"}),
    "a replacement": (shell("replace HEAD {fix}"), {"git_refs", "gold_files"}),
    "a dangling commit": (solved_commit, {"git_commits", "git_unreachable", "gold_files"}),
    "a dangling blob": (blob, {"git_unreachable", "gold_files"}),
    "a kept pack": (kept_pack, {"git_keep_packs", "git_packs", "gold_files", "git_unreachable"}),
    "bytes after a pack": (torn_pack, {"git_unreadable"}),
    "a falsely named object": (thin_object, {"git_unreadable"}),
    "alternates": (put(".git/objects/info/alternates", b"/srv/objects\n"), {"git_alternates"}),
    "a reflog": (put(".git/logs/HEAD", b"0 1 clone: from\n"), {"git_reflogs"}),
    "ORIG_HEAD": (put(".git/ORIG_HEAD", b"1" * 40), {"git_heads"}),
    "FETCH_HEAD": (put(".git/FETCH_HEAD", b"1" * 40), {"git_heads"}),
    "a detached HEAD": (shell("checkout -q --detach"), {"git_heads"}),
    "a merge under way": (put(".git/rebase-merge/onto", b"1" * 40), {"git_heads"}),
    "a worktree": (shell("worktree add -q --detach {up}/w {fix}"), {"git_worktrees", "gold_files"}),
    "a submodule": (submodule, {"git_submodules", "git_config", "nested_git", "gold_files"}),
    "a submodule's folder": (put(".git/modules/x/HEAD"), {"git_submodules"}),
    "a remote": (shell("remote add origin https://example.org/x"), {"git_remotes", "git_config"}),
    "a remote's branch": (put(".git/refs/remotes/origin/main", b"1" * 40), {"git_remotes"}),
    "a user's name": (shell("config user.name dev"), {"git_config"}),
    "a hook": (put(".git/hooks/post-checkout"), {"git_hooks"}),
    "a graft": (put(".git/shallow", b"1" * 40), {"git_grafts"}),
    "a commit graph": (put(".git/objects/info/commit-graph"), {"git_grafts"}),
    "a telling message": (amended, {"git_identity", "git_commits"}),
    "a staged file": (staged, {"git_index"}),
    "a description": (put(".git/description"), {"git_extra"}),
    "a lost object's file": (put(".git/lost-found/x", SOLUTION), {"git_extra", "gold_files"}),
    # leftovers
    "bytecode": (put("src/__pycache__/answer.cpython-311.pyc"), {"bytecode", "extra_files"}),
    "sourceless bytecode": (put("src/answer.pyc"), {"bytecode", "extra_files"}),
    "a type checker's cache": (put(".mypy_cache/3.11/answer.data.json"), {"tool_caches"}),
    "a test runner's cache": (put("src/.pytest_cache/v/lastfailed"), {"tool_caches"}),
    "coverage": (put(".coverage"), {"tool_caches", "extra_files"}),
    "an editor's backup": (put("src/answer.py~", b"old"), {"backups", "extra_files"}),
    "a swap file": (put("src/.answer.py.swp", b"old"), {"backups", "extra_files"}),
    "a merge's original": (put("src/answer.py.orig", b"old"), {"backups", "extra_files"}),
    "a nested repository": (nested_repository, {"nested_git", "extra_files"}),
    "a .git file": (put("src/.Git", b"gitdir: /srv"), {"nested_git", "extra_files"}),
    "an empty folder": (lambda layer: (layer / "src/deleted").mkdir(), {"extra_files"}),
    "the solution": (put("src/answer.py", SOLUTION), {"gold_files", "changed_files"}),
    "the solution elsewhere": (put("doc/a.txt", SOLUTION), {"gold_files", "extra_files"}),
    "the solution within": (put("doc/a.md", b"see:\n" + SOLUTION + b"\n."), {"gold_files"}),
    "a zip": (put("dist/x.whl", zipped()), {"gold_files"}),
    "a zip after other bytes": (put("dist/x.bin", b"#!/bin/sh\n" + zipped()), {"gold_files"}),
    "a tar": (put("dist/x.tar.gz", tarred()), {"gold_files"}),
    "gzip in gzip": (put("x.gz", gzip.compress(gzip.compress(SOLUTION))), {"gold_files"}),
    "bzip2": (put("x.bz2", bz2.compress(SOLUTION)), {"gold_files"}),
    "xz": (put("x.xz", lzma.compress(SOLUTION)), {"gold_files"}),
    "a loose object elsewhere": (put("x", zlib.compress(b"blob 9\0" + SOLUTION)), {"gold_files"}),
    "a pack elsewhere": (bundle, {"gold_files"}),
    # metadata
    "a hard link": (hard_link, {"hard_links"}),
    "a link out": (link("l", "/etc/hostname"), {"links_out", "extra_files"}),
    "a link up": (link("src/l", "../../x"), {"links_out", "extra_files"}),
    "a link into .git": (link("l", ".git/config"), {"links_out", "extra_files"}),
    "a link in .git": (link(".git/alien", "/srv"), {"special_files"}),
    "a pipe": (lambda layer: os.mkfifo(layer / "pipe"), {"special_files", "extra_files"}),
    "a setuid file": (lambda layer: (layer / "src/run").chmod(0o4755), {"mode_differs"}),
    "a lost exec bit": (lambda layer: (layer / "src/run").chmod(0o644), {"changed_files"}),
    "a private file": (lambda layer: (layer / "README.md").chmod(0o600), {"mode_differs"}),
    "an open folder": (lambda layer: (layer / "src").chmod(0o777), {"mode_differs"}),
    "an attribute": (attribute, {"attributes"}),
    "a missing file": (lambda layer: (layer / "empty").unlink(), {"missing_files"}),
    "a changed file": (put("README.md", b"# deep though\n"), {"changed_files"}),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTS)
def test_each_leak_is_found(layer, name):
    plant, expected = PLANTS[name]
    plant(layer)
    assert expected <= set(found_in(layer))


def test_every_count_but_the_owners_has_a_plant():
    planted = set().union(*(counts for _, counts in PLANTS.values()))
    elsewhere = {"mtime_differs", "owner_differs", "git_differs"}
    assert planted | elsewhere == {*FILE_COUNTS, *GIT_COUNTS}


@pytest.mark.parametrize("path", [".", "src", "src/answer.py", "src/link", ".git", ".git/HEAD"])
def test_a_time_that_differs_is_found(layer, path):
    assert found_in(layer) == {}
    os.utime(layer / path, ns=(TIME_NS, TIME_NS + 1), follow_symlinks=False)
    assert found_in(layer, settle=False) == {"mtime_differs": 1}


def test_another_owner_is_found(template):
    counts = attest(template, START, GOLD, owner=(os.geteuid() + 1, os.getegid())).found
    assert counts["owner_differs"] > len(START)


def test_a_commit_of_another_tree_is_found(tmp_path):
    """The files are right, the commit holds others."""
    for name, tree in (("right", START), ("wrong", {**START, "README.md": File(b"other")})):
        (tmp_path / name).mkdir()
        write_layer(tmp_path / name, tree, owner=None, git=True)
    shutil.rmtree(tmp_path / "right/.git")
    shutil.copytree(tmp_path / "wrong/.git", tmp_path / "right/.git")
    assert found_in(tmp_path / "right") == {"git_differs": 1}


def test_the_same_history_packed_by_git_with_deltas_is_read_to_the_end(tmp_path):
    lines = [b"line %d of a file that is long enough for a delta\n" % n for n in range(400)]
    start = {f"f{n}": File(b"".join(lines[n:] + lines[:n])) for n in range(6)}
    gold = {**start, "f0": File(b"".join([*lines[:200], b"the fix\n", *lines[200:]]))}
    layer = tmp_path / "l"
    layer.mkdir()
    write_layer(layer, start, owner=None, git=True)
    (layer / "x").write_bytes(gold["f0"].data)
    git(layer, "hash-object", "-w", "x")
    (layer / "x").unlink()
    names = git(layer, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    for option in ("--delta-base-offset", "--no-delta-base-offset"):
        with_deltas = layer.parent / "packed"
        shutil.copytree(layer, with_deltas)
        shutil.rmtree(with_deltas / ".git/objects")
        (with_deltas / ".git/objects/pack").mkdir(parents=True)
        name = git(layer, "pack-objects", "--quiet", "--no-reuse-object", "--window=20", option,
                   str(with_deltas / ".git/objects/pack/pack"), stdin=names.encode())  # fmt: skip
        checked = git(with_deltas, "verify-pack", "-v", f".git/objects/pack/pack-{name}.pack")
        assert "chain length = 1" in checked
        counts = attest(with_deltas, start, gold).found
        assert counts["git_unreadable"] == counts["git_differs"] == counts["git_packs"] == 0
        assert counts["gold_files"] == counts["git_unreachable"] == 1
        shutil.rmtree(with_deltas)
