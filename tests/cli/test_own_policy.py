"""A policy of one's own, in the current folder: found, played, and told of where it is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ID = "CodeGym/FixTests-v0"
#: What an installed command's file holds.
SCRIPT = "from codegym.cli import main\nmain()\n"
AGENTS = """\
from codegym.types import Action, call

class Careful:
    version = "careful-1"
    async def act(self, history):
        return Action(call("submit"))

class Broken(Careful):
    async def act(self, history):
        return {}["absent"]

class Plain(Careful):
    def act(self, history):
        return Action(call("submit"))

class Text(Careful):
    async def act(self, history):
        return call("submit")
"""


@pytest.fixture(scope="module")
def play(home, tmp_path_factory):
    """Run a policy of ``my_agent`` from a folder that knows it, by a script that lies elsewhere."""
    script = tmp_path_factory.mktemp("bin") / "codegym-script"
    script.write_text(SCRIPT)
    (home / "my_agent.py").write_text(AGENTS)
    (home / "json.py").write_text("raise SystemExit('shadows the standard library')\n")

    def run(name: str, out: Path, **env: str) -> subprocess.CompletedProcess[str]:
        words = ("run", ID, "--tasks", "tiny", "--policy", f"my_agent:{name}", "--out", str(out))
        return subprocess.run(
            [sys.executable, str(script), *words],
            cwd=home,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

    yield run
    (home / "my_agent.py").unlink()
    (home / "json.py").unlink()


def test_a_module_of_the_current_folder_is_found_and_shadows_nothing(play, tmp_path):
    done = play("Careful", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "solved 0 of 2" in done.stdout


def test_a_path_that_was_declared_unsafe_is_left_out(play, tmp_path):
    done = play("Careful", tmp_path / "run", PYTHONSAFEPATH="1")
    assert done.returncode == 2
    assert "cannot import 'my_agent'" in done.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Broken", "policy my_agent:Broken raised KeyError: 'absent' ("),
        ("Plain", "policy my_agent:Plain: act is not asynchronous"),
    ],
)
def test_what_is_wrong_with_it_is_one_line(play, tmp_path, name, said):
    done = play(name, tmp_path / "run")
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_the_traceback_can_be_had(play, tmp_path):
    done = play("Broken", tmp_path / "run", CODEGYM_TRACEBACK="1")
    assert done.returncode == 2
    assert 'return {}["absent"]' in done.stderr


def test_a_text_is_an_action(play, tmp_path):
    done = play("Text", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "1.0 steps" in done.stdout
