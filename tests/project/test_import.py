"""``import codegym`` is light and silent."""

import json
import os
import subprocess
import sys

import pytest

HEAVY = {
    "docker", "torch", "transformers", "stable_baselines3", "ray", "mitmproxy", "git", "typer",
    "rich", "pydantic", "unidiff", "pathspec", "asyncio", "sqlite3",
}  # fmt: skip

REPORT = """
import json, sys, threading
before = set(sys.modules)
import codegym
sys.stderr.write(json.dumps({
    "modules": sorted(set(sys.modules) - before),
    "threads": threading.active_count(),
}))
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("import")
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "XDG_CACHE_HOME": str(folder),
        "CODEGYM_CACHE": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", REPORT],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return run, json.loads(run.stderr), list(folder.iterdir())


def test_it_prints_nothing(imported):
    run, _, _ = imported
    assert run.stdout == ""


def test_it_writes_nothing(imported):
    _, _, files = imported
    assert files == []


def test_it_starts_nothing(imported):
    _, report, _ = imported
    assert report["threads"] == 1


def test_it_loads_nothing_heavy(imported):
    _, report, _ = imported
    assert {name.split(".")[0] for name in report["modules"]} & HEAVY == set()


def test_it_loads_only_the_vocabulary_and_the_registration(imported):
    _, report, _ = imported
    packages = {".".join(n.split(".")[:2]) for n in report["modules"] if n.startswith("codegym.")}
    allowed = {"types", "errors", "registration", "version"}
    assert packages <= {f"codegym.{name}" for name in allowed}
