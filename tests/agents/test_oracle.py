"""The oracle's law: its steps, played with ordinary tools, make one tree into the other."""

import json
import os
import subprocess
import tempfile
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import make_tiny_environment, tiny_task

from codegym.agents.oracle import Oracle, solution, steps
from codegym.envs.actions import Call, parse
from codegym.envs.tools import load_tools
from codegym.errors import UsageError
from codegym.types import File, History, Observation, call

SCHEMAS = load_tools("default").schemas
NAMES = st.sampled_from(["a", "b c", "d", "d/e", "d/f'g", "h/$i", "-n", "j\\k", "é/ß"])
TEXTS = st.binary(max_size=40) | st.sampled_from([b"", b"x\n" * 60_000, bytes(range(256)) * 400])
FILES = st.builds(File, TEXTS, st.sampled_from(["100644", "100755"])) | st.builds(
    File, st.sampled_from([b"a", b"../x", b"$HOME 'q'"]), st.just("120000")
)


def is_tree(files) -> bool:
    """No file lies below another."""
    return not any(str(p) in files for name in files for p in PurePosixPath(name).parents)


TREES = st.dictionaries(NAMES, FILES, max_size=6).filter(is_tree)


def lay(folder: Path, tree) -> None:
    for name, file in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if file.mode == "120000":
            path.symlink_to(os.fsdecode(file.data))
        else:
            path.write_bytes(file.data)
            path.chmod(0o755 if file.mode == "100755" else 0o644)


def read(folder: Path) -> dict[str, File]:
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = File(os.fsencode(path.readlink()), "120000")
        elif path.is_file():
            executable = path.stat().st_mode & 0o100
            found[name] = File(path.read_bytes(), "100755" if executable else "100644")
    return found


def play(folder: Path, actions) -> None:
    """As the tools do: bash in the folder, write keeps a file's execute bit."""
    for text in actions:
        action = parse(text, SCHEMAS)
        assert isinstance(action, Call), action
        if action.name == "bash":
            subprocess.run(
                ["bash", "-c", action.arguments["command"]], cwd=folder, check=True, timeout=20
            )
        else:
            assert action.name == "write"
            path = folder / action.arguments["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(action.arguments["content"].encode())


@settings(max_examples=60, deadline=None)
@given(TREES, TREES)
def test_steps_make_one_tree_into_the_other(old, new):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay(folder, old)
        play(folder, steps(old, new))
        assert read(folder) == new


def test_nothing_to_do_takes_no_step():
    tree = {"a": File(b"x")}
    assert list(steps(tree, dict(tree))) == []


async def test_it_needs_to_be_shown_the_tasks(tmp_path, monkeypatch):
    first = Observation("", "", 5)
    history = History("tiny-median", (), first)
    with pytest.raises(UsageError, match="must be shown the tasks"):
        await Oracle().act(history)

    home = make_tiny_environment(tmp_path / ".codegym/environments/tiny")
    task = tiny_task(home)
    monkeypatch.chdir(tmp_path)

    class One:
        def get(self, task_id):
            assert task_id == task.instance_id
            return task

    oracle = Oracle()
    oracle.reveal(One())
    actions = list(solution(task))
    assert [json.loads(text)["name"] for text in actions] == ["write", "submit"]
    assert (await oracle.act(history)).text == actions[0]
    assert actions[-1] == call("submit")
