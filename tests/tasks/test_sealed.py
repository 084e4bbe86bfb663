"""Sealed packs: the tasks of the pack, for who has the key, and nothing for anybody else."""

import json
import shutil

import pytest
from support import make_tiny_home
from typer.testing import CliRunner

from codegym.cli.app import app
from codegym.envs.options import EpisodeOptions
from codegym.errors import DataError, UsageError
from codegym.loop import RunConfig, run
from codegym.runs import open_run
from codegym.store.seal import KEY, new_key
from codegym.tasks import resolve
from codegym.tasks.sealed import CANARY, read_sealed, seal_pack


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_tiny_home(tmp_path_factory.mktemp("home"), tasks=2)


@pytest.fixture(autouse=True)
def at_home(home, monkeypatch):
    monkeypatch.chdir(home)
    monkeypatch.setenv(KEY, new_key())


@pytest.fixture
def sealed(tmp_path):
    path = tmp_path / "held-out.sealed"
    seal_pack(resolve("tiny"), path)
    return path


def secrets_of_tasks():
    """Texts that would tell of a task: of its patch, statement and tests."""
    task = resolve("tiny").get("tiny-0")
    added = [line[1:].strip() for line in task.patch.splitlines() if line.startswith("+    ")]
    assert len(added) > 2
    return [*added, task.problem_statement, *task.fail_to_pass, "tiny-0", "median"]


def test_it_holds_the_packs_tasks(sealed):
    pack, source = resolve("tiny"), resolve(f"sealed:{sealed}")
    assert source.ids == pack.ids
    for task in source:
        assert task.patch == pack.get(task.instance_id).patch
        assert source.get(task.instance_id) == task
        assert task.provenance[CANARY] == read_sealed(sealed).canary
    assert len(source.only(lambda task: task.instance_id == "tiny-1")) == 1


def test_nothing_of_a_task_is_in_the_file(sealed):
    content = sealed.read_bytes()
    for text in secrets_of_tasks():
        assert text.encode() not in content
    assert read_sealed(sealed).tasks == 2


def test_without_its_key_it_stays_closed(sealed, monkeypatch):
    monkeypatch.setenv(KEY, new_key())
    with pytest.raises(DataError, match="sealed under the key"):
        resolve(f"sealed:{sealed}")
    monkeypatch.delenv(KEY)
    with pytest.raises(UsageError, match=KEY):
        resolve(f"sealed:{sealed}")
    assert read_sealed(sealed).name == "tiny"


@pytest.mark.parametrize("change", ["header", "body", "cut", "rows"])
def test_a_changed_file_is_refused(sealed, change):
    header, body = sealed.read_bytes().split(b"\n", 1)
    if change == "header":  # a canary of somebody else's
        fields = json.loads(header) | {"canary": "CODEGYM-CANARY-0"}
        header = json.dumps(fields).encode()
    changed = {"body": body[:-1] + bytes([body[-1] ^ 1]), "cut": body[:40]}.get(change, body)
    sealed.write_bytes(header + b"\n" + changed)
    if change == "rows":
        sealed.write_text('{"instance_id": "x"}\n')
    with pytest.raises(DataError, match=r"cannot be opened|no sealed pack"):
        resolve(f"sealed:{sealed}")


async def test_a_run_on_it_is_sealed_too(sealed, tmp_path, monkeypatch):
    out = tmp_path / "run"
    options = EpisodeOptions(kind="FixTests")
    config = RunConfig(
        "CodeGym/FixTests-v0", out, "oracle", f"sealed:{sealed}", workers=2, options=options
    )
    assert (await run(config)).solve_rate == 1.0
    written = [path for path in out.rglob("*") if path.is_file()]
    assert {path.parent.name for path in written} >= {"run", "trajectories"}
    for path in written:
        content = path.read_bytes()
        for text in secrets_of_tasks():
            assert text.encode() not in content, (path, text)

    assert (await run(config)).episodes == 2  # resumed: nothing is left to play
    assert "order.py" in open_run(out).episode(0).diff
    shown = CliRunner().invoke(app, ["report", str(out), "--json"])
    assert json.loads(shown.stdout)["oracle"]["solve_rate"] == 1.0

    monkeypatch.delenv(KEY)
    with pytest.raises(UsageError, match=KEY):
        open_run(out).episodes()


def test_the_commands_make_and_show_it(tmp_path, monkeypatch):
    invoke = CliRunner().invoke
    key = invoke(app, ["pack", "key"]).stdout.strip()
    monkeypatch.setenv(KEY, key)
    file = tmp_path / "a.sealed"
    made = invoke(app, ["pack", "seal", "tiny", "--out", str(file), "--json"])
    assert made.exit_code == 0, made.output
    shown = json.loads(invoke(app, ["pack", "info", str(file), "--json"]).stdout)
    assert json.loads(made.stdout) == shown | {"file": str(file)}
    assert (shown["name"], shown["tasks"]) == ("tiny", 2)
    listed = invoke(app, ["tasks", "list", "--tasks", f"sealed:{file}", "--json"])
    assert json.loads(listed.stdout)["tasks"] == ["tiny-0", "tiny-1"]
    again = invoke(app, ["pack", "seal", "tiny", "--out", str(file)])
    assert (again.exit_code, "there already" in again.output) == (2, True)
    other = tmp_path / "b.sealed"
    for no_pack in ("tiny-0", f"sealed:{file}"):
        refused = invoke(app, ["pack", "seal", no_pack, "--out", str(other)])
        assert (refused.exit_code, "is no pack" in refused.output) == (2, True)
    assert not other.exists()


def test_a_pack_of_an_environment_that_changed_is_refused(sealed, home, tmp_path, monkeypatch):
    shutil.copytree(home / ".codegym", tmp_path / "moved" / ".codegym")
    monkeypatch.chdir(tmp_path / "moved")
    toml = tmp_path / "moved" / ".codegym" / "environments" / "tiny" / "environment.toml"
    toml.write_text(toml.read_text().replace("memory_mb = 512", "memory_mb = 500"))
    with pytest.raises(DataError, match="has changed since"):
        resolve(f"sealed:{sealed}")
