"""Pinning what a package's tests need: pip resolves, from wheels alone, and installs nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codegym.errors import UnavailableError, UsageError
from codegym.sandbox.images.lock import Pin, normalise

_TIMEOUT_SEC = 600.0
_MEND = "Check the network and pip's index (`pip config list`), then try again"


def resolve(requirements: Sequence[str], constraints: Sequence[str] = ()) -> tuple[Pin, ...]:
    """Resolve requirements, and all that they need, to wheels for this Python.

    pip is told to take wheels only and to install nothing, so no code of any package runs.

    Args:
        requirements: What is needed.
        constraints: Versions to take where one of these is needed.

    Raises:
        UsageError: They cannot be met together, or not from wheels.
        UnavailableError: pip failed in another way.
    """
    with tempfile.TemporaryDirectory(prefix="codegym-lock-") as folder:
        report = Path(folder) / "report.json"
        limits = Path(folder) / "constraints.txt"
        limits.write_text("\n".join(constraints), encoding="utf-8")
        told = _pip(
            [
                *(sys.executable, "-P", "-m", "pip", "install", "--quiet", "--no-input"),
                *("--disable-pip-version-check", "--progress-bar", "off"),
                *("--dry-run", "--ignore-installed", "--only-binary", ":all:"),
                *(("--constraint", str(limits)) if constraints else ()),
                *("--report", str(report), "--", *requirements),
            ],
            folder,
        )
        if told.returncode != 0:
            raise _explained(told.stderr, requirements)
        return _pins(json.loads(report.read_text()))


def _pip(command: Sequence[str], folder: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SEC,
            check=False,
            env=dict(os.environ) | {"LC_ALL": "C.UTF-8"},
            cwd=folder,
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(
            f"pip did not resolve the dependencies within {_TIMEOUT_SEC:.0f} s", _MEND
        ) from error


def lock_text(pins: Sequence[Pin]) -> str:
    """The pins as ``requirements.lock`` has them: the same for all packages that need the same."""
    lines = ["# Wheels that pip resolved, for one version of Python on one kind of machine."]
    for pin in sorted(pins, key=lambda pin: pin.name):
        hashes = "".join(f" \\\n    --hash=sha256:{value}" for value in pin.hashes)
        lines.append(f"{pin.name}=={pin.version}{hashes}")
    return "\n".join(lines) + "\n"


def _pins(report: dict[str, Any]) -> tuple[Pin, ...]:
    pins = []
    for each in report["install"]:
        found, metadata = each["download_info"], each["metadata"]
        name = normalise(metadata["name"])
        digest = found.get("archive_info", {}).get("hashes", {}).get("sha256", "")
        if not found["url"].partition("#")[0].endswith(".whl") or not digest:
            raise UsageError(f"{name} is no wheel with a sha256 of an index; it cannot be pinned")
        pins.append(Pin(name, metadata["version"], (digest,)))
    return tuple(pins)


def _explained(errors: str, requirements: Sequence[str]) -> UsageError | UnavailableError:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    said = "; ".join(line for line in lines if "WARNING" not in line)[-600:]
    wanted = ", ".join(requirements)
    if "No matching distribution" in errors or "ResolutionImpossible" in errors:
        return UsageError(f"the tests need {wanted}, which cannot be had from wheels: {said}")
    return UnavailableError(
        f"pip cannot resolve {wanted}: {said or 'it failed'}",
        _MEND,
    )
