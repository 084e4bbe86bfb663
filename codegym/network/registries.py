"""Where the registries are that a policy names: as their clients on the host say."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

from codegym.errors import UnavailableError
from codegym.network.pip_settings import pip_settings

_TIMEOUT_SEC = 60.0


def registry_addresses(kinds: Iterable[str]) -> dict[str, list[str]]:
    """The addresses of each kind of registry, asked of its client outside of any sandbox.

    They may hold credentials, which are for the proxy alone (see ``without_credentials``).

    Raises:
        UnavailableError: A client is missing, or does not work.
    """
    return {kind: _ADDRESSES[kind]() for kind in kinds}


def without_credentials(address: str) -> str:
    """An address without the user and password that it may have."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _pip() -> list[str]:
    return [each for each in pip_settings().indexes if each.startswith("https://")]


def _npm() -> list[str]:
    """What npm says; asked at home, as a project's own files do not count."""
    command = ["npm", "config", "get", "registry"]
    try:
        told = subprocess.run(
            command,
            cwd=Path.home(),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SEC,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UnavailableError(
            f"`{' '.join(command)}` failed: {error}",
            "Install npm on the host, or name the hosts in a policy of your own",
        ) from error
    return [told.stdout.strip()]


_ADDRESSES: dict[str, Callable[[], list[str]]] = {"pip": _pip, "npm": _npm}
