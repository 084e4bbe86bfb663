"""pip for sandboxes that may install: a wheel, fetched on the host and kept as a layer."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

from codegym.errors import UnavailableError
from codegym.store import LayerStore

_FETCH_SEC = 300.0
_NAME = "pip.whl"
_VERSION = "1"


def pip_layer(store: LayerStore) -> Path:
    """Return the layer that holds the wheel, and its sources beside it.

    It is the newest that the host's index has when it is first wanted.

    Raises:
        UnavailableError: It cannot be fetched.
    """
    key = sha256(f"{_VERSION} {sys.version_info[:2]}".encode()).hexdigest()
    return store.publish(f"pipwheel-{key}", _fetch)


def wheel_of(layer: Path) -> bytes:
    """The wheel in that layer."""
    return (layer / _NAME).read_bytes()


def _fetch(dest: Path) -> None:
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    ran = subprocess.run(
        [*command, "--only-binary", ":all:", "--dest", str(dest), "pip"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_FETCH_SEC,
        check=False,
        env=dict(os.environ) | {"LC_ALL": "C.UTF-8"},
    )
    wheels = list(dest.glob("pip-*.whl"))
    if ran.returncode != 0 or len(wheels) != 1:
        raise UnavailableError(
            f"cannot fetch pip for sandboxes: {ran.stderr.strip()[-300:]}",
            "Check the network and pip's index (`pip config list`), then try again",
        )
    wheel = wheels[0].rename(dest / _NAME)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(dest / "sources")
    wheel.chmod(0o644)
