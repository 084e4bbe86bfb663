"""Pinning what a package's tests need: pip resolves, from wheels alone, and installs nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codegym.authoring.packages.fetching import without_credentials
from codegym.errors import UnavailableError, UsageError
from codegym.sandbox.images.lock import Pin, normalise

_TIMEOUT_SEC = 600.0
_MEND = "Check the network and pip's index (`pip config list`), then try again"
#: To have no such page is an answer of an index, whichever of these it says it with.
_UNANSWERED = re.compile(r"Could not fetch URL (?!file:)(\S+): (?!403 |404 |410 )(.*)")
_MISSING = re.compile(r"No matching distribution found for ([A-Za-z0-9._-]+)")


class UnmetError(UsageError):
    """Requirements that cannot be met from wheels.

    Args:
        message: What was asked for, and what pip says.
        missing: Normalised name of what no index has a fitting wheel of; ``""`` where not known.
    """

    def __init__(self, message: str, missing: str) -> None:
        super().__init__(message)
        self.missing = missing


def resolve(requirements: Sequence[str], constraints: Sequence[str] = ()) -> tuple[Pin, ...]:
    """Resolve requirements, and all that they need, to wheels for this Python.

    pip is told to take wheels only and to install nothing, so no code of any package runs.

    Args:
        requirements: What is needed.
        constraints: Versions to take where one of these is needed.

    Raises:
        UnmetError: They cannot be met together, or not from wheels.
        UsageError: What meets them cannot be pinned.
        UnavailableError: An index did not answer, or pip failed in another way.
    """
    with tempfile.TemporaryDirectory(prefix="codegym-lock-") as folder:
        report = Path(folder) / "report.json"
        limits, log = Path(folder) / "constraints.txt", Path(folder) / "log"
        limits.write_text("\n".join(constraints), encoding="utf-8")
        told = run_pip(
            [
                *(sys.executable, "-P", "-m", "pip", "install", "--quiet", "--no-input"),
                *("--disable-pip-version-check", "--progress-bar", "off"),
                *("--dry-run", "--ignore-installed", "--only-binary", ":all:"),
                *(("--constraint", str(limits)) if constraints else ()),
                *("--log", str(log), "--report", str(report), "--", *requirements),
            ],
            folder,
        )
        if told.returncode != 0:
            asked = log.read_text(errors="replace") if log.exists() else ""
            raise _explained(told.stderr, asked, requirements)
        return _pins(json.loads(report.read_text()))


def run_pip(command: Sequence[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Run pip in a folder, with the user's own configuration. Raises ``UnavailableError``."""
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
        raise UnavailableError(f"pip did not end within {_TIMEOUT_SEC:.0f} s", _MEND) from error


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


def _explained(errors: str, log: str, requirements: Sequence[str]) -> UnmetError | UnavailableError:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    said = "; ".join(line for line in lines if "WARNING" not in line)[-600:]
    wanted = ", ".join(requirements)
    # pip passes over an index that does not answer, and then finds nothing.
    if unanswered := _UNANSWERED.search(log):
        shown = without_credentials(unanswered[1])[0]
        return UnavailableError(f"{shown} cannot be read: {unanswered[2][:300]}", _MEND)
    if "No matching distribution" in errors or "ResolutionImpossible" in errors:
        missing = _MISSING.search(errors)
        return UnmetError(
            f"the tests need {wanted}, which cannot be had from wheels: {said}",
            normalise(missing[1]) if missing else "",
        )
    return UnavailableError(f"pip cannot resolve {wanted}: {said or 'it failed'}", _MEND)
