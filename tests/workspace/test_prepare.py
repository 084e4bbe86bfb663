"""Preparing tasks: the right trees, attested each time, written once."""

from __future__ import annotations

import dataclasses
import itertools
import os
import shutil
import threading
from pathlib import Path

import pytest

from codegym.errors import TaskError, UnavailableError
from codegym.store import LayerStore
from codegym.tasks import load_environment, read_rows
from codegym.types import File, Task
from codegym.workspace.history import open_history
from codegym.workspace.layer import TIME_NS
from codegym.workspace.patch import diff_trees
from codegym.workspace.prepare import Workshop
from codegym.workspace.seal import LayerSeals, Seal
from codegym.workspace.trees import base_tree, gold_tree, grading_tree, start_tree
from tests.support import make_tiny_environment, tiny_task

KVLOG = Path(__file__).parents[2] / "environments" / "kvlog"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("env"))


@pytest.fixture(scope="module")
def task(environment):
    return tiny_task(environment)


@pytest.fixture
def store(tmp_path):
    return LayerStore(tmp_path / "layers")


def layers(store: LayerStore) -> set[str]:
    return {path.name for path in store.root.iterdir() if not path.name.startswith(".")}


def test_the_four_trees(environment, task):
    history = open_history(environment)
    base, gold = history.tree_at(task.base_commit), history.tree_at(environment.head)
    shown = start_tree(task, environment)
    assert base_tree(task, environment) == base
    assert gold_tree(task, environment) == gold
    assert shown["tests/test_order.py"] == gold["tests/test_order.py"]
    assert shown["src/tinycalc/order.py"] == base["src/tinycalc/order.py"]
    assert grading_tree(task, environment) == shown
    issue = dataclasses.replace(task, kind="FixIssue")
    assert start_tree(issue, environment) == base
    assert grading_tree(issue, environment) == shown


def test_a_mutant_starts_from_its_own_tree(environment, task):
    mutant = _mutant(environment, task)
    start = start_tree(mutant, environment)
    assert b"sorted(numbers)[0]" in start["src/tinycalc/order.py"].data
    assert gold_tree(mutant, environment) == open_history(environment).tree_at(environment.head)


def _mutant(environment, task) -> Task:
    """The newest commit with one line of the fixed file changed."""
    head = open_history(environment).tree_at(environment.head)
    source = "src/tinycalc/order.py"
    broken = head[source].data.replace(b"sorted(numbers)[-1]", b"sorted(numbers)[0]")
    assert broken != head[source].data
    mutated = {**head, source: File(broken)}
    return dataclasses.replace(
        task,
        instance_id="tiny-mutant",
        base_commit=environment.head,
        test_patch="",
        start_patch=diff_trees(head, mutated),
        patch=diff_trees(mutated, head),
    )


def test_prepared_layers_hold_the_trees_and_nothing_of_the_solution(environment, task, store):
    prepared = Workshop(store, None).prepare(task, environment)
    assert prepared.attestation.clean
    assert len(prepared.attestation.found) > 30
    assert (prepared.start / ".git/HEAD").read_bytes() == b"ref: refs/heads/main\n"
    assert not (prepared.grading / ".git").exists()
    for layer, tree in (
        (prepared.start, prepared.start_tree),
        (prepared.grading, prepared.grading_tree),
    ):
        held = {
            p.relative_to(layer).as_posix(): p.read_bytes() for p in layer.rglob("*") if p.is_file()
        }
        assert {path: data for path, data in held.items() if path[:5] != ".git/"} == {
            path: file.data for path, file in tree.items()
        }  # fmt: skip
        assert not any(b"middle = len(ordered)" in data for data in held.values())


