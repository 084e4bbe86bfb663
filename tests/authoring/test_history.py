"""Tasks from history: real commits, each of a kind of its own, run in real sandboxes."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from codegym import authoring
from codegym.authoring.commits import statement
from codegym.errors import UsageError
from codegym.tasks import read_info, read_rows, resolve, write_pack
from codegym.tasks.sides import Sides
from codegym.types import Task

ARITH = """\
def total(numbers):
    return sum(numbers)


def mean(numbers):
    return sum(numbers) / len(numbers) if numbers else 0


def double(number):
    return 2 * number
"""
COMMITS = (
    (
        "Double things\n\nThey were not doubled.\n\nSigned-off-by: A <a@example.org>",
        {
            "src/tinycalc/arith.py": ARITH,
            "tests/test_new.py": "from tinycalc.arith import double\n\n\n"
            "def test_double():\n    assert double(2) == 4\n",
        },
    ),
    (
        "Comments only",
        {
            "src/tinycalc/__init__.py": "# x\n",
            "tests/test_two.py": "def test_two():\n    assert 1\n",
        },
    ),
    (
        "It does not work",
        {
            "src/tinycalc/__init__.py": "# y\n",
            "tests/test_three.py": "def test_three():\n    assert 0\n",
        },
    ),
    ("Only tests", {"tests/test_three.py": None}),
    (
        "Only words",
        {"README.md": "# tiny\n"},
    ),
    (
        "It takes for ever\n",
        {
            "src/tinycalc/__init__.py": "SLOW = 0\n",
            "tests/test_slow.py": "import time\nimport tinycalc\n\n\ndef test_slow():\n"
            "    if not hasattr(tinycalc, 'SLOW'):\n        time.sleep(600)\n",
        },
    ),
)


class NoBackend:
    """A backend with which nothing can be run."""

    name, owner = "none", None

    async def start(self, spec):
        raise AssertionError("a sandbox was started")

    async def close(self):
        pass


async def test_a_repair_becomes_a_task(tiny, setting):
    result = await authoring.from_history(tiny, setting)
    (task,) = result.tasks
    assert task.fail_to_pass == ("tests/test_order.py::test_median_of_even",)
    assert len(task.pass_to_pass) == 6
    assert task.instance_id == f"tiny-{tiny.head[:8]}"
    assert "mean of the middle two" in task.problem_statement
    assert task.created_at.startswith("2024-01-03T12:00:00")
    assert task.provenance["generator"] == "from-history"
    assert task.provenance["commit"] == tiny.head
    assert task.features["failing_tests"] == 1
    assert (task.features["files"], task.features["hunks"]) == (1, 1)
    assert "tests/" not in task.patch
    assert "src/" not in task.test_patch
    assert list(resolve("tiny")) == [task]
    report = await authoring.check(resolve("tiny"), setting, 1)
    assert report.holds, report.fallen


async def test_what_is_no_task_is_counted_and_explained(with_commits, setting):
    environment = with_commits(*COMMITS, timeout_sec=6.0)
    result = await authoring.from_history(environment, setting)
    assert [task.problem_statement.split("\n")[0] for task in result.tasks] == [
        "The median of an even number of numbers is the mean of the middle two"
    ]
    assert result.reasons == {
        "collection_error": 2,  # the second: a commit that adds a module with its tests
        "no_failing_test": 1,
        "gold_does_not_pass": 1,
        "timed_out": 1,
    }
    by_subject = {one.subject: one for one in result.dropped}
    assert "cannot import name 'double'" in by_subject["Double things"].detail
    assert "test_three.py::test_three" in by_subject["It does not work"].detail
    assert result.commits == 8


async def test_a_second_run_runs_nothing_and_changes_nothing(tiny, setting):
    from codegym.grading.setting import Setting

    first = await authoring.from_history(tiny, setting)
    again = Setting(NoBackend())
    second = await authoring.from_history(tiny, again)
    await again.close()
    assert second == first
    assert read_info(tiny.folder).version == 1


async def test_tasks_of_other_origins_stay(tiny, setting):
    await authoring.from_history(tiny, setting)
    (made,) = resolve("tiny")
    own = Task(
        instance_id="tiny-own",
        environment="tiny",
        base_commit=made.base_commit,
        patch=made.patch,
        fail_to_pass=made.fail_to_pass,
        pass_to_pass=(),
        provenance={"generator": "by hand"},
    )
    write_pack(tiny.folder, [own, made], name="tiny", environments=[tiny])
    result = await authoring.from_history(tiny, setting)
    assert result.pack.version == 2
    assert [task.instance_id for task in resolve("tiny")] == ["tiny-own", made.instance_id]


async def test_a_history_without_a_task_leaves_the_pack(with_commits, setting):
    environment = with_commits(("Only words", {"README.md": "# x\n"}))
    toml = environment.folder / "environment.toml"
    permitted = 'permitted = ["src/**", "*.md", "docs/**", "tests/**"]'
    assert permitted in toml.read_text()
    toml.write_text(toml.read_text().replace(permitted, 'permitted = ["docs/**"]'))
    from codegym.tasks import load_environment

    with pytest.raises(UsageError, match="of 3, 0 change both tests and what may be edited"):
        await authoring.from_history(load_environment(environment.folder), setting)
    assert not (environment.folder / "pack.json").exists()


def test_interrupted_it_leaves_the_pack_and_goes_on_later(with_commits, at_home):
    environment = with_commits(*COMMITS[:1], *COMMITS[5:], timeout_sec=20.0)
    command = [sys.executable, "-m", "codegym", "tasks", "from-history", "tiny", "--json"]
    cache = Path(os.environ["CODEGYM_CACHE"])
    before = _proofs(cache)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=at_home, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while _proofs(cache) == before and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert out == b""
    assert not (environment.folder / "pack.json").exists()
    assert _proofs(cache) > before


def _proofs(cache):
    return {layer.name for layer in (cache / "layers").glob("proof-*")}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("One\n\nTwo\n\nSigned-off-by: A <a@b>\nChange-Id: I1\n", "One\n\nTwo"),
        ("One\n", "One"),
        ("Note: this stays\n", "Note: this stays"),
    ],
)
def test_a_statement_is_the_message_without_trailers(message, expected):
    assert statement(message) == expected


@pytest.mark.parametrize(
    ("path", "side"),
    [
        ("src/tinycalc/arith.py", "source"),
        ("README.md", "source"),
        ("tests/test_arith.py", "tests"),
        ("tests/data/x.bin", "tests"),
        ("pyproject.toml", "tests"),
        ("src/conftest.py", "tests"),
        ("setup.py", "other"),
        (".github/workflows/x.yml", "other"),
    ],
)
def test_sides_of_paths(tiny, path, side):
    assert Sides(tiny).side(path) == side


@pytest.mark.parametrize(
    ("path", "side"),
    [
        ("sums.go", "source"),
        ("deep/sums.go", "source"),
        ("deep/sums_test.go", "tests"),
        ("testdata/a.go", "tests"),
        ("go.mod", "tests"),
    ],
)
def test_sides_where_gos_tests_lie_beside_what_they_test(tiny, path, side):
    suite = replace(tiny.suites[0], runner="go", select=(".",), config=("go.mod",))
    edits = replace(tiny.edits, permitted=("*.go",), protected=())
    assert Sides(replace(tiny, suites=(suite,), edits=edits)).side(path) == side


def test_rows_of_kvlog_are_from_its_history():
    from codegym.tasks.sources import environment

    kvlog = environment("kvlog")
    tasks = list(read_rows(kvlog.folder / "tasks.jsonl"))
    assert len(tasks) >= 10
    commits = {str(task.provenance["commit"]) for task in tasks}
    assert len(commits) == len(tasks)
    assert all(task.problem_statement and task.fail_to_pass for task in tasks)
    assert read_info(kvlog.folder).environments == {"kvlog": kvlog.digest}
