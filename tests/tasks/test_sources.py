"""Names resolve to one's own folders and the bundled ones; a name there twice is an error."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import make_tiny_environment, tiny_task

from codegym.errors import DataError, NotFoundError, UsageError
from codegym.resources import data_root
from codegym.tasks import (
    Environment,
    Pack,
    TaskFile,
    environments,
    load_environment,
    resolve,
    sources,
    write_pack,
    write_quarantine,
    write_rows,
)
from codegym.tasks.sources import environment
from codegym.types import Task, TaskSource


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """The tiny environment among a working directory's own."""
    monkeypatch.chdir(tmp_path)
    return make_tiny_environment(tmp_path / ".codegym" / "environments" / "tiny")


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the bundled environments."""
    folder = tmp_path / "bundled"
    folder.mkdir()
    monkeypatch.setattr(sources, "data_root", lambda kind: folder)
    return folder


def numbered(environment: Environment, count: int, prefix: str = "t") -> list[Task]:
    one = replace(tiny_task(environment), environment=environment.name)
    return [replace(one, instance_id=f"{prefix}{number}") for number in range(count)]


def bundle(folder: Path, name: str, count: int, *, drawn: bool = True) -> Environment:
    """Make an environment of another name, with tasks."""
    made = make_tiny_environment(folder / name)
    path = made.folder / "environment.toml"
    top = f'name = "{name}"\n' + ("" if drawn else "drawn = false")
    path.write_text(path.read_text().replace('name = "tiny"', top))
    loaded = load_environment(made.folder)
    write_pack(loaded.folder, numbered(loaded, count, name), name=name, environments=[loaded])
    return loaded


def test_own_and_bundled_environments(tiny: Environment) -> None:
    found = environments()
    assert found["tiny"] == tiny == environment("tiny")
    assert set(found) == {"tiny"} | {
        folder.name
        for folder in data_root("environments").iterdir()
        if (folder / "environment.toml").is_file()
    }


def resolve_of(tiny: Environment, count: int) -> TaskFile:
    write_pack(tiny.folder, numbered(tiny, count), name="tiny", environments=[tiny])
    found = resolve("tiny")
    assert isinstance(found, TaskFile)
    return found


def draw(source: TaskSource, seed: int) -> str:
    """What any user of the protocol does; mypy checks that the sources are ones."""
    return source.sample(np.random.default_rng(seed)).instance_id


def test_an_environments_own_tasks(tiny: Environment) -> None:
    source = resolve_of(tiny, 3)
    assert isinstance(source, Pack)
    assert [task.instance_id for task in source] == ["t0", "t1", "t2"]
    assert draw(source, 3) == draw(resolve("tiny"), 3)


def test_an_environment_without_tasks(tiny: Environment) -> None:
    with pytest.raises(UsageError, match=r"no tasks yet; .*codegym tasks from-history tiny"):
        resolve("tiny")


def test_a_name_that_is_not_there(tiny: Environment) -> None:
    with pytest.raises(NotFoundError, match=r"no environment named 'tinny'; did you mean 'tiny'"):
        environment("tinny")
    with pytest.raises(NotFoundError, match=r"'tinny'; did you mean 'tiny'\?; looked in .*PATH"):
        resolve("tinny")


def test_a_pack_by_name(tiny: Environment, tmp_path: Path) -> None:
    folder = tmp_path / ".codegym" / "packs" / "mine"
    write_pack(folder, numbered(tiny, 2), name="mine", environments=[tiny])
    assert resolve("mine").name == "mine"
    assert len(resolve("mine")) == 2
    folder.rename(folder.with_name("yours"))
    with pytest.raises(DataError, match="'mine' lies in a folder named 'yours'"):
        resolve("yours")


def test_one_task_by_its_id(tiny: Environment, bundled: Path, tmp_path: Path) -> None:
    whole = resolve_of(tiny, 3)
    write_quarantine(whole.path, {"t0": "flaky", "t1": "slow"})
    source = resolve("t2")
    assert isinstance(source, Pack)
    assert (source.name, len(source), source.narrowed) == ("t2", 1, True)
    assert [task.instance_id for task in source.all_tasks()] == ["t2"]
    assert draw(source, 5) == "t2"
    assert len({source.digest, whole.digest, resolve("t1").digest}) == 3
    assert resolve("t1").quarantined == {"t1": "slow"}
    with pytest.raises(UsageError, match=r"all 1 are quarantined; .*\(t1: slow\)"):
        draw(resolve("t1"), 0)
    with pytest.raises(NotFoundError, match="no task named 't1'"):
        source.get("t1")
    bundle(bundled, "other", 1)
    assert resolve("other0").get("other0").environment == "other"
    with pytest.raises(NotFoundError, match="pack or task named 'othr0'; did you mean 'other0'"):
        resolve("othr0")
    folder = tmp_path / ".codegym" / "packs" / "mine"
    write_pack(folder, numbered(tiny, 1), name="mine", environments=[tiny])
    with pytest.raises(UsageError, match=r"the task 't0' is there twice: .* and .*"):
        resolve("t0")


def test_a_pack_by_its_path(tiny: Environment, tmp_path: Path) -> None:
    folder = tmp_path / "packs" / "mine"
    folder.mkdir(parents=True)
    write_pack(folder, [tiny_task(tiny)], name="mine", environments=[tiny])
    for named in ("packs/mine", "./packs/mine/", str(folder)):
        opened = resolve(named)
        assert isinstance(opened, Pack)
        assert opened.path.parent == folder
    folder.rename(tmp_path / "packs" / "other")
    with pytest.raises(DataError, match="'mine' lies in a folder named 'other'"):
        resolve("packs/other")


def test_rows_by_path(tiny: Environment, tmp_path: Path) -> None:
    path = tmp_path / "loose.jsonl"
    write_rows(path, numbered(tiny, 2))
    source = resolve("loose.jsonl")
    assert list(source) == numbered(tiny, 2)
    assert draw(source, 1) == draw(resolve(str(path)), 1)
    write_quarantine(path, {"t0": "flaky"})
    assert len(resolve("loose.jsonl")) == 1
    before = source.digest
    (tiny.folder / "requirements.lock").write_text("pytest\n")
    write_quarantine(path, {})
    assert resolve("loose.jsonl").digest != before, "the environment is part of what is drawn"
    with pytest.raises(UsageError, match="no such file"):
        resolve("nowhere.jsonl")


def test_each_file_of_rows_in_a_folder_has_a_quarantine_of_its_own(
    tiny: Environment, tmp_path: Path
) -> None:
    one, other, pack = (tmp_path / f"{name}.jsonl" for name in ("one", "other", "tasks"))
    for path in (one, other, pack):
        write_rows(path, numbered(tiny, 2))
    write_quarantine(one, {"t0": "flaky"})
    write_quarantine(pack, {"t1": "slow"})
    assert dict(resolve("one.jsonl").quarantined) == {"t0": "flaky"}
    assert dict(resolve("other.jsonl").quarantined) == {}
    assert dict(resolve("tasks.jsonl").quarantined) == {"t1": "slow"}
    assert (tmp_path / "one.quarantine.jsonl").is_file()
    assert (tmp_path / "quarantine.jsonl").is_file()


def test_rows_of_an_environment_that_is_not_there(tiny: Environment, tmp_path: Path) -> None:
    task = replace(tiny_task(tiny), environment="tinny")
    write_rows(tmp_path / "loose.jsonl", [task])
    with pytest.raises(DataError, match=r":1: environment: no environment .*did you mean 'tiny'"):
        resolve("loose.jsonl")


@pytest.mark.parametrize(
    ("tasks", "problem"),
    [
        ("sealed:x", "no such file: .*x"),
        ("curriculum:x", "a curriculum draws from other sources"),
        ("a/b", "no task source; use an environment or a pack by NAME, a task by its ID, a pack"),
        ("", "no task source"),
        ("../tiny", "no task source"),
        ("kvlog,tiny", "no task source"),
    ],
)
def test_forms_that_cannot_be_used(tiny: Environment, tasks: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        resolve(tasks)


def test_a_name_that_is_there_twice(tiny: Environment, bundled: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny.folder, bundled / "tiny")
    other = make_tiny_environment(bundled / "other")
    path = other.folder / "environment.toml"
    path.write_text(path.read_text().replace('name = "tiny"', 'name = "other"'))
    for ask in (lambda: environment("tiny"), lambda: resolve("tiny"), environments):
        with pytest.raises(UsageError, match=r"'tiny' is there twice: .* and .*; rename"):
            ask()
    assert environment("other").name == "other", "others can be used"


def test_an_environment_and_a_pack_of_one_name(tiny: Environment, tmp_path: Path) -> None:
    folder = tmp_path / ".codegym" / "packs" / "tiny"
    write_pack(folder, numbered(tiny, 2), name="tiny", environments=[tiny])
    with pytest.raises(UsageError, match="'tiny' is there twice"):
        resolve("tiny")


def test_a_folder_of_another_name(tiny: Environment) -> None:
    tiny.folder.rename(tiny.folder.with_name("large"))
    with pytest.raises(DataError, match="name: 'tiny' lies in a folder named 'large'"):
        environment("large")


def test_folders_that_are_no_environments_are_passed_over(tiny: Environment, bundled: Path) -> None:
    (bundled / "half-made").mkdir()
    (bundled / "README.md").write_text("")
    assert set(environments()) == {"tiny"}


def test_without_a_name_all_bundled_tasks(tiny: Environment, bundled: Path) -> None:
    resolve_of(tiny, 5)
    with pytest.raises(UsageError, match="no bundled environment has tasks"):
        resolve(None)
    bundle(bundled, "b", 2)
    assert [task.instance_id for task in resolve(None)] == ["b0", "b1"]
    alone = resolve(None).digest
    bundle(bundled, "a", 3)
    source = resolve(None)
    assert [task.instance_id for task in source] == ["a0", "a1", "a2", "b0", "b1"]
    assert len(source) == 5
    assert source.digest != alone
    rng = np.random.default_rng(0)
    assert {source.sample(rng).instance_id for _ in range(80)} == {"a0", "a1", "a2", "b0", "b1"}
    assert source.get("b1").environment == "b"
    with pytest.raises(NotFoundError, match="looked in the bundled tasks"):
        source.get("t0")


def test_an_environment_that_is_not_drawn_is_played_by_name(bundled: Path) -> None:
    bundle(bundled, "a", 2)
    bundle(bundled, "shown", 3, drawn=False)
    assert {task.environment for task in resolve(None)} == {"a"}
    assert len(resolve("shown")) == 3


def test_quarantine_among_all_bundled_tasks(tiny: Environment, bundled: Path) -> None:
    for name in ("a", "b"):
        made = bundle(bundled, name, 1)
        write_quarantine(made.folder / "tasks.jsonl", {f"{name}0": "flaky"})
    source = resolve(None)
    assert source.quarantined == {"a0": "flaky", "b0": "flaky"}
    assert (len(source), len(list(source.all_tasks()))) == (0, 2)
    with pytest.raises(NotFoundError, match="quarantined: flaky"):
        source.get("b0")
    with pytest.raises(UsageError, match=r"all 2 are quarantined; .*says why \(a0: flaky\)"):
        draw(source, 0)


def test_an_id_in_two_bundled_packs(tiny: Environment, bundled: Path) -> None:
    for name in ("a", "b"):
        made = bundle(bundled, name, 1)
        write_pack(made.folder, numbered(made, 1, "same"), name=name, environments=[made])
    with pytest.raises(DataError, match=r"instance_id: 'same0' is in .*tasks\.jsonl too"):
        resolve(None)


def test_what_is_bundled_is_sound() -> None:
    for name, found in environments().items():
        assert found.folder.name == name
        assert len(found.digest) == 64
