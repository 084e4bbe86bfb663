"""Packs: what they pin is checked, and they are replaced whole whatever happens."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import pickle
import signal
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest
from support import make_tiny_environment, tiny_task

import codegym
from codegym.errors import DataError, NotFoundError, UsageError
from codegym.tasks import (
    Environment,
    Pack,
    PackInfo,
    TaskFile,
    load_environment,
    read_quarantine,
    write_pack,
    write_quarantine,
    write_rows,
)
from codegym.types import Task

FORK = multiprocessing.get_context("fork")
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


@pytest.fixture
def tiny(tmp_path: Path) -> Environment:
    return make_tiny_environment(tmp_path / "tiny")


def several(environment: Environment, count: int, prefix: str = "t") -> list[Task]:
    one = tiny_task(environment)
    return [replace(one, instance_id=f"{prefix}{number}") for number in range(count)]


def write(environment: Environment, tasks: list[Task]) -> PackInfo:
    return write_pack(environment.folder, tasks, name="tiny", environments=[environment])


def reopen(environment: Environment) -> Pack:
    def find(name: str) -> Environment:
        if name != "tiny":
            raise NotFoundError("environment", name, ["tiny"])
        return load_environment(environment.folder)

    return Pack.open(environment.folder, find)


def test_a_pack_pins_its_content(tiny: Environment) -> None:
    tasks = several(tiny, 3)
    info = write(tiny, tasks)
    rows = (tiny.folder / "tasks.jsonl").read_bytes()
    assert info == PackInfo(
        name="tiny",
        version=1,
        sha256=hashlib.sha256(rows).hexdigest(),
        license="Apache-2.0",
        environments={"tiny": tiny.digest},
        codegym=codegym.__version__,
        operators={},
    )
    pack = reopen(tiny)
    assert pack.info == info
    assert list(pack) == tasks == list(pack.all_tasks())
    assert len(pack) == 3
    assert pack.get("t1") == tasks[1]
    assert {entry.name for entry in tiny.folder.iterdir()} == {
        "Dockerfile", "README.md", "environment.toml", "history.fast-export", "pack.json",
        "requirements.lock", "tasks.jsonl",
    }  # fmt: skip


def test_versions_count_changes(tiny: Environment) -> None:
    assert write(tiny, several(tiny, 2)).version == 1
    before = (tiny.folder / "pack.json").read_bytes()
    assert write(tiny, several(tiny, 2)).version == 1, "the same content is the same version"
    assert (tiny.folder / "pack.json").read_bytes() == before
    assert write(tiny, several(tiny, 3)).version == 2
    assert len(reopen(tiny)) == 3


def test_the_same_seed_draws_the_same_tasks(tiny: Environment) -> None:
    write(tiny, several(tiny, 10))

    def draw(seed: int) -> list[str]:
        rng, pack = np.random.default_rng(seed), reopen(tiny)
        return [pack.sample(rng).instance_id for _ in range(50)]

    assert draw(7) == draw(7) != draw(8)
    assert set(draw(7)) == {f"t{number}" for number in range(10)}


def test_what_is_asked_for_and_not_there(tiny: Environment) -> None:
    write(tiny, several(tiny, 2, "tiny"))
    with pytest.raises(NotFoundError, match=r"no task named 'tiny-1'; did you mean 'tiny1'\?"):
        reopen(tiny).get("tiny-1")


def test_edited_rows_are_refused(tiny: Environment) -> None:
    write(tiny, several(tiny, 2))
    path = tiny.folder / "tasks.jsonl"
    path.write_text(path.read_text().replace("should be 2.5", "should be 3.5"))
    with pytest.raises(DataError, match=r"not the rows that pack\.json names .*Take back"):
        reopen(tiny)


def test_a_broken_line_is_named_before_the_hash(tiny: Environment) -> None:
    write(tiny, several(tiny, 3))
    path = tiny.folder / "tasks.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:50] + b"\n" + lines[2])
    with pytest.raises(DataError, match=r"tasks\.jsonl:2: not JSON") as caught:
        reopen(tiny)
    assert caught.value.line == 2


def test_a_changed_environment_is_said(tiny: Environment) -> None:
    write(tiny, several(tiny, 1))
    (tiny.folder / "requirements.lock").write_text("pytest==8.4.0\n")
    with pytest.raises(
        DataError, match=r"environments\.tiny: .*has changed since .*from-history tiny"
    ):
        reopen(tiny)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"sha256": "0"}, r"pack\.json: sha256: "),
        ({"version": 0}, r"pack\.json: version: .*greater than"),
        ({"licence": "MIT"}, r"licence: unknown key; did you mean 'license'\?"),
        ({"license": "who knows"}, "license: .*no SPDX"),
        ({"environments": {}}, "environments: "),
        ({"environments": {"other": "0" * 64}}, "environments: 'tiny' is missing"),
    ],
)
def test_a_wrong_pack_json_is_said(
    tiny: Environment, change: dict[str, object], problem: str
) -> None:
    write(tiny, several(tiny, 1))
    path = tiny.folder / "pack.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError, match=problem):
        reopen(tiny)


def test_an_environment_that_is_gone_is_said(tiny: Environment) -> None:
    write(tiny, several(tiny, 1))
    path = tiny.folder / "pack.json"
    content = json.loads(path.read_text())
    content["environments"]["gone"] = "0" * 64
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="environments: no environment named 'gone'"):
        reopen(tiny)


def test_broken_json_in_pack_json(tiny: Environment) -> None:
    write(tiny, several(tiny, 1))
    path = tiny.folder / "pack.json"
    path.write_text(path.read_text().replace('"version": 1,', '"version": 1'))
    with pytest.raises(DataError, match=r"pack\.json:4: not JSON"):
        reopen(tiny)
    path.unlink()
    with pytest.raises(DataError, match=r"no such file; loose rows are named by their path"):
        reopen(tiny)


def test_a_row_must_name_what_is_there(tiny: Environment) -> None:
    task = tiny_task(tiny)
    with pytest.raises(DataError, match=r":2: suite: no suite .*did you mean 'unit'"):
        write(tiny, [task, replace(task, instance_id="b", suite="unti")])
    with pytest.raises(DataError, match=":1: environment: no environment"):
        write(tiny, [replace(task, environment="tinny")])
    with pytest.raises(DataError, match="there is no task in it"):
        write(tiny, [])
    assert not (tiny.folder / "pack.json").exists()
    assert not list(tiny.folder.glob(".*"))


def test_a_pack_of_another_name_is_not_overwritten(tiny: Environment) -> None:
    write(tiny, several(tiny, 1))
    with pytest.raises(UsageError, match="holds the pack 'tiny'"):
        write_pack(tiny.folder, several(tiny, 1), name="other", environments=[tiny])


def test_licences_of_several_environments(tmp_path: Path, tiny: Environment) -> None:
    other = replace(tiny, name="other", license="MIT OR Apache-2.0")
    tasks = several(tiny, 1)
    info = write_pack(tmp_path / "pack", tasks, name="both", environments=[tiny, other])
    assert info.license == "Apache-2.0 AND (MIT OR Apache-2.0)"
    assert (
        write_pack(tmp_path / "own", tasks, name="own", environments=[tiny], spdx="CC0-1.0").license
        == "CC0-1.0"
    )


def test_quarantined_tasks_are_skipped_and_counted(tiny: Environment) -> None:
    write(tiny, several(tiny, 3))
    whole = reopen(tiny)
    write_quarantine(tiny.folder / "tasks.jsonl", {"t1": "gold fails", "other": "gone since"})
    pack = reopen(tiny)
    assert pack.quarantined == {"t1": "gold fails"}
    assert [task.instance_id for task in pack] == ["t0", "t2"]
    assert len(list(pack.all_tasks())) == 3
    assert pack.digest != whole.digest, "the same seed draws other tasks"
    rng = np.random.default_rng(0)
    assert {pack.sample(rng).instance_id for _ in range(40)} == {"t0", "t2"}
    with pytest.raises(NotFoundError, match="it is quarantined: gold fails"):
        pack.get("t1")
    write_quarantine(tiny.folder / "tasks.jsonl", {f"t{number}": "no" for number in range(3)})
    with pytest.raises(UsageError, match="all 3 are quarantined; `codegym check`"):
        reopen(tiny).sample(rng)
    write_quarantine(tiny.folder / "tasks.jsonl", {})
    assert not (tiny.folder / "quarantine.jsonl").exists()
    assert reopen(tiny).digest == whole.digest


def test_a_broken_quarantine_is_said(tiny: Environment) -> None:
    path = tiny.folder / "quarantine.jsonl"
    path.write_text('{"task_id": "a", "reason": "b"}\n{"task": "a", "reason": "b"}\n')
    with pytest.raises(DataError, match=r"quarantine\.jsonl:2: task: unknown key; .*'task_id'"):
        read_quarantine(tiny.folder / "tasks.jsonl")


def test_a_file_changed_after_opening_is_refused(tiny: Environment) -> None:
    path = tiny.folder / "loose.jsonl"
    tasks = several(tiny, 3)
    write_rows(path, tasks)
    opened = TaskFile.open(path, lambda _: tiny)
    assert list(opened) == tasks
    write_rows(path, several(tiny, 3, "u"))
    with pytest.raises(DataError, match=r"loose\.jsonl:2: changed since it was opened"):
        opened.get("t1")
    path.unlink()
    with pytest.raises(DataError, match="changed since it was opened"):
        opened.get("t1")


def test_a_source_can_be_sent_to_another_process(tiny: Environment) -> None:
    write(tiny, several(tiny, 3))
    pack = reopen(tiny)
    sent = pickle.loads(pickle.dumps(pack))
    assert list(sent) == list(pack)
    assert sent.digest == pack.digest


def test_a_reader_goes_on_while_the_rows_move(tiny: Environment) -> None:
    write(tiny, several(tiny, 2))
    path, following = tiny.folder / "tasks.jsonl", tiny.folder / ".tasks.jsonl.next"
    following.write_bytes(path.read_bytes())
    path.write_text("the version before")
    pack = reopen(tiny)  # as between the two renames of a writer
    assert pack.get("t1").instance_id == "t1"
    following.replace(path)
    assert pack.get("t1").instance_id == "t1"


def killed_at(pipe: Connection, environment: Environment, step: int) -> None:
    """Write the second version; die at the given rename, of those that change what is there."""
    done = 0
    rename = Path.replace

    def counted(self: Path, target: str | os.PathLike[str]) -> Path:
        nonlocal done
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1
        return rename(self, target)

    Path.replace = counted  # type: ignore[assignment,method-assign]
    write(environment, several(environment, 5, "new"))
    pipe.send(done)


@pytest.mark.parametrize("first", [True, False])
def test_a_writer_killed_at_any_step_leaves_a_whole_version(tiny: Environment, first: bool) -> None:
    tasks = several(tiny, 5, "new")
    for step in range(10):
        for name in ("tasks.jsonl", "pack.json"):
            (tiny.folder / name).unlink(missing_ok=True)
        if not first:
            write(tiny, several(tiny, 2, "old"))
        ours, theirs = FORK.Pipe()
        process = FORK.Process(target=killed_at, args=(theirs, tiny, step))
        process.start()
        process.join()
        if process.exitcode == 0:
            assert ours.recv() == step == 3, "all steps were tried"
            return
        if first and not (tiny.folder / "pack.json").exists():
            with pytest.raises(DataError, match="no such file"):
                reopen(tiny)
        else:
            found = [task.instance_id for task in reopen(tiny)]
            assert found in (["old0", "old1"], [task.instance_id for task in tasks])
        write(tiny, tasks)
        assert list(reopen(tiny)) == tasks
        assert not list(tiny.folder.glob(".*")), "nothing of the killed writer is left"
    pytest.fail("the writer never came to its end")


def test_an_interrupt_after_the_decision_loses_nothing(
    tiny: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tiny, several(tiny, 2, "old"))
    renamed: list[Path] = []
    rename = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        result = rename(self, target)
        renamed.append(target)
        if target.name == "pack.json":
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tiny, several(tiny, 3, "new"))
    assert [path.name for path in renamed][-1] == "tasks.jsonl"
    monkeypatch.undo()
    assert [task.instance_id for task in reopen(tiny)] == ["new0", "new1", "new2"]


def write_versions(pipe: Connection, environment: Environment, prefix: str) -> None:
    pipe.recv()
    for count in range(1, 9):
        write(environment, several_like(environment, count, prefix))
    pipe.send("done")


def several_like(environment: Environment, count: int, prefix: str) -> list[Task]:
    one = Task(
        instance_id="",
        environment="tiny",
        base_commit=environment.head,
        patch="p",
        fail_to_pass=("a",),
        pass_to_pass=(),
    )
    return [replace(one, instance_id=f"{prefix}{number}") for number in range(count)]


def test_two_writers_and_a_reader_at_once(tiny: Environment) -> None:
    write(tiny, several_like(tiny, 1, "first"))
    pipes: list[Connection] = []
    processes = []
    for prefix in ("a", "b"):
        ours, theirs = FORK.Pipe()
        process = FORK.Process(target=write_versions, args=(theirs, tiny, prefix))
        process.start()
        pipes.append(ours)
        processes.append(process)
    for pipe in pipes:
        pipe.send("go")
    seen = 0
    while not all(pipe.poll() for pipe in pipes):
        ids = reopen(tiny).ids
        prefix = ids[0].rstrip("0")
        assert ids == tuple(f"{prefix}{number}" for number in range(len(ids)))
        seen += 1
    for process in processes:
        process.join()
    assert [pipe.recv() for pipe in pipes] == ["done", "done"]
    assert reopen(tiny).info.version == 17, "16 changes, none of them lost"
    assert seen > 0
