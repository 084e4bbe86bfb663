"""Histories: imported whole or not at all, and read as git reads them."""

from __future__ import annotations

import dataclasses
import itertools
import multiprocessing
import os
from pathlib import Path

import pytest
from children import open_history_together

from codegym.errors import DataError, NotFoundError, UsageError
from codegym.tasks import Environment, load_environment
from codegym.workspace import git
from codegym.workspace.history import open_history
from codegym.workspace.patch import apply_patch
from tests.support import make_tiny_environment

KVLOG = Path(__file__).parents[2] / "environments" / "kvlog"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("env"))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CODEGYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_commits_come_oldest_first_and_patches_lead_from_one_to_the_next(environment, cache):
    history = open_history(environment)
    commits = history.commits(environment.head)
    assert [commit.subject for commit in commits][:2] == ["Sums and means", "Largest and median"]
    assert commits[-1].hash == environment.head
    assert commits[1].parents == (commits[0].hash,)
    assert commits[2].date == "2024-01-03T12:00:00+00:00"
    for old, new in itertools.pairwise(commits):
        patch = history.diff(old.hash, new.hash)
        tree = apply_patch(history.tree_at(old.hash), patch, where="t")
        assert tree == history.tree_at(new.hash)
    assert history.changed(commits[1].hash, commits[2].hash) == (
        "src/tinycalc/order.py",
        "tests/test_order.py",
    )
    part = history.diff(commits[1].hash, commits[2].hash, {"tests/test_order.py"})
    assert "test_median_of_even" in part
    assert "src/" not in part


@pytest.mark.parametrize("folder", [KVLOG])
def test_trees_are_gits(folder, cache):
    """Against `git archive`-like listings, on a real history."""
    bundled = load_environment(folder)
    history = open_history(bundled)
    for commit in history.commits(bundled.head)[::5]:
        listed = git.run("ls-tree", "-r", "-z", commit.hash, folder=history.path)
        rows = [row.split(b"\t") for row in listed.split(b"\0") if row]
        tree = history.tree_at(commit.hash)
        assert [os.fsencode(path) for path in tree] == [path for _, path in rows]
        for meta, path in rows:
            mode, _, oid = meta.decode().split()
            file = tree[os.fsdecode(path)]
            assert file.mode == mode
            assert file.data == git.run("cat-file", "blob", oid, folder=history.path)


def test_two_processes_import_once(environment, cache):
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    workers = [
        context.Process(
            target=open_history_together, args=(str(environment.folder), start, results)
        )
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    start.set()
    found = {results.get(timeout=60) for _ in workers}
    for worker in workers:
        worker.join()
    assert len(found) == 1
    assert [p.name for p in (cache / "repos").iterdir() if p.name[0] != "."] == [
        Path(found.pop()).name
    ]


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (b"garbage\n", "cannot be imported"),
        (b"commit refs/heads/main\n", "cannot be imported"),
        (b"", "does not hold the commit"),
        (b"feature export-marks=/tmp/marks\n", "cannot be imported"),
    ],
)
def test_a_broken_history_leaves_nothing(environment, cache, tmp_path, stream, said):
    file = tmp_path / "broken"
    file.write_bytes(stream)
    with pytest.raises(DataError, match=said):
        open_history(dataclasses.replace(environment, history=file))
    assert [path for path in (cache / "repos").iterdir() if path.name != ".locks"] == []


def test_a_head_that_the_history_lacks_is_refused(environment, cache):
    with pytest.raises(DataError, match="does not hold the commit 0000"):
        open_history(dataclasses.replace(environment, head="0" * 40))
    with pytest.raises(DataError, match="head: must be a full commit hash"):
        open_history(dataclasses.replace(environment, head="main"))
    with pytest.raises(DataError, match="cannot be read"):
        open_history(dataclasses.replace(environment, history=Path("/nonexistent")))


def test_what_is_no_commit_is_refused(environment, cache):
    history = open_history(environment)
    with pytest.raises(NotFoundError, match="no commit named"):
        history.tree_at("1" * 40)
    with pytest.raises(UsageError, match="no full commit hash"):
        history.tree_at("--upload-pack=x")
    with pytest.raises(UsageError):
        history.commits("HEAD")


def test_hooks_and_attributes_of_a_history_do_nothing(cache, tmp_path):
    """A history with export-ignore and filters gives its files as they are."""
    stream = (
        b"commit refs/heads/main\ncommitter a <a@b> 1 +0000\ndata 1\nx"
        b"M 100644 inline .gitattributes\ndata 38\n* export-ignore filter=evil text=auto\n\n"
        b"M 100644 inline a.txt\ndata 4\na\r\nb\n"
        b"M 160000 1111111111111111111111111111111111111111 module\n\n"
    )
    seed = tmp_path / "seed"
    seed.mkdir()
    git.run("init", "-q", "--bare", "--template=", ".", folder=seed)
    git.run("fast-import", "--quiet", folder=seed, stdin=stream)
    head = git.run("rev-parse", "main", folder=seed).decode().strip()
    (tmp_path / "h").write_bytes(stream)
    env = _like(tmp_path, head)
    tree = open_history(env).tree_at(head)
    assert set(tree) == {".gitattributes", "a.txt"}
    assert tree["a.txt"].data == b"a\r\nb"


def _like(folder: Path, head: str) -> Environment:
    environment = make_tiny_environment(folder / "env")
    return dataclasses.replace(environment, head=head, history=folder / "h")
