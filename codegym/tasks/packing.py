"""A pack made of tasks that are there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codegym.tasks.pack import write_pack
from codegym.tasks.rewriting import require_pack_name, require_writable
from codegym.tasks.sources import environment
from codegym.types import Task


def pack_of(tasks: Sequence[Task], folder: Path) -> Path:
    """Write tasks as a pack, which has the folder's name; one that is there gets a next version.

    Raises:
        UsageError: The folder cannot be a pack, or cannot be written to.
        DataError: A task is wrong, or there is none.
    """
    place = folder.expanduser().absolute()
    require_pack_name(place)
    require_writable(place)
    homes = [environment(name) for name in sorted({task.environment for task in tasks})]
    versions = {
        str(name): str(version)
        for task in tasks
        for name, version in (task.provenance.get("operators") or {}).items()
    }
    write_pack(place, tasks, name=place.name, environments=homes, operators=versions)
    return folder
