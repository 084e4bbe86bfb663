"""Puts the data folders into wheel and source distribution: exactly the files that git tracks.

Hatchling's own ``force-include`` ignores ``.gitignore``, so whatever lies about in a checkout would
be shipped. A source distribution has no git: what is in it was tracked when it was made.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("environments", "curricula", "proxy")


class DataHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds ``FOLDERS``; in a wheel they go below ``codegym/_data``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name each file; an editable install finds them in the checkout."""
        if version == "editable":
            return
        root = Path(self.root)
        prefix = "codegym/_data/" if self.target_name == "wheel" else ""
        for name in data_files(root):
            build_data["force_include"][str(root / name)] = prefix + name


def data_files(root: Path) -> list[str]:
    """Paths of the data files, relative to the root, sorted."""
    if (root / ".git").exists():
        listed = subprocess.run(
            # The checkout may belong to another user, as in a container.
            ["git", "-c", f"safe.directory={root}", "ls-files", "-z", "--", *FOLDERS],
            cwd=root,
            check=True,
            capture_output=True,
            text=True,
        )
        names = [name for name in listed.stdout.split("\0") if name]
    else:
        names = [
            path.relative_to(root).as_posix()
            for folder in FOLDERS
            for path in (root / folder).rglob("*")
            if "__pycache__" not in path.parts
        ]
    return sorted(name for name in names if (root / name).is_file())
