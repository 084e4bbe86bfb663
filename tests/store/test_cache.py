"""The cache folder: private, absolute, and clear about what is wrong."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from codegym.errors import UnavailableError
from codegym.store import LayerStore, cache_dir, replacing


def test_the_variable_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGYM_CACHE", str(tmp_path / "a" / "b"))
    assert cache_dir() == tmp_path / "a" / "b"
    assert cache_dir().stat().st_mode & 0o777 == 0o700
    assert LayerStore().root == tmp_path / "a" / "b" / "layers"
    assert LayerStore().root.stat().st_mode & 0o777 == 0o755


def test_otherwise_it_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEGYM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir().is_relative_to(tmp_path)


def test_a_relative_one_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CODEGYM_CACHE", "here")
    assert cache_dir() == tmp_path / "here"


def test_one_that_everyone_may_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("CODEGYM_CACHE", str(tmp_path))
    with pytest.raises(UnavailableError, match=r"everyone may write.*Set CODEGYM_CACHE"):
        cache_dir()


def test_a_file_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for inner in ("file", "file/below"):
        monkeypatch.setenv("CODEGYM_CACHE", str(tmp_path / inner))
        with pytest.raises(UnavailableError, match=r"cannot be written.*Set CODEGYM_CACHE"):
            cache_dir()


def test_a_place_where_no_folder_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGYM_CACHE", "/proc/x")
    with pytest.raises(UnavailableError, match=r"cannot be written at /proc/x.*Set CODEGYM_CACHE"):
        cache_dir()


def make_cache_as_nobody(pipe: Connection, path: Path) -> None:
    if os.geteuid() == 0:
        os.setresuid(65534, 65534, 65534)
    os.environ["CODEGYM_CACHE"] = str(path)
    try:
        cache_dir()
    except UnavailableError as error:
        pipe.send(str(error))
    else:
        pipe.send("made")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_one_that_may_not_be_made(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    ours, theirs = multiprocessing.Pipe()
    target = multiprocessing.get_context("fork").Process(
        target=make_cache_as_nobody, args=(theirs, tmp_path / "new")
    )
    target.start()
    said = ours.recv()
    target.join()
    assert said.startswith("the cache cannot be written")
    assert "Set CODEGYM_CACHE" in said


FULL_DISK = """
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from codegym.errors import UnavailableError
from codegym.store import LayerStore, replacing

root = Path(sys.argv[1])
store = LayerStore(root / "layers")

def hog(folder):
    for number in range(100):
        (folder / str(number)).write_bytes(bytes(100_000))

def refused(action):
    try:
        action()
    except UnavailableError as error:
        assert f"the disk that holds {root}" in str(error) and "is full" in str(error), error
        assert "codegym cache prune" in str(error), error
        return
    raise SystemExit("nothing was raised")

def rewrite():
    with replacing(root / "kept") as file:
        file.write(bytes(10_000_000))

(root / "kept").write_text("old")
refused(lambda: store.publish("tree-01234567", hog))
assert [entry.name for entry in (root / "layers").iterdir()] == [".locks"]
refused(rewrite)
assert (root / "kept").read_text() == "old"
assert sorted(entry.name for entry in root.iterdir()) == ["kept", "layers"]
store.publish("tree-01234567", lambda folder: (folder / "small").write_text("fits"))
print("as promised")
"""


def test_a_full_disk_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    space = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "-r", "--mount"]
    mount = f"mount -t tmpfs -o size=1m tmpfs {tmp_path}"
    probe = subprocess.run([*space, "sh", "-c", mount], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"no private mount here, so no full disk: {probe.stderr.strip()}")
    script = f'{mount} && exec "$0" -c "$1" "$2"'
    result = subprocess.run(
        [*space, "sh", "-c", script, sys.executable, FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == "as promised\n", result.stderr


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def interrupted() -> None:
        with replacing(path) as file:
            file.write(b"ne")
            file.flush()
            assert path.read_bytes() == b"old"
            raise KeyboardInterrupt

    with replacing(path) as file:
        file.write(b"old")
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"old"
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]
