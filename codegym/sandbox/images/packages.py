"""Files of Debian packages that an environment names."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from codegym.errors import UnavailableError, UsageError

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+(?::[a-z0-9]+)?")
_UNNEEDED = re.compile(r"/usr/share/(?:doc|info|lintian|locale|man|bug)/.*|/etc/.*")


def files_of(packages: Sequence[str]) -> list[Path]:
    """Files and links that installed packages brought, without documentation and configuration.

    Raises:
        UsageError: A name is no package name.
        UnavailableError: One is not installed, or this is no Debian-like system.
    """
    return [path for package in packages for path in _files_of(package)]


def _files_of(package: str) -> list[Path]:
    if _NAME.fullmatch(package) is None:
        raise UsageError(f"system_packages: {package!r} is no Debian package name")
    query = shutil.which("dpkg-query", path="/usr/bin:/bin")
    if query is None:
        raise UnavailableError(
            f"the environment needs the Debian package {package}, and there is no dpkg here",
            "Use Debian or Ubuntu, or remove it from image.system_packages",
        )
    told = subprocess.run(
        [query, "--listfiles", package],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    if told.returncode != 0:
        raise UnavailableError(
            f"the environment needs the Debian package {package}, which is not installed",
            f"Run `apt-get install {package}`",
        )
    listed = [line for line in told.stdout.splitlines() if _UNNEEDED.fullmatch(line) is None]
    return [Path(line) for line in listed if line.startswith("/") and Path(line).is_file()]
