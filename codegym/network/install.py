"""The proxy's own interpreter, made on first use: mitmproxy's needs are not the gym's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from codegym.errors import UnavailableError
from codegym.resources import data_root
from codegym.store.cache import cache_dir, full_disk_explained
from codegym.store.locks import locked

#: The first Python that a mitmproxy without known faults runs on, and those looked for by name.
_WANTED = (3, 12)
_NAMES = ("python3.13", "python3.12", "python3.14", "python3")
_PROBE = "import json, ssl, sys, venv; print(json.dumps([sys.executable, *sys.version_info[:2]]))"
_PROBE_SEC = 20.0
_INSTALL_SEC = 900.0
_OLD = (
    "runs mitmproxy 11.0.2, whose versions of h11 and h2 have known faults (requests can be "
    "smuggled to an allowed host). Put Python 3.12 or later on PATH and install again"
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The interpreter that the proxy runs in.

    Attributes:
        python: Its path.
        mitmproxy: The version of mitmproxy that it has.
        note: What is to be known about it, or ``""``.
    """

    python: Path
    mitmproxy: str
    note: str = ""


def install() -> Interpreter:
    """Make the proxy's interpreter in the cache folder, unless it is there.

    Raises:
        UnavailableError: mitmproxy cannot be fetched, or the disk is full.
    """
    requirements = data_root("proxy") / "requirements.txt"
    base, version = _base()
    key = sha256(f"{base}\0{version}\0{requirements.read_text()}".encode()).hexdigest()[:16]
    folder = cache_dir() / "proxy" / key
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    ready = folder / "ready"
    with locked(folder.with_suffix(".lock"), shared=False), full_disk_explained(folder.parent):
        if not ready.is_file():
            shutil.rmtree(folder, ignore_errors=True)
            _make(base, folder, requirements)
            ready.write_text(_version(folder / "bin" / "python"))
    note = "" if version >= _WANTED else f"Python {version[0]}.{version[1]} {_OLD}"
    return Interpreter(folder / "bin" / "python", ready.read_text(), note)


def _base() -> tuple[str, tuple[int, int]]:
    """The first interpreter that is new enough, else this one."""
    for candidate in _candidates():
        found = _probe(candidate)
        if found and found[1] >= _WANTED:
            return found
    return sys.executable, sys.version_info[:2]


def _candidates() -> Iterator[str]:
    """Programs that may be interpreters: this one, those on PATH, those of version managers."""
    yield sys.executable
    for name in _NAMES:
        for folder in os.get_exec_path():
            if (program := Path(folder) / name).is_file():
                yield str(program)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    uv = Path.home() / ".local/share/uv/python"
    for root in (pyenv / "versions", uv):
        for name in _NAMES[:-1]:
            yield from map(str, sorted(root.glob(f"*/bin/{name}"), reverse=True))


def _probe(program: str) -> tuple[str, tuple[int, int]] | None:
    """Run it: a version manager's stand-in may be on PATH with no Python behind it."""
    try:
        ran = subprocess.run(
            [program, "-I", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SEC,
            check=True,
        )
        path, major, minor = json.loads(ran.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return str(path), (int(major), int(minor))


def _make(base: str, folder: Path, requirements: Path) -> None:
    _run([base, "-I", "-m", "venv", "--without-pip", str(folder)], "cannot make an environment")
    command = [sys.executable, "-P", "-m", "pip", "--python", str(folder / "bin" / "python")]
    options = ["--quiet", "--no-input"]
    _run([*command, "install", *options, "-r", str(requirements)], "cannot install mitmproxy")


def _run(command: list[str], problem: str) -> None:
    ran = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_INSTALL_SEC,
        check=False,
    )
    if ran.returncode != 0:
        lines = [line for line in ran.stderr.splitlines() if line.strip()]
        raise UnavailableError(
            f"the egress proxy {problem}: {' '.join(lines[-2:])[-400:]}",
            "Check the network and pip's index (`pip config list`), then `codegym proxy install`",
        )


def _version(python: Path) -> str:
    asked = "from mitmproxy.version import VERSION; print(VERSION)"
    ran = subprocess.run(
        [str(python), "-I", "-c", asked], capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        raise UnavailableError(
            f"mitmproxy does not run in {python}: {ran.stderr.strip()[-300:]}",
            "Try `codegym proxy install` with another Python on PATH",
        )
    return ran.stdout.strip()
