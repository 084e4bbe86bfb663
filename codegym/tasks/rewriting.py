"""Changing an environment's pack: its next version, written as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from codegym.errors import UsageError
from codegym.tasks import Environment, PackInfo, is_pack, read_rows, write_pack
from codegym.tasks.pack import ROWS
from codegym.types import Task


def rewrite_pack(
    environment: Environment, tasks: Iterable[Task], *, replacing_generator: str = ""
) -> PackInfo:
    """Write an environment's pack anew: what it holds, then ``tasks``.

    Args:
        environment: Whose pack it is.
        tasks: The new ones; one that is there already is an error.
        replacing_generator: Tasks that this generator made before are left out.

    Raises:
        UsageError: The folder cannot be written to, as in an installed package.
        DataError: A task is wrong, or is there already.
    """
    require_writable(environment.folder)

    def rows() -> Iterator[Task]:
        # Read when they are written, while nobody else may write.
        if is_pack(environment.folder):
            for task in read_rows(environment.folder / ROWS):
                if not replacing_generator or _generator(task) != replacing_generator:
                    yield task
        yield from tasks

    return write_pack(environment.folder, rows(), name=environment.name, environments=[environment])


def _generator(task: Task) -> object:
    return task.provenance.get("generator")


def require_writable(folder: Path) -> None:
    """Raise ``UsageError`` where an environment's folder cannot be written to."""
    if not os.access(folder, os.W_OK):
        raise UsageError(
            f"{folder} cannot be written to: it is part of what is installed. Copy it to "
            "./.codegym/environments under another name (and set `name` in environment.toml)"
        )
