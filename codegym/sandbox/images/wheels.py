"""Fetching pinned wheels: the one thing a build does on the network, and it runs none of them.

pip is told to take wheels only, so no build backend of a package ever runs on the host, and checks
every hash itself. Its own configuration (index, proxy, certificates) is the user's.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from codegym.errors import DataError, UnavailableError
from codegym.sandbox.images.interpreter import Interpreter
from codegym.sandbox.images.lock import read_lock
from codegym.sandbox.images.publishing import publish
from codegym.store import LayerStore

#: In a layer of wheels: them, and the lock file.
FOLDER = ".build"
#: Where pip is in a build's sandbox, and in no other.
PIP = "/usr/local/lib/installer"
_FETCH_SEC = 900.0
_SHOWN_LINES = 6


async def fetch_wheels(
    lock: Path | None,
    interpreter: Interpreter,
    store: LayerStore,
    progress: Callable[[str], None],
) -> Path:
    """Return a layer with a lock file and its wheels, fetching what is not cached.

    Raises:
        DataError: The lock file is wrong, or an index serves something else than it pins.
        UnavailableError: Something could not be fetched.
    """
    pins, text = read_lock(lock) if lock is not None else ((), b"")
    about = f"1 {interpreter.name} {platform.machine()} {platform.libc_ver()}\n"
    key = f"wheels-{hashlib.sha256(about.encode() + text).hexdigest()}"

    async def build(dest: Path) -> None:
        folder = dest / FOLDER
        (folder / "wheels").mkdir(parents=True)
        (folder / "requirements.lock").write_bytes(text)
        if lock is not None and pins:
            progress(f"fetching {len(pins)} wheels of {lock.parent.name}/{lock.name}")
            await _download(lock, folder, interpreter)
        await asyncio.to_thread(_open_to_all, dest)

    return await publish(store, key, build)


def pip_layer(store: LayerStore) -> Path:
    """Return the layer that brings CodeGym's own pip into a build. Raises ``UnavailableError``."""
    found = find_spec("pip")
    if found is None or not found.submodule_search_locations:
        raise UnavailableError("CodeGym's own pip is missing", "Run `python -m ensurepip`")
    folder = found.submodule_search_locations[0]
    about = f"1 {importlib.metadata.version('pip')} {sys.version_info[:2]}"

    def build(dest: Path) -> None:
        shutil.copytree(folder, dest / PIP.lstrip("/") / "pip")
        _open_to_all(dest)

    return store.publish(f"pip-{hashlib.sha256(about.encode()).hexdigest()}", build)


def _open_to_all(folder: Path) -> None:
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


async def _download(lock: Path, folder: Path, interpreter: Interpreter) -> None:
    other = interpreter.version[:2] != sys.version_info[:2]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input"),
        *("--disable-pip-version-check", "--progress-bar", "off"),
        *("--only-binary", ":all:", "--no-deps", "--require-hashes"),
        *("--requirement", "requirements.lock", "--dest", "wheels"),
        *(("--python-version", ".".join(map(str, interpreter.version))) if other else ()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=dict(os.environ) | {"LC_ALL": "C.UTF-8"},
        cwd=folder,
    )
    try:
        async with asyncio.timeout(_FETCH_SEC):
            _, errors = await process.communicate()
    except TimeoutError as error:
        raise UnavailableError(
            f"fetching the wheels of {lock} took over {_FETCH_SEC:.0f} s",
            "Check the network and `pip config list`, then try again",
        ) from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode != 0:
        _explain(lock, errors.decode(errors="replace"))


def _explain(lock: Path, errors: str) -> None:
    lines = [line for line in errors.splitlines() if line.strip() and "WARNING" not in line]
    said = "; ".join(line.strip() for line in lines[-_SHOWN_LINES:])
    if "DO NOT MATCH THE HASHES" in errors:
        raise DataError(lock, f"an index serves something else than is pinned: {said}")
    raise UnavailableError(
        f"cannot fetch the wheels that {lock} pins: {said or 'pip failed'}",
        "Check the network and pip's index (`pip config list`), then try again",
    )
