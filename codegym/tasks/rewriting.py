"""Changing an environment's pack: its next version, written as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from codegym.errors import UsageError
from codegym.resources import data_root
from codegym.tasks import Environment, PackInfo, is_pack, read_info, read_rows, write_pack
from codegym.tasks.edge import first_problem
from codegym.tasks.environment_file import Name
from codegym.tasks.pack import ROWS
from codegym.types import Task


def rewrite_pack(
    environment: Environment,
    tasks: Iterable[Task],
    *,
    replacing_generator: str = "",
    folder: Path | None = None,
    operators: Mapping[str, str] | None = None,
) -> PackInfo:
    """Write a pack of an environment's tasks anew: what it holds, then ``tasks``.

    Args:
        environment: Whose tasks they are.
        tasks: The new ones; one that is there already is an error.
        replacing_generator: Tasks that this generator made before are left out.
        folder: The pack's, whose name is the pack's; by default the environment's own.
        operators: Version of each operator that made one of ``tasks``.

    Raises:
        UsageError: The folder cannot be written to, as in an installed package.
        DataError: A task is wrong, or is there already.
    """
    place = folder or environment.folder
    require_writable(place)

    def rows() -> Iterator[Task]:
        # Read when they are written, while nobody else may write.
        if is_pack(place):
            for task in read_rows(place / ROWS):
                if not replacing_generator or _generator(task) != replacing_generator:
                    yield task
        yield from tasks

    before = read_info(place).operators if is_pack(place) else {}
    return write_pack(
        place,
        rows(),
        name=environment.name if place == environment.folder else place.name,
        environments=[environment],
        operators={**before, **(operators or {})},
    )


def _generator(task: Task) -> object:
    return task.provenance.get("generator")


def require_pack_name(folder: Path) -> None:
    """Raise ``UsageError`` where a pack, which has its folder's name, cannot have it."""
    try:
        TypeAdapter(Name).validate_python(folder.name)
    except ValidationError as error:
        said = first_problem(error, {})[1]
        raise UsageError(f"{folder} cannot be a pack: {said}") from None


def require_writable(folder: Path) -> None:
    """Raise ``UsageError`` where a folder, or the one it would be made in, cannot be written to."""
    folder = folder.absolute()
    try:
        there = next(one for one in (folder, *folder.parents) if os.path.lexists(one))
        tempfile.TemporaryDirectory(dir=there).cleanup()  # who is root may, and still cannot
    except OSError as error:
        mend = "name another folder, or work in one"
        if folder.is_relative_to(data_root("environments")):
            mend = (
                "it is part of what is installed. Copy it to ./.codegym/environments under another "
                "name (and set `name` in environment.toml)"
            )
        raise UsageError(f"{folder} cannot be written to ({error.strerror}): {mend}") from error
