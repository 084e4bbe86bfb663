"""Where generated tasks are kept: in the environment's own pack, or in one beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from codegym.errors import UsageError
from codegym.mutation.generate import Generated
from codegym.tasks import Environment, PackInfo, is_pack, read_info, read_rows
from codegym.tasks.knobs import Knobs
from codegym.tasks.pack import INFO, ROWS
from codegym.tasks.rewriting import require_pack_name, require_writable, rewrite_pack
from codegym.types import Task


def place_for(environment: Environment, out: Path | None) -> Path:
    """The folder of the pack that tasks of an environment go to.

    Args:
        environment: One of the user's own has its tasks with it; a bundled one is left as it is.
        out: Another folder, where one is named.

    Raises:
        UsageError: That folder cannot be a pack, by its name, because it cannot be written to, or
            because something else is in it.
    """
    if out is not None:
        folder = out.expanduser().absolute()
        require_pack_name(folder)
        require_writable(folder)
        if folder.is_dir() and not is_pack(folder) and any(folder.iterdir()):
            raise UsageError(
                f"{folder} is no pack (no {INFO}) and not empty; name another folder with --out"
            )
        return folder
    own = Path.cwd() / ".codegym"
    if environment.folder.parent == own / "environments":
        return environment.folder
    return own / "packs" / f"{environment.name}-generated"


def tasks_in(folder: Path, environment: Environment) -> list[Task]:
    """The tasks that a pack holds already.

    Raises:
        UsageError: They were made for the environment as it no longer is.
        DataError: The pack is broken.
    """
    if not is_pack(folder):
        return []
    pinned = read_info(folder).environments.get(environment.name)
    if pinned != environment.digest:
        raise UsageError(
            f"{folder} holds tasks of {'no ' if pinned is None else ''}{environment.name}"
            f"{'' if pinned is None else ' as it was before it changed'}; name another folder with "
            "--out, or remove the pack"
        )
    return list(read_rows(folder / ROWS))


def made_otherwise(environment: Environment, folder: Path) -> list[Task]:
    """The tasks of an environment's own pack that are no mutants, where that is not ``folder``."""
    own = environment.folder
    if own == folder or not is_pack(own):
        return []
    if read_info(own).environments.get(environment.name) != environment.digest:
        return []
    return [task for task in read_rows(own / ROWS) if _effect(task) is None]


def pack(folder: Path, environment: Environment, generated: Generated) -> PackInfo:
    """Add tasks to a pack, as its next version; those that it holds stay.

    What others added meanwhile counts: no task is there twice, and no two have one effect, but
    where a knob was turned.

    Raises:
        UsageError: The folder cannot be written to.
        DataError: A task is wrong.
    """

    def new() -> Iterator[Task]:
        """Asked for while the pack is written, when nobody else may."""
        held = tasks_in(folder, environment)
        ids = {task.instance_id for task in held}
        known = {effect for task in held if (effect := _effect(task))}
        for task in generated.tasks:
            if task.instance_id not in ids and _effect(task) not in known:
                yield task

    return rewrite_pack(environment, new(), folder=folder, operators=generated.operators)


def _effect(task: Task) -> tuple[object, Knobs] | None:
    """What a mutant does, and how it is presented."""
    effect = task.provenance.get("effect")
    return None if effect is None else (effect, Knobs.of(task))
