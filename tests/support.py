"""What many tests need: a complete environment, small enough to make anew in each."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from codegym.tasks import Environment, load_environment, write_pack
from codegym.types import Task

_BUNDLED = Path(__file__).parent.parent / "environments" / "kvlog"

_TOML = """\
name = "tiny"
summary = "Arithmetic on short lists"
language = "python"
license = "Apache-2.0"
history = "history.fast-export"
head = "{head}"
subdir = "."
services = []

[image]
python = ">=3.11"
requirements = "requirements.lock"
dockerfile = "Dockerfile"
system_packages = []
env = {{ }}
install = []
build = []
import_paths = ["src"]
build_secrets = []

[[suites]]
name = "unit"
runner = "pytest"
select = ["tests"]
deselect = []
import_paths = ["src"]
config = ["pyproject.toml", "tests/conftest.py"]
timeout_sec = 60.0

[edits]
permitted = ["src/**", "*.md", "docs/**", "tests/**"]
protected = ["tests/**", "pyproject.toml", "**/conftest.py"]

[limits]
memory_mb = 512
disk_mb = 64
processes = 64
files = 5000
command_timeout_sec = 30.0
"""

_PYPROJECT = """\
[project]
name = "tinycalc"
version = "0.1.0"

[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = "-q"
"""

_CONFTEST = """\
import pytest


@pytest.fixture
def numbers():
    return [3, 1, 2]
"""

_ARITH = '''\
"""Sums."""


def total(numbers):
    """Return the sum."""
    result = 0
    for number in numbers:
        result += number
    return result


def mean(numbers):
    """Return the arithmetic mean; 0 of nothing."""
    if not numbers:
        return 0
    return total(numbers) / len(numbers)
'''

_TEST_ARITH = """\
from tinycalc.arith import mean, total


def test_total(numbers):
    assert total(numbers) == 6


def test_total_of_nothing():
    assert total([]) == 0


def test_mean(numbers):
    assert mean(numbers) == 2


def test_mean_of_nothing():
    assert mean([]) == 0
"""

_ORDER_BROKEN = '''\
"""Order statistics."""


def largest(numbers):
    """Return the largest number."""
    return sorted(numbers)[-1]


def median(numbers):
    """Return the middle number; the mean of the middle two where there are two."""
    ordered = sorted(numbers)
    return ordered[len(ordered) // 2]
'''

_ORDER_FIXED = _ORDER_BROKEN.replace(
    "    return ordered[len(ordered) // 2]\n",
    "    middle = len(ordered) // 2\n"
    "    if len(ordered) % 2 == 0:\n"
    "        return (ordered[middle - 1] + ordered[middle]) / 2\n"
    "    return ordered[middle]\n",
)

_TEST_ORDER = """\
from tinycalc.order import largest, median


def test_largest(numbers):
    assert largest(numbers) == 3


def test_median_of_odd(numbers):
    assert median(numbers) == 2
"""

_TEST_ORDER_FIXED = (
    _TEST_ORDER
    + """

def test_median_of_even():
    assert median([4, 1, 2, 3]) == 2.5
"""
)

#: Each commit's message and the files that it writes.
_COMMITS: tuple[tuple[str, dict[str, str]], ...] = (
    (
        "Sums and means",
        {
            "README.md": "# tinycalc\n\nArithmetic on short lists.\n",
            "pyproject.toml": _PYPROJECT,
            "src/tinycalc/__init__.py": "",
            "src/tinycalc/arith.py": _ARITH,
            "tests/conftest.py": _CONFTEST,
            "tests/test_arith.py": _TEST_ARITH,
        },
    ),
    (
        "Largest and median",
        {"src/tinycalc/order.py": _ORDER_BROKEN, "tests/test_order.py": _TEST_ORDER},
    ),
    (
        "The median of an even number of numbers is the mean of the middle two",
        {"src/tinycalc/order.py": _ORDER_FIXED, "tests/test_order.py": _TEST_ORDER_FIXED},
    ),
)


def git(
    folder: Path, *arguments: str, date: str = "2024-01-01T00:00:00+0000", stdin: str = ""
) -> str:
    """Run git, apart from the machine's configuration, with fixed names and dates."""
    who = {"NAME": "Tiny", "EMAIL": "tiny@example.org", "DATE": date}
    env = {
        f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()
    }
    env |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(
        command, env=env, input=stdin, check=True, capture_output=True, text=True
    ).stdout


def make_repository(folder: Path, files: Mapping[str, str], message: str) -> Path:
    """Make a repository of one commit in ``folder``, which is not there yet."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return folder


def make_tiny_repository(folder: Path) -> list[str]:
    """Make ``tinycalc``'s repository in ``folder``; returns its commits' hashes, oldest first."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    hashes = []
    for day, (message, files) in enumerate(_COMMITS, start=1):
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", message, date=f"2024-01-{day:02}T12:00:00+0000")
        hashes.append(git(folder, "rev-parse", "HEAD").strip())
    return hashes


@dataclass(frozen=True)
class _History:
    export: str
    base: str
    head: str
    patch: str
    test_patch: str


@lru_cache
def _history() -> _History:
    """Make the repository once for all tests of a process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _, base, head = make_tiny_repository(folder)
        return _History(
            export=git(folder, "fast-export", "main"),
            base=base,
            head=head,
            patch=git(folder, "diff", base, head, "--", "src"),
            test_patch=git(folder, "diff", base, head, "--", "tests"),
        )


def make_tiny_environment(folder: Path) -> Environment:
    """Write a complete environment named ``tiny`` into ``folder`` (made if it is not there).

    Its history has three commits; the last one fixes a bug that a test of the same commit shows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "history.fast-export").write_text(_history().export)
    # The same as kvlog's, so that one image serves the tests of both.
    (folder / "requirements.lock").write_bytes((_BUNDLED / "requirements.lock").read_bytes())
    (folder / "Dockerfile").write_bytes((_BUNDLED / "Dockerfile").read_bytes())
    (folder / "README.md").write_text("# tiny\n")
    (folder / "environment.toml").write_text(_TOML.format(head=_history().head))
    return load_environment(folder)


def tiny_task(environment: Environment) -> Task:
    """The task made from the last commit: ``median`` of an even number of numbers."""
    history = _history()
    arith = ("test_total", "test_total_of_nothing", "test_mean", "test_mean_of_nothing")
    order = ("test_largest", "test_median_of_odd")
    return Task(
        instance_id="tiny-median",
        environment=environment.name,
        base_commit=history.base,
        patch=history.patch,
        test_patch=history.test_patch,
        fail_to_pass=("tests/test_order.py::test_median_of_even",),
        pass_to_pass=(
            *(f"tests/test_arith.py::{name}" for name in arith),
            *(f"tests/test_order.py::{name}" for name in order),
        ),
        problem_statement="The median of [4, 1, 2, 3] is 3; it should be 2.5.",
        repo="tinycalc",
        created_at="2024-01-03T12:00:00+00:00",
        provenance={"generator": "history", "commit": history.head},
    )


def make_tiny_home(folder: Path, tasks: int = 1) -> Path:
    """Make ``folder`` a place where the name ``tiny`` stands for an environment with tasks."""
    tiny = make_tiny_environment(folder / ".codegym" / "environments" / "tiny")
    row = tiny_task(tiny)
    rows = [replace(row, instance_id=f"tiny-{number}") for number in range(tasks)]
    write_pack(tiny.folder, rows, name="tiny", environments=[tiny])
    return folder
