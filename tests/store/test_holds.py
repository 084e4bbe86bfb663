"""A layer stays as long as anyone uses it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codegym.errors import NotFoundError
from codegym.store import Holds, LayerStore

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
KEY, OTHER = "tree-0123456789abcdef", "image-0123456789abcdef"


@pytest.fixture
def store(tmp_path: Path) -> LayerStore:
    store = LayerStore(tmp_path / "layers")
    for key in (KEY, OTHER):
        store.publish(key, lambda folder: (folder / "sub").mkdir())
    return store


def kept(store: LayerStore) -> set[str]:
    """Prune everything that can be; return the layers that stay."""
    for lock in (store.root / ".locks").iterdir():
        os.utime(lock, (1, 1))
    store.prune(1)
    return {entry.name for entry in store.root.iterdir() if entry.name != ".locks"}


def test_the_last_user_lets_go(store: LayerStore) -> None:
    holds = Holds(store)
    layers = [store.root / KEY, store.root / OTHER / "sub"]
    holds.take(layers)
    holds.take(layers)
    holds.drop(layers)
    assert kept(store) == {KEY, OTHER}
    holds.drop(layers[:1])
    assert kept(store) == {OTHER}
    holds.close()
    holds.close()
    assert kept(store) == set()


def test_all_or_none(store: LayerStore) -> None:
    holds = Holds(store)
    with pytest.raises(NotFoundError, match="layer"):
        holds.take([store.root / KEY, store.root / "tree-ffffffff"])
    assert kept(store) == set()


def test_other_folders_are_passed_over(store: LayerStore, tmp_path: Path) -> None:
    holds = Holds(store)
    folders = [tmp_path, store.root, store.root / "notes", store.root / KEY]
    holds.take(folders)
    assert kept(store) == {KEY}
    holds.drop(folders)
    assert kept(store) == set()


def test_a_forked_child_that_ends_lets_go_of_nothing(store: LayerStore) -> None:
    holds = Holds(store)
    holds.take([store.root / KEY])
    child = os.fork()
    if child == 0:
        holds.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert kept(store) == {KEY}
    holds.close()


def test_many_users_cost_one_descriptor(store: LayerStore) -> None:
    holds = Holds(store)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(500):
        holds.take([store.root / KEY])
    assert len(list(Path("/proc/self/fd").iterdir())) == before + 1
    holds.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
