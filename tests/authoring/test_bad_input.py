"""What users bring that is broken: a clear error, or tests that are left out, counted, with why."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from support import git

from codegym import authoring
from codegym.authoring.packages import locking
from codegym.authoring.packages.adding import _place
from codegym.authoring.packages.repositories import export
from codegym.errors import DataError, UnavailableError, UsageError
from codegym.tasks.sources import environment

needs_index = pytest.mark.usefixtures("index", "at_home")
network = pytest.mark.network

ODD = """\
import os
import pathlib

import pytest
import thing


def test_cookie():
    assert thing.NAME == "caf\\xe9"


@pytest.mark.parametrize("n", range(40))
def test_flaky(n):
    assert os.urandom(1)[0] % 2


@pytest.mark.parametrize("where", ["/", "/usr/lib", "/opt/venv", "/etc", "/opt/runner"])
def test_writes_outside(where):
    pathlib.Path(where, "planted").write_text("x")


def test_fills_the_disk():
    with open("/tmp/full", "wb") as file:
        for _ in range(600):
            file.write(bytes(1 << 20))


def test_starts_what_goes_on():
    os.system("sleep 1000 & ")
"""


def written(folder, files):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(folder)


@network
@needs_index
async def test_flaky_tests_odd_encodings_and_tests_that_write_outside(setting, tmp_path):
    files = {
        "thing.py": "# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n".encode("latin-1"),
        "notes.txt": b"\xff\xfe",
        "test_odd.py": ODD,
        "test_unreadable.py": b"def test_it():\n    assert '\xe9'\n",
    }
    added = await authoring.add_environment(written(tmp_path / "thing", files), setting)
    reasons = dict(added.reasons)
    assert reasons.pop("cannot be collected") == 1
    assert any(note.startswith("test_unreadable.py cannot be collected: ") for note in added.notes)
    assert reasons.pop("fails") >= 6  # all that write outside, the full disk, and some by chance
    assert reasons.pop("not the same every time") > 0
    assert set(reasons) <= {"depends on the order of tests"}
    kept = {"test_odd.py::test_cookie", "test_odd.py::test_starts_what_goes_on"}
    assert kept.isdisjoint(added.excluded)
    odd = [name for name in added.excluded if "outside" in name or "disk" in name]
    assert len(odd) == 6


@pytest.mark.parametrize(
    "name", ["pyproject.toml", "setup.cfg", "tox.ini", "requirements-test.txt"]
)
@pytest.mark.usefixtures("at_home")
async def test_settings_in_another_encoding_are_named(setting, tmp_path, name):
    files = {"thing.py": "", "test_thing.py": "def test_it(): ...\n", name: b"# caf\xe9\n"}
    with pytest.raises(DataError, match=f"{name}.*cannot be read"):
        await authoring.add_environment(written(tmp_path / "thing", files), setting)


@pytest.mark.usefixtures("at_home")
async def test_a_repository_without_tests(setting, tmp_path):
    with pytest.raises(UsageError, match=r"holds no tests.*tasks are made of tests"):
        await authoring.add_environment(written(tmp_path / "x", {"thing.py": ""}), setting)


def test_a_resolver_that_hangs_is_ended(monkeypatch, server):
    monkeypatch.setattr(locking, "_TIMEOUT_SEC", 0.01)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://{server.address}/")
    with pytest.raises(UnavailableError, match=r"did not end within .*Check the network"):
        locking.resolve(["pytest"])


def test_a_repository_of_100_000_files_is_refused(tmp_path):
    git(tmp_path, "init", "-q", "--bare", "-b", "main")
    files = "".join(f"M 644 inline d{n // 1000}/f{n}.py\ndata 0\n\n" for n in range(100_000))
    head = "commit refs/heads/main\ncommitter A <a@b.c> 0 +0000\ndata 0\n\n"
    git(tmp_path, "fast-import", "--quiet", stdin=head + files)
    with pytest.raises(UsageError, match="holds 100000 files, and an environment at most 50000"):
        export(str(tmp_path))


def processes(mark):
    """Processes whose command line has a mark."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark in file.read_bytes():
                found.append(int(file.parent.name))
    return found


@network
@needs_index
def test_one_that_is_killed_starts_clean(tmp_path, at_home):
    mark = f"1{os.getpid()}.5"
    slow = f"import subprocess\ndef test_it(): subprocess.run(['sleep', '{mark}'])\n"
    folder = written(tmp_path / "thing", {"thing.py": "", "test_thing.py": slow})
    command = [sys.executable, "-m", "codegym", "environment", "add", folder]
    running = subprocess.Popen(command, cwd=at_home, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not processes(mark.encode()) and running.poll() is None:
        assert time.monotonic() < deadline, "its tests never began"
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    while processes(mark.encode()):
        assert time.monotonic() < deadline, "its tests outlive it"
        time.sleep(0.05)
    written(tmp_path / "thing", {"test_thing.py": "def test_it(): ...\n"})
    subprocess.run(command, cwd=at_home, check=True, capture_output=True)
    assert environment("thing").suite("unit").deselect == ()


def test_an_environment_that_was_made_meanwhile_is_left_alone(tmp_path):
    draft, folder = tmp_path / "draft", tmp_path / "environments" / "halves"
    for each in (draft, folder):
        each.mkdir(parents=True)
        (each / "environment.toml").write_text(each.name)
    with pytest.raises(UsageError, match="made meanwhile"):
        _place(draft, folder)
    assert (folder / "environment.toml").read_text() == "halves"
