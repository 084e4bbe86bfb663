"""Interpreters are tried by running them, and the proxy's is made once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from codegym.errors import UnavailableError
from codegym.network import install


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    """Puts programs, and nothing else, where interpreters are looked for."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))

    def put(path, text):
        program = tmp_path / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        return str(program)

    return put


def test_a_stand_in_that_does_not_run_is_passed_over(on_path):
    on_path("bin/python3.13", "echo 'command not found' >&2; exit 127")
    on_path("bin/python3.12", "echo nonsense")
    on_path("bin/python3", "echo '[\"/old\", 3, 11]'")
    assert install._base() == (sys.executable, sys.version_info[:2])
    on_path("pyenv/versions/3.12.1/bin/python3.12", "echo '[\"/good\", 3, 12]'")
    assert install._base() == ("/good", (3, 12))


def test_the_first_on_path_that_works_is_taken(on_path):
    on_path("bin/python3.12", "echo '[\"/good\", 3, 12]'")
    on_path("pyenv/versions/3.13.1/bin/python3.13", "echo '[\"/other\", 3, 13]'")
    assert install._base() == ("/good", (3, 12))


def test_this_interpreter_can_be_probed():
    real = install._probe(sys.executable)
    assert real is not None
    assert real[1] == sys.version_info[:2]
    assert install._probe(str(Path(sys.executable).parent)) is None


@pytest.mark.network
def test_an_interpreter_is_made_once_and_has_mitmproxy():
    made = install.install()
    before = made.python.stat().st_ctime_ns
    assert install.install() == made
    assert made.python.stat().st_ctime_ns == before
    said = subprocess.run(
        [made.python, "-I", "-c", "import mitmproxy.version as v; print(v.VERSION)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == made.mitmproxy
    assert bool(made.note) == made.mitmproxy.startswith("11.")


def test_without_an_index_it_says_what_to_do_and_leaves_nothing_ready(tmp_path, monkeypatch):
    monkeypatch.setenv("CODEGYM_CACHE", str(tmp_path / "cache"))
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(UnavailableError, match=r"cannot install mitmproxy.*codegym proxy install"):
        install.install()
    assert list((tmp_path / "cache" / "proxy").rglob("ready")) == []