def test_a_task_is_written_once_by_any_number_of_threads_and_workshops(environment, task, store):
    workshop, results = Workshop(store, None), []
    threads = [
        threading.Thread(target=lambda: results.append(workshop.prepare(task, environment)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert len(layers(store)) == 2
    inode = results[0].start.stat().st_ino
    again = Workshop(store, None).prepare(task, environment)
    assert again.start.stat().st_ino == inode
    assert {result.digest for result in results} == {again.digest}
    assert workshop.prepare(task, environment) is workshop.prepare(task, environment)


def test_tasks_that_differ_get_their_own_layers(environment, task, store):
    workshop = Workshop(store, None)
    first = workshop.prepare(task, environment)
    issue = workshop.prepare(dataclasses.replace(task, kind="FixIssue"), environment)
    mutant = workshop.prepare(_mutant(environment, task), environment)
    assert len({first.start, issue.start, mutant.start}) == 3
    assert issue.grading == first.grading


TAMPERING = {
    "a file more": lambda layer: (layer / "src/x.py").write_text("x"),
    "a file changed": lambda layer: (layer / "README.md").write_text("# x"),
    "a file changed, time set back": lambda layer: (
        (layer / "README.md").write_text("# tinycalk\n"),
        os.utime(layer / "README.md", ns=(TIME_NS, TIME_NS)),
    ),
    "a file less": lambda layer: (layer / "README.md").unlink(),
    "a mode": lambda layer: (layer / "README.md").chmod(0o755),
    "a time": lambda layer: os.utime(layer / "README.md", ns=(TIME_NS, TIME_NS + 1)),
    "a folder's time": lambda layer: os.utime(layer / "src", ns=(TIME_NS, TIME_NS + 1)),
    "an attribute": lambda layer: os.setxattr(layer / "README.md", "user.x", b"answer"),
    "a hard link": lambda layer: os.link(layer / "README.md", layer.parent / "elsewhere"),
    "a ref": lambda layer: (layer / ".git/ORIG_HEAD").write_text("0" * 40),
    "a config": lambda layer: (layer / ".git/config").write_text("[user]\n"),
}


@pytest.mark.parametrize("which", ["start", "grading"])
@pytest.mark.parametrize("how", TAMPERING)
@pytest.mark.parametrize("seen", [True, False])
def test_a_layer_that_changed_on_disk_is_refused(environment, task, store, how, which, seen):
    """By a workshop that attested it before, and by one that finds it in the cache."""
    if which == "grading" and how in ("a ref", "a config"):
        pytest.skip("it has no .git")
    workshop = Workshop(store, None)
    prepared = workshop.prepare(task, environment)
    TAMPERING[how](getattr(prepared, which))
    workshop = workshop if seen else Workshop(store, None)
    for _ in range(2):
        with pytest.raises(TaskError, match=r"tiny-median: .*would give the answer away"):
            workshop.prepare(task, environment)


def test_what_changes_nothing_is_looked_at_again_and_accepted(environment, task, store):
    workshop = Workshop(store, None)
    prepared = workshop.prepare(task, environment)
    (prepared.start / "README.md").chmod(0o644)  # its change time moves
    assert workshop.prepare(task, environment).attestation.clean
    assert workshop.prepare(task, environment).start == prepared.start


def test_a_pruned_layer_is_written_again(environment, task, store):
    workshop = Workshop(store, None)
    prepared = workshop.prepare(task, environment)
    shutil.rmtree(prepared.grading)
    assert workshop.prepare(task, environment).grading.is_dir()


def test_a_task_whose_start_holds_its_solution_is_refused(environment, task, store):
    """A copy of the fixed file, under another name, that the start patch adds."""
    fixed = gold_tree(task, environment)["src/tinycalc/order.py"].data.decode()
    lines = fixed.splitlines(keepends=True)
    leak = f"--- /dev/null\n+++ b/docs/old.txt\n@@ -0,0 +1,{len(lines)} @@\n+" + "+".join(lines)
    with pytest.raises(TaskError, match=r"\d gold_files"):
        Workshop(store, None).prepare(dataclasses.replace(task, start_patch=leak), environment)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base_commit": "1" * 40}, "base_commit: no commit named"),
        ({"patch": "--- a/no\n+++ b/no\n@@ -1 +1 @@\n-a\n+b\n"}, "no file 'no'"),
        ({"test_patch": "nonsense"}, "no file's header"),
        ({"start_patch": "--- /dev/null\n+++ b/.git/x\n@@ -0,0 +1 @@\n+a\n"}, "git keeps"),
    ],
)
def test_a_broken_task_is_the_tasks_fault(environment, task, store, changes, said):
    with pytest.raises(TaskError, match=said) as caught:
        Workshop(store, None).prepare(dataclasses.replace(task, **changes), environment)
    assert caught.value.task_id == "tiny-median"
    assert layers(store) == set()


def test_committed_caches_are_left_out(environment, task, store, monkeypatch):
    history = open_history(environment)
    real = history.tree_at(task.base_commit)
    extra = {
        "src/__pycache__/a.cpython-311.pyc": real["README.md"],
        ".mypy_cache/a": real["README.md"],
    }
    monkeypatch.setattr(type(history), "tree_at", lambda self, commit: {**real, **extra})
    assert base_tree(task, environment) == real
    assert Workshop(store, None).prepare(task, environment).attestation.clean


def test_a_large_layers_seal_looks_at_folders_always_and_at_files_in_turn(tmp_path):
    for number in range(25):
        (tmp_path / f"f{number:02}").write_text("x")
    sealed = Seal(tmp_path, at_once=10)
    assert all(sealed.holds() for _ in range(7))
    (tmp_path / "one-more").write_text("x")
    assert not sealed.holds()
    for number in range(25):
        sealed = Seal(tmp_path, at_once=10)
        (tmp_path / f"f{number:02}").write_text("y")
        assert not all(sealed.holds() for _ in range(3)), number


def _image(folder: Path) -> Path:
    (folder / "lib/deep").mkdir(parents=True)
    (folder / "lib/deep/json.py").write_text("code")
    (folder / "bin").symlink_to("lib")
    return folder


IMAGE_TAMPERING = {
    "a file more": lambda image: (image / "lib/deep/answer.py").write_text("x"),
    "a file changed": lambda image: (image / "lib/deep/json.py").write_text("edoc"),
    "a file less": lambda image: (image / "lib/deep/json.py").unlink(),
    "a time": lambda image: os.utime(image / "lib/deep/json.py", ns=(TIME_NS, TIME_NS)),
    "a link's time": lambda image: os.utime(image / "bin", ns=(1, 1), follow_symlinks=False),
    "a mode": lambda image: (image / "lib/deep/json.py").chmod(0o755),
    "an attribute": lambda image: os.setxattr(image / "lib/deep/json.py", "user.x", b"answer"),
    "a folder": lambda image: (image / "lib/new").mkdir(),
}


@pytest.mark.parametrize("how", IMAGE_TAMPERING)
def test_an_image_that_changed_on_disk_is_refused(tmp_path, how):
    image, seals = _image(tmp_path / "image-1"), LayerSeals()
    for _ in range(3):
        seals.check([image])
    IMAGE_TAMPERING[how](image)
    for _ in range(2):
        with pytest.raises(UnavailableError, match=r"image-1 was changed since it was first used"):
            seals.check([image])


def test_an_image_that_was_pruned_and_built_anew_is_another(tmp_path):
    image, seals = _image(tmp_path / "image-1"), LayerSeals()
    seals.check([image])
    image.rename(tmp_path / "kept")  # its inode is not free to be taken again
    seals.check([image])  # whoever starts a sandbox tells that it is gone
    seals.check([_image(tmp_path / "image-1")])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_layers_for_another_owner_are_others(environment, task, store):
    mine = Workshop(store, None).prepare(task, environment)
    theirs = Workshop(store, (54321, 54321)).prepare(task, environment)
    assert mine.start != theirs.start
    assert theirs.start.stat().st_uid == 54321


def test_every_bundled_task_prepares_clean(store):
    rows = KVLOG / "tasks.jsonl"
    if not rows.is_file():
        pytest.skip("no bundled tasks yet")
    environment, workshop = load_environment(KVLOG), Workshop(store, None)
    tasks = list(read_rows(rows))
    assert tasks
    for task in tasks:
        assert workshop.prepare(task, environment).attestation.clean


def test_every_step_of_a_real_history_would_prepare_clean(store):
    """Each commit of kvlog as a task, its tests hidden: the trees are the commits'."""
    environment, workshop = load_environment(KVLOG), Workshop(store, None)
    history = open_history(environment)
    for old, new in itertools.pairwise(history.commits(environment.head)[-8:]):
        changed = history.changed(old.hash, new.hash)
        tests = {path for path in changed if path.startswith("tests/")}
        if tests == set(changed):
            continue
        task = Task(
            instance_id=f"kvlog-{new.hash[:8]}",
            environment="kvlog",
            base_commit=old.hash,
            patch=history.diff(old.hash, new.hash, set(changed) - tests),
            test_patch=history.diff(old.hash, new.hash, tests),
            fail_to_pass=("tests/test_x.py::test_x",),
            pass_to_pass=(),
            kind="FixIssue",
        )
        prepared = workshop.prepare(task, environment)
        assert prepared.attestation.clean
        assert prepared.start_tree == history.tree_at(old.hash)
        assert gold_tree(task, environment) == history.tree_at(new.hash)
