"""Files as data: what crosses between git, workspaces, sandboxes and grading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Mode = Literal["100644", "100755", "120000"]


@dataclass(frozen=True, slots=True)
class File:
    """One file of a trusted tree. ``mode`` is git's; a symlink's ``data`` is its target."""

    data: bytes
    mode: Mode = "100644"


#: A whole trusted tree: normalised POSIX path, relative to the repository root, to file.
Tree = Mapping[str, File]


@dataclass(frozen=True, slots=True)
class Change:
    """One path of a policy's work. ``data`` is None where the file was deleted."""

    path: str
    data: bytes | None
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """One path of a policy's work that was not taken, and why (``"symlink"``, ``"protected"``…)."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A policy's work as data: regular files only, in path order.

    Attributes:
        changes: Files that differ from the tree that the sandbox started from.
        refused: Entries that were seen and not read: links, devices, sockets, files over a bound.
    """

    changes: tuple[Change, ...] = ()
    refused: tuple[Refusal, ...] = ()
