"""The example of plug-ins, installed from its folder and used as a user would, by its names."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support import make_tiny_environment, tiny_task

from codegym.tasks import load_environment, write_pack
from codegym.types import call

EXAMPLE = Path(__file__).parents[2] / "docs/examples/plugin"
GOOD = """\
    middle = len(ordered) // 2
    if len(ordered) % 2 == 0:
        return (ordered[middle - 1] + ordered[middle]) / 2
    return ordered[middle]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The distribution, built and installed into a folder of its own."""
    work = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, work / "source", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    flags = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(work / "target")]
    subprocess.run([*pip, *flags, str(work / "source")], check=True)
    return work / "target"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A place where ``tiny``'s suite is run by the example's runner."""
    folder = tmp_path_factory.mktemp("home")
    tiny = make_tiny_environment(folder / ".codegym" / "environments" / "tiny")
    toml = tiny.folder / "environment.toml"
    toml.write_text(toml.read_text().replace('runner = "pytest"', 'runner = "plain"'))
    tiny = load_environment(tiny.folder)
    # It runs plain functions only: no fixtures.
    kept = (
        "tests/test_arith.py::test_total_of_nothing",
        "tests/test_arith.py::test_mean_of_nothing",
    )
    write_pack(
        tiny.folder, [replace(tiny_task(tiny), pass_to_pass=kept)], name="tiny", environments=[tiny]
    )
    return folder


@pytest.fixture
def codegym(installed, home):
    def run(*arguments, status=0):
        command = [sys.executable, "-m", "codegym", *arguments]
        env = {**os.environ, "PYTHONPATH": str(installed)}
        done = subprocess.run(
            command, cwd=home, env=env, capture_output=True, text=True, timeout=110, check=False
        )
        assert done.returncode == status, done.stderr
        return done

    return run


def test_tool_reward_and_runner_play_together(codegym, home, tmp_path):
    path = "src/tinycalc/order.py"
    actions = [
        call("run_tests"),
        call("outline", path=path),
        call("outline", path="no/such.py"),
        call("edit", path=path, old="    return ordered[len(ordered) // 2]\n", new=GOOD),
        call("run_tests"),
    ]
    (home / "script.jsonl").write_text("\n".join(actions))
    arguments = ["run", "CodeGym/FixTests-v0", "--tasks", "tiny", "--out", str(tmp_path / "run")]
    chosen = ["--tools", "edit,run_tests,outline,submit", "--reward", "frugal", "--json"]
    summary = json.loads(codegym(*arguments, *chosen, "--policy", "scripted:script.jsonl").stdout)
    assert (summary["solve_rate"], summary["faults"]) == (1.0, 0)
    assert summary["reward"] == pytest.approx(1 - 0.01 * 6)
    lines = (tmp_path / "run/trajectories/000000.jsonl").read_text().splitlines()
    seen = [json.loads(line)["observation"] for line in lines[1:]]
    assert (seen[0]["failing"], seen[0]["passing"]) == (1, 2)
    assert "AssertionError" in seen[0]["output"]
    assert seen[1]["output"] == "def largest(numbers):\ndef median(numbers):"
    assert seen[2]["output"].startswith("outline failed: no/such.py: no such file")
    assert (seen[4]["failing"], seen[4]["passing"]) == (0, 3)
    policy = ["--policy", "tester", "--policy-option", "runs=2"]
    arguments[-1] = str(tmp_path / "other")
    summary = json.loads(codegym(*arguments, *chosen, *policy).stdout)
    assert (summary["solve_rate"], summary["steps"]) == (0.0, 3)


def test_the_operator_makes_its_edits_and_no_other(installed, monkeypatch):
    np = pytest.importorskip("numpy")
    from codegym.mutation import load_operators
    from codegym.syntax import apply_edits, parse, walk

    monkeypatch.syspath_prepend(installed)
    (operator,) = load_operators(["min_max"], "python", ["FixTests"])
    source = b"# min(1)\nx = max(a, min(b, c))\ny = self.max(a)\nz = max\nmaxi(1)\n"
    rng = np.random.default_rng(0)
    edits = [
        edit for node in walk(parse(source, "python").root) for edit in operator(node, source, rng)
    ]
    made = [apply_edits(source, [edit]) for edit in edits]
    assert made == [
        source.replace(b"x = max(a", b"x = min(a"),
        source.replace(b"min(b", b"max(b"),
    ]
    assert (operator.id, operator.version) == ("frugal.min_max", "1")


def test_a_name_that_is_not_there_is_told_with_those_that_are(codegym, tmp_path):
    out = ["--out", str(tmp_path / "run"), "--tasks", "tiny", "--policy", "noop"]
    told = codegym("run", "CodeGym/FixTests-v0", *out, "--tools", "outlien", status=2).stderr
    assert "did you mean 'outline'?" in told
    told = codegym("generate", "tiny", "--operators", "min_maxx", status=2).stderr
    assert "did you mean 'min_max'?" in told


def test_every_part_is_registered_under_its_group(installed):
    from importlib.metadata import distributions

    (made,) = [one for one in distributions(path=[str(installed)]) if one.name == "codegym-frugal"]
    groups = {point.group: point.name for point in made.entry_points}
    assert groups == {
        "codegym.operators": "min_max",
        "codegym.tools": "outline",
        "codegym.rewards": "frugal",
        "codegym.runners": "plain",
        "codegym.policies": "tester",
        "codegym.task_samplers": "gives_up",
    }


def test_the_sampler_draws_for_a_curriculum_and_is_simulated(codegym, home):
    spec = 'name = "own"\nsummary = "For a test"\n[pool]\ntasks = ["tiny"]\n[sampler]\n'
    (home / "own.toml").write_text(f'{spec}name = "gives_up"\noptions = {{ after = 2 }}\n')
    drawn = json.loads(codegym("curriculum", "sample", "own.toml", "-n", "3", "--json").stdout)
    assert [each["task_id"] for each in drawn["tasks"]] == ["tiny-median"] * 3
    seen = json.loads(codegym("curriculum", "stats", "own.toml", "--json").stdout)
    assert seen["stats"]["sampler"] == {"given_up": 0.0}
    told = codegym("curriculum", "simulate", "own.toml", "--seeds", "2", "--pools", "easy")
    assert "gives_up" in told.stdout
    (home / "own.toml").write_text(f'{spec}name = "gives_up"\noptions = {{ aftr = 2 }}\n')
    assert "did you mean 'after'" in codegym("curriculum", "sample", "own.toml", status=2).stderr
