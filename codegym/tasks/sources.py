"""From a name to an environment or a task source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from codegym.errors import DataError, NotFoundError, UsageError
from codegym.resources import data_root
from codegym.tasks.environment import FILE_NAME, Environment, load_environment
from codegym.tasks.joined import Joined
from codegym.tasks.pack import INFO, ROWS, Pack, is_pack
from codegym.tasks.sealed import SealedPack
from codegym.tasks.split import SPLIT, open_split
from codegym.tasks.task_file import TaskFile

_Kind = Literal["environments", "packs"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")
_ID = re.compile(rb'"instance_id": ?"([^"\\]+)"')
_FORMS = (
    "an environment or a pack by NAME, a task by its ID, a pack by PATH/TO/IT, PATH.jsonl, or "
    "sealed:PATH"
)
_SEALED = "sealed:"


def environments() -> dict[str, Environment]:
    """Return all environments by name: those of ``./.codegym/environments``, and the bundled ones.

    Raises:
        DataError: One is broken.
        UsageError: Two have the same name.
    """
    found = _folders("environments")
    return {name: _load(_only(name, folders)) for name, folders in sorted(found.items())}


def environment(name: str) -> Environment:
    """Return one environment.

    Raises:
        NotFoundError: There is none of that name.
        DataError: It is broken.
        UsageError: Two have that name.
    """
    found = _folders("environments")
    if name not in found:
        raise NotFoundError("environment", name, found, hint=_looked_in("environments"))
    return _load(_only(name, found[name]))


def resolve(tasks: str | None) -> TaskFile | Joined:
    """Return the task source that ``tasks`` names.

    Args:
        tasks: The name of an environment or pack, a task's id in one of these, a pack's folder
            with a ``/`` in it, ``PATH.jsonl``, ``sealed:PATH``, or None for all bundled
            tasks in Python but those of environments that are played by name only.

    Returns:
        A ``TaskSource`` that also has ``name``, ``len()``, ``quarantined`` and ``all_tasks()``.

    Raises:
        NotFoundError: There is nothing of that name.
        UsageError: It has no tasks, or this form cannot be used.
        DataError: A file is wrong.
    """
    if tasks is None:
        return _bundled()
    if tasks.startswith(_SEALED):
        return SealedPack.open(_file(tasks.removeprefix(_SEALED)), environment)
    if tasks.startswith("curriculum:"):
        raise UsageError(
            f"{tasks!r}: a curriculum draws from other sources, which are wanted here; "
            "its spec names them. `codegym curriculum` is about curricula themselves"
        )
    if tasks.endswith(".jsonl"):
        return TaskFile.open(_file(tasks), environment)
    folder = Path(tasks).expanduser().absolute()
    if "/" in tasks and is_pack(folder):
        return _pack(folder)
    if _NAME.fullmatch(tasks) is None:
        raise UsageError(f"{tasks!r} is no task source; use {_FORMS}")
    split = data_root("environments") / tasks
    if (split / SPLIT).is_file():
        return open_split(split, _bundled_pack)
    return _named(tasks)


def _file(name: str) -> Path:
    path = Path(name).expanduser().absolute()
    if not path.is_file():
        raise UsageError(f"no such file: {path}")
    return path


def _named(name: str) -> Pack:
    found, packs = _folders("environments"), _folders("packs")
    folders = [*found.get(name, ()), *packs.get(name, ())]
    if not folders:
        return _just(name, found, packs)
    folder = _only(name, folders)
    if name in found:
        return _tasks_of(_load(folder))
    return _pack(folder)


def _just(
    task_id: str, found: Mapping[str, Sequence[Path]], packs: Mapping[str, Sequence[Path]]
) -> Pack:
    """The one task of an id. Only the pack that has it is opened; the others' ids are read."""
    every = [folder for kind in (found, packs) for each in kind.values() for folder in each]
    ids = {folder: _ids(folder / ROWS) for folder in every}
    having = [folder for folder in every if task_id in ids[folder]]
    if not having:
        known = [*found, *packs, *{one for each in ids.values() for one in each}]
        hint = f"{_looked_in('environments', 'packs')}; rows in a file are named by PATH.jsonl"
        raise NotFoundError("environment, pack or task", task_id, known, hint=hint)
    if len(having) > 1:
        places = " and ".join(map(str, having))
        raise UsageError(f"the task {task_id!r} is there twice: {places}; name a pack by its path")
    folder = having[0]
    return _named(folder.name).just(task_id)


def _ids(rows: Path) -> Iterable[str]:
    """Of a file's tasks, by the look of it: it is checked when it is opened."""
    try:
        return {found.decode() for found in _ID.findall(rows.read_bytes())}
    except (OSError, UnicodeDecodeError):
        return ()


def _pack(folder: Path) -> Pack:
    opened = Pack.open(folder, environment)
    if opened.name != folder.name:
        problem = f"{opened.name!r} lies in a folder named {folder.name!r}; they must be the same"
        raise DataError(folder / INFO, problem, field="name")
    return opened


def _tasks_of(owner: Environment) -> Pack:
    if not is_pack(owner.folder):
        raise UsageError(
            f"the environment {owner.name!r} has no tasks yet; make some from its history: "
            f"codegym tasks from-history {owner.name}"
        )
    return Pack.open(owner.folder, lambda name: owner if name == owner.name else environment(name))


def _bundled_pack(name: str) -> Pack:
    folder = data_root("environments") / name
    if not (folder / FILE_NAME).is_file():
        raise NotFoundError("bundled environment", name)
    return _tasks_of(_load(folder))


def _bundled() -> TaskFile | Joined:
    """Tasks that need no toolchain of this machine: the same ones, whatever is installed."""
    folders = _inside(data_root("environments"), FILE_NAME)
    homes = [_load(folder) for folder in folders if is_pack(folder)]
    parts = [_tasks_of(home) for home in homes if home.drawn and not home.image.toolchains]
    if not parts:
        raise UsageError(f"no bundled environment has tasks; use {_FORMS}")
    return parts[0] if len(parts) == 1 else Joined("the bundled tasks", parts)


def _load(folder: Path) -> Environment:
    loaded = load_environment(folder)
    if loaded.name != folder.name:
        problem = f"{loaded.name!r} lies in a folder named {folder.name!r}; they must be the same"
        raise DataError(folder / FILE_NAME, problem, field="name")
    return loaded


def _only(name: str, folders: Sequence[Path]) -> Path:
    if len(folders) > 1:
        places = " and ".join(str(folder) for folder in folders)
        raise UsageError(f"the name {name!r} is there twice: {places}; rename or remove one")
    return folders[0]


def _folders(kind: _Kind) -> dict[str, list[Path]]:
    """Return the folders of a kind by name, more than one where a name is there twice."""
    marker = FILE_NAME if kind == "environments" else INFO
    found: dict[str, list[Path]] = {}
    for root in _roots(kind):
        for folder in _inside(root, marker):
            found.setdefault(folder.name, []).append(folder)
    return found


def _roots(kind: _Kind) -> list[Path]:
    own = Path.cwd() / ".codegym" / kind
    return [own, data_root("environments")] if kind == "environments" else [own]


def _inside(root: Path, marker: str) -> list[Path]:
    if not root.is_dir():
        return []
    return sorted(folder for folder in root.iterdir() if (folder / marker).is_file())


def _looked_in(*kinds: _Kind) -> str:
    return "looked in " + ", ".join(str(root) for kind in kinds for root in _roots(kind))
