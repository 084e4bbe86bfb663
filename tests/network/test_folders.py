"""The proxy's folder goes with its process, or with the next one's start."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from codegym.network.folders import make_folder

MAKE = "from codegym.network.folders import make_folder; print(make_folder().path, flush=True)"


def test_what_a_killed_process_left_is_removed_and_what_is_held_or_new_is_not(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    held = make_folder()
    (held.path / "inner").mkdir()
    env = os.environ | {"TMPDIR": str(tmp_path)}
    dead = [
        subprocess.run([sys.executable, "-c", MAKE], env=env, check=True, capture_output=True)
        for _ in range(2)
    ]
    old, new = (Path(each.stdout.decode().strip()) for each in dead)
    link = tmp_path / "codegym-proxy-link"
    link.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    hour_ago = time.time() - 3600
    for path in (held.path, old, tmp_path / "elsewhere"):
        os.utime(path, (hour_ago, hour_ago))
    again = make_folder()
    assert not old.exists()
    assert all(path.exists() for path in (held.path, new, again.path, tmp_path / "elsewhere"))
    held.remove()
    again.remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [new.name, link.name, "elsewhere"]
    )
