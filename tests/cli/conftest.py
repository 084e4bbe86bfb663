"""``codegym`` as a user runs it: a process of its own, in a folder that knows ``tiny``."""

import os
import subprocess
import sys
from dataclasses import dataclass

import pytest
from support import make_tiny_home


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    return make_tiny_home(tmp_path_factory.mktemp("home"), tasks=2)


@pytest.fixture(scope="session")
def codegym(home):
    def run(
        *arguments: object, before: tuple[str, ...] = (), cwd=home, timeout: int = 110, **env: str
    ) -> Ran:
        command = [*before, sys.executable, "-m", "codegym", *map(str, arguments)]
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, "COLUMNS": "100", **env},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def recorded(codegym, tmp_path_factory):
    """A run of the oracle."""
    out = tmp_path_factory.mktemp("runs") / "oracle"
    ran = codegym("run", ID, "--tasks", "tiny", "--policy", "oracle", "--out", out)
    assert ran.status == 0, ran.err
    return out


ID = "CodeGym/FixTests-v0"
