"""Where the user's pip looks for packages, as pip itself says it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from codegym.errors import UnavailableError

_TIMEOUT_SEC = 60.0
#: Later ones win: a variable of the environment over a command's section over everything.
_SECTIONS = ("global", "install", "download", ":env:")


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What of pip's configuration finds and fetches a source distribution.

    Attributes:
        indexes: Addresses of simple indexes, first the main one; each ends with ``/``.
        cert: File of certificate authorities, or ``""`` for the usual ones.
        proxy: Address of a proxy, or ``""`` for what the environment's variables say.
    """

    indexes: tuple[str, ...]
    cert: str = ""
    proxy: str = ""


def pip_settings() -> IndexSettings:
    """Ask pip for its configuration: files, variables and defaults.

    Raises:
        UnavailableError: pip does not work, or is told to use no index.
    """
    told = subprocess.run(
        [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "config", "list"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SEC,
        check=False,
        env=dict(os.environ) | {"LC_ALL": "C.UTF-8"},
    )
    if told.returncode != 0:
        raise UnavailableError(
            f"`pip config list` failed: {told.stderr.strip()[-300:]}", "Mend pip's configuration"
        )
    return settings_from(read_config(told.stdout))


def read_config(text: str) -> dict[str, str]:
    """What ``pip config list`` prints: the value of each option, of the section that wins."""
    by_section: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        section, dot, option = name.partition(".")
        if not equals or not dot:
            continue
        try:
            read = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            continue
        by_section.setdefault(section, {})[option] = str(read)
    return {k: v for section in _SECTIONS for k, v in by_section.get(section, {}).items()}


def settings_from(config: Mapping[str, str]) -> IndexSettings:
    """Pick what matters here. Raises ``UnavailableError`` where no index is allowed."""
    if config.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        raise UnavailableError(
            "pip is told to use no index (no-index), so no source distribution can be found",
            "Unset PIP_NO_INDEX, or see `pip config list`",
        )
    main = config.get("index-url") or _default_index()
    more = config.get("extra-index-url", "").split()
    indexes = tuple(f"{address.rstrip('/')}/" for address in (main, *more))
    return IndexSettings(indexes, config.get("cert", ""), config.get("proxy", ""))


def _default_index() -> str:
    """The index that pip uses unless it is told otherwise."""
    said = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    told = subprocess.run(
        [sys.executable, "-P", "-c", said],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SEC,
        check=False,
    )
    if told.returncode != 0:
        raise UnavailableError("this pip does not say which index it uses", "Set PIP_INDEX_URL")
    return told.stdout.strip()
