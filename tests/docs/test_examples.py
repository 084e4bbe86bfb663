"""The documented examples run, and do what the pages say."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "docs/examples"


def _run(name: str, cwd: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_every_example_is_run_here():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "first_episode.py",
        "own_policy.py",
        "vectors.py",
    }


def test_first_episode(tmp_path):
    lines = _run("first_episode.py", tmp_path)
    assert lines[0].startswith("kvlog-")
    assert "reward 0.0 terminated True" in lines
    counts = next(line for line in lines if line.endswith(" passing")).split()
    assert int(counts[0]) >= 1
    assert int(counts[2]) >= 1


def test_own_policy(tmp_path):
    printed = _run("own_policy.py", tmp_path)
    lines = [
        line.split() for line in printed if " reward " in line
    ]  # not: what is being made ready
    assert len(lines) == 4
    assert all(words[0].startswith("kvlog-") for words in lines)
    assert {tuple(words[1:]) for words in lines} == {("reward", "0.0", "in", "3", "steps")}


def test_vectors(tmp_path):
    ids, rewards = _run("vectors.py", tmp_path)
    names = [part.strip("[]' ") for part in ids.split(",")]
    assert len(names) == 4
    assert len(set(names)) == 1
    assert rewards == "[0. 0. 0. 0.] [ True  True  True  True]"


def test_the_plugin_plays_by_reference(tmp_path, monkeypatch):
    from codegym import plugins
    from codegym.types import History, Observation

    monkeypatch.syspath_prepend(EXAMPLES / "plugin")
    policy = plugins.configure(plugins.load("policies", "codegym_frugal:Tester", {}), {"runs": "0"})
    first = Observation("Fix it.", "", 50)
    import asyncio

    action = asyncio.run(policy.act(History("t", (), first)))
    assert '"submit"' in action.text
