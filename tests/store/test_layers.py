"""Layers: whole or absent, built once, never removed under a user."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.errors import NotFoundError, UsageError
from codegym.store import LayerStore

KEY = "tree-0123456789abcdef"
OTHER = "tree-fedcba9876543210"
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
FORK = multiprocessing.get_context("fork")


def fill(text: str = "whole") -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        (folder / "sub").mkdir()
        (folder / "sub" / "file").write_text(text)

    return build


def names(root: Path) -> set[str]:
    return {entry.name for entry in root.iterdir()}


def age(store: LayerStore, key: str, days: float) -> None:
    then = time.time() - days * 86_400
    os.utime(store.root / ".locks" / key, (then, then))


@contextmanager
def child(target: Callable[..., None], *arguments: object) -> Iterator[tuple[int, Connection]]:
    """Run ``target(connection, *arguments)`` in a process that is dead at the end."""
    ours, theirs = FORK.Pipe()
    process = FORK.Process(target=target, args=(theirs, *arguments))
    process.start()
    theirs.close()
    try:
        yield process.pid or 0, ours
    finally:
        process.kill()
        process.join()


def test_publishes_once_and_finds(tmp_path: Path) -> None:
    store = LayerStore(tmp_path)
    assert store.find(KEY) is None
    path = store.publish(KEY, fill())
    assert (path / "sub" / "file").read_text() == "whole"
    assert store.publish(KEY, fill("never built")) == path == store.find(KEY)
    assert (path / "sub" / "file").read_text() == "whole"
    assert LayerStore(tmp_path).find(KEY) == path


def test_a_sandbox_user_can_enter_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        path = LayerStore(tmp_path).publish(KEY, fill())
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o755


def test_use_leaves_no_trace_in_the_layer(tmp_path: Path) -> None:
    store = LayerStore(tmp_path)

    def build(folder: Path) -> None:
        os.utime(folder, (1, 1))

    path = store.publish(KEY, build)
    store.find(KEY)
    with store.hold(KEY):
        pass
    assert path.stat().st_mtime == 1


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_a_build_that_fails_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    store = LayerStore(tmp_path)

    def build(folder: Path) -> None:
        fill()(folder)
        raise error("no")

    with pytest.raises(error, match="no"):
        store.publish(KEY, build)
    assert store.find(KEY) is None
    assert names(tmp_path) == {".locks"}
    assert store.publish(KEY, fill()).is_dir()


@pytest.mark.parametrize("key", ["", "tree", "tree-xyz", "../x-0123456789", "tree-01234567/a", "."])
def test_keys_cannot_name_other_folders(tmp_path: Path, key: str) -> None:
    store = LayerStore(tmp_path)
    for use in (store.find, lambda key: store.publish(key, fill())):
        with pytest.raises(UsageError, match="layer key"):
            use(key)
    with pytest.raises(UsageError, match="layer key"), store.hold(key):
        pass


def publish_slowly(pipe: Connection, root: Path, log: Path) -> None:
    def build(folder: Path) -> None:
        with log.open("a") as file:
            file.write(f"{os.getpid()}\n")
        fill()(folder)
        time.sleep(0.05)

    pipe.recv()
    path = LayerStore(root).publish(KEY, build)
    pipe.send((path / "sub" / "file").read_text())


def test_of_processes_at_once_one_builds_and_all_get_it(tmp_path: Path) -> None:
    root, log = tmp_path / "layers", tmp_path / "log"
    with (
        child(publish_slowly, root, log) as (_, a),
        child(publish_slowly, root, log) as (_, b),
        child(publish_slowly, root, log) as (_, c),
    ):
        for pipe in (a, b, c):
            pipe.send("go")
        assert [pipe.recv() for pipe in (a, b, c)] == ["whole"] * 3
    assert len(log.read_text().splitlines()) == 1
    assert names(root) == {".locks", KEY}


def test_of_threads_at_once_one_builds(tmp_path: Path) -> None:
    store, built = LayerStore(tmp_path), []

    def build(folder: Path) -> None:
        built.append(folder)
        time.sleep(0.02)

    threads = [threading.Thread(target=store.publish, args=(KEY, build)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1


def build_half(pipe: Connection, root: Path) -> None:
    def build(folder: Path) -> None:
        fill("half")(folder)
        (folder / "locked").mkdir(mode=0o500)
        pipe.send("half")
        time.sleep(60)

    LayerStore(root).publish(KEY, build)


def test_a_builder_killed_half_way_is_replaced(tmp_path: Path) -> None:
    with child(build_half, tmp_path) as (pid, pipe):
        assert pipe.recv() == "half"
        assert len(names(tmp_path)) == 2, "a draft beside .locks"
        os.kill(pid, signal.SIGKILL)
    store = LayerStore(tmp_path)
    assert store.find(KEY) is None
    assert (store.publish(KEY, fill()) / "sub" / "file").read_text() == "whole"
    assert names(tmp_path) == {".locks", KEY}


def test_whoever_waits_for_a_killed_builder_builds(tmp_path: Path) -> None:
    got: list[str] = []

    def wait() -> None:
        path = LayerStore(tmp_path).publish(KEY, fill())
        got.append((path / "sub" / "file").read_text())

    with child(build_half, tmp_path) as (pid, pipe):
        assert pipe.recv() == "half"
        waiter = threading.Thread(target=wait)
        waiter.start()
        waiter.join(0.1)
        assert not got
        os.kill(pid, signal.SIGKILL)
        waiter.join(30)
    assert got == ["whole"]


def test_prune_removes_what_was_not_used_lately(tmp_path: Path) -> None:
    store = LayerStore(tmp_path)
    store.publish(KEY, fill("x" * 10_000))
    store.publish(OTHER, fill())
    age(store, KEY, 8)
    age(store, OTHER, 6)
    pruned = store.prune(7)
    assert (pruned.removed, pruned.kept) == (1, 1)
    assert pruned.freed_bytes >= 10_000
    assert names(tmp_path) == {".locks", OTHER}
    assert names(tmp_path / ".locks") == {OTHER}


def test_use_keeps_a_layer_young(tmp_path: Path) -> None:
    store = LayerStore(tmp_path)
    store.publish(KEY, fill())
    age(store, KEY, 30)
    store.find(KEY)
    assert store.prune(1).kept == 1


def test_prune_removes_what_cannot_be_written(tmp_path: Path) -> None:
    store = LayerStore(tmp_path)

    def build(folder: Path) -> None:
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "file").write_text("x")
        (folder / "link").symlink_to("/")
        (folder / "a" / "b").chmod(0o500)
        (folder / "a").chmod(0o500)

    store.publish(KEY, build)
    assert store.prune(0).removed == 1
    assert names(tmp_path) == {".locks"}


def hold(pipe: Connection, root: Path) -> None:
    with LayerStore(root).hold(KEY):
        pipe.send("held")
        time.sleep(60)


def test_prune_spares_a_layer_that_another_process_holds(tmp_path: Path) -> None:
    store = LayerStore(tmp_path)
    path = store.publish(KEY, fill())
    with child(hold, tmp_path) as (_, pipe):
        assert pipe.recv() == "held"
        age(store, KEY, 99)
        assert store.prune(0).kept == 1
        assert (path / "sub" / "file").read_text() == "whole"
    age(store, KEY, 99)
    assert store.prune(0).removed == 1


def test_two_hold_one_layer(tmp_path: Path) -> None:
    store = LayerStore(tmp_path)
    store.publish(KEY, fill())
    with store.hold(KEY) as first:
        with store.hold(KEY) as second:
            assert first == second
        assert store.prune(0).kept == 1, "the first still holds it"


def test_prune_spares_a_build_and_removes_a_killed_one(tmp_path: Path) -> None:
    store = LayerStore(tmp_path)
    with child(build_half, tmp_path) as (pid, pipe):
        assert pipe.recv() == "half"
        assert store.prune(0).removed == 0
        assert len(names(tmp_path)) == 2
        os.kill(pid, signal.SIGKILL)
    assert store.prune(99).removed == 1, "a leftover goes whatever its age"
    assert names(tmp_path) == {".locks"}
    assert names(tmp_path / ".locks") == set()


def test_holding_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="layer"), LayerStore(tmp_path).hold(KEY):
        pass


def test_prune_leaves_strange_files_alone(tmp_path: Path) -> None:
    store = LayerStore(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".build-notes").mkdir()
    store.prune(0)
    assert names(tmp_path) == {".locks", "notes.txt", ".build-notes"}


def churn(pipe: Connection, root: Path) -> None:
    """Publish and read until told to stop; says what it read that was not whole."""
    store, wrong = LayerStore(root), 0
    while not pipe.poll():
        store.publish(KEY, fill())
        try:
            with store.hold(KEY) as path:
                wrong += (path / "sub" / "file").read_text() != "whole"
        except NotFoundError:
            continue  # pruned in between, which is allowed
    pipe.send(wrong)


def test_a_held_layer_is_whole_while_another_prunes(tmp_path: Path) -> None:
    store = LayerStore(tmp_path)
    with child(churn, tmp_path) as (_, a), child(churn, tmp_path) as (_, b):
        removed = 0
        while removed < 20:  # the test's own time limit ends it if none ever is
            removed += store.prune(0).removed
        a.send("stop")
        b.send("stop")
        assert (a.recv(), b.recv()) == (0, 0)


KEYS = st.sampled_from([KEY, OTHER, "image-00000000"])
STEPS = st.lists(
    st.tuples(KEYS, st.sampled_from(["publish", "fail", "find", "prune old", "prune"])), max_size=12
)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_any_sequence_matches_a_dict(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    store, model = LayerStore(tmp_path_factory.mktemp("layers")), set[str]()

    def fail(folder: Path) -> None:
        raise RuntimeError

    for key, what in steps:
        if what == "publish":
            store.publish(key, fill())
            model.add(key)
        elif what == "fail" and key not in model:
            with pytest.raises(RuntimeError):
                store.publish(key, fail)
        elif what == "find":
            assert (store.find(key) is not None) == (key in model)
        elif what == "prune old":
            assert store.prune(1).kept == len(model)
        elif what == "prune":
            assert store.prune(-1).removed == len(model)
            model.clear()
        assert names(store.root) == {".locks"} | model
