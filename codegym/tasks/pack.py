"""A pack: an immutable set of tasks, ``tasks.jsonl`` and what ``pack.json`` pins of it.

A pack is replaced by its next version as a whole. ``pack.json`` decides: the new rows lie ready in
``.tasks.jsonl.next`` before it is replaced, and take their place after; a reader takes whichever
file has the hash that ``pack.json`` names. So a writer killed at any moment leaves the old version
or the new one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError

from codegym.errors import DataError, NotFoundError, UsageError
from codegym.store import locked_folder, remove_drafts, replacing, sync_folder
from codegym.tasks.edge import Strict, first_problem
from codegym.tasks.environment import Environment
from codegym.tasks.environment_file import Name, Spdx
from codegym.tasks.jsonl import parse_object
from codegym.tasks.rows import write_rows
from codegym.tasks.task_file import FindEnvironment, Index, TaskFile, index_rows
from codegym.types import Assurance, Task
from codegym.version import __version__

ROWS = "tasks.jsonl"
INFO = "pack.json"
_NEXT = ".tasks.jsonl.next"
#: How often to look again when another process replaces the pack meanwhile.
_ATTEMPTS = 5

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True)
class PackInfo:
    """What ``pack.json`` says.

    Attributes:
        name: The pack's name.
        version: 1, and 1 more with each change.
        sha256: Of ``tasks.jsonl``.
        license: SPDX expression of the rows.
        environments: Digest of each environment that the tasks belong to.
        codegym: Version of CodeGym that wrote it.
        operators: Version of each operator that made a task.
        least_assurance: What its tasks' grades have to be at least; ``codegym check`` sees to it.
    """

    name: str
    version: int
    sha256: str
    license: str
    environments: Mapping[str, str]
    codegym: str
    operators: Mapping[str, str]
    least_assurance: Assurance = "report_only"


class _InfoFile(Strict):
    name: Name
    version: Annotated[int, Field(ge=1)]
    sha256: Sha256
    license: Spdx
    environments: Annotated[dict[str, Sha256], Field(min_length=1)]
    codegym: str
    operators: dict[str, str] = Field(default_factory=dict)
    least_assurance: Assurance = "report_only"


class Pack(TaskFile):
    """A task source over a pack's folder.

    Attributes:
        info: What ``pack.json`` says.
    """

    def __init__(self, folder: Path, info: PackInfo, index: Index) -> None:
        super().__init__(folder / ROWS, info.name, index)
        self.info = info

    @classmethod
    def open(cls, path: Path, find: FindEnvironment) -> Self:
        """Open a pack's folder and check it against what it pins.

        Raises:
            DataError: A row or ``pack.json`` is wrong, the rows are not those that were written, or
                an environment is not the one that they were made for.
        """
        info, index = _open(path, find)
        check_environments(path / INFO, info, index, find)
        return cls(path, info, index)

    def _places(self) -> Sequence[Path]:
        return (self.path.with_name(_NEXT), self.path)


def check_environments(where: Path, info: PackInfo, index: Index, find: FindEnvironment) -> None:
    """Raise ``DataError`` where an environment is not the one that a pack was made for."""
    pinned = info.environments
    for name in index.environments:
        if name not in pinned:
            raise DataError(where, f"{name!r} is missing", field="environments")
    for name, digest in pinned.items():
        try:
            now = index.environments.get(name) or find(name).digest
        except NotFoundError as error:
            raise DataError(where, str(error), field="environments") from error
        if now != digest:
            raise DataError(
                where,
                f"the tasks were made for {name!r} as it was ({digest[:12]}); the environment "
                f"has changed since ({now[:12]}). Take back the change, or make the tasks "
                f"again: codegym tasks from-history {name}",
                field=f"environments.{name}",
            )


def is_pack(folder: Path) -> bool:
    """Whether a pack lies in the folder, or was meant to."""
    return any((folder / name).exists() for name in (INFO, ROWS))


def read_info(folder: Path) -> PackInfo:
    """Read ``pack.json``. Raises ``DataError``."""
    path = folder / INFO
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise DataError(
            path, f"no such file; loose rows are named by their path: {folder / ROWS}"
        ) from None
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error
    return parse_info(raw, path)


def parse_info(raw: bytes, path: Path) -> PackInfo:
    """Read the text of ``pack.json``. Raises ``DataError``."""
    try:
        parsed = _InfoFile.model_validate(parse_object(raw, path, 1))
    except ValidationError as error:
        field, problem = first_problem(error, {(): _InfoFile})
        raise DataError(path, problem, field=field) from None
    return PackInfo(**parsed.model_dump())


def write_pack(
    folder: Path,
    tasks: Iterable[Task],
    *,
    name: str,
    environments: Sequence[Environment],
    spdx: str = "",
    operators: Mapping[str, str] | None = None,
    least_assurance: Assurance | None = None,
) -> PackInfo:
    """Write a pack, or its next version; one with the same content is left as it is.

    Args:
        folder: Made if it is not there; an environment's own folder for its own tasks.
        tasks: In the order that they are to be kept in; taken as a stream.
        name: The pack's name.
        environments: Those that the tasks belong to; their digests are pinned.
        spdx: Licence of the rows; by default those of the environments.
        operators: Version of each operator that made a task.
        least_assurance: What grades have to be at least; by default that of the last version.

    Raises:
        DataError: A task is wrong, or there is none.
        UsageError: A pack of another name is there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    by_name = {environment.name: environment for environment in environments}

    def find(wanted: str) -> Environment:
        if wanted not in by_name:
            raise NotFoundError("environment among the pack's", wanted, by_name)
        return by_name[wanted]

    with locked_folder(folder):
        old = read_info(folder) if (folder / INFO).exists() else None
        if old is not None and old.name != name:
            raise UsageError(f"{folder} holds the pack {old.name!r}; write {name!r} elsewhere")
        _settle(folder)
        try:
            write_rows(folder / _NEXT, tasks)
            info = PackInfo(
                name=name,
                version=old.version + 1 if old else 1,
                sha256=index_rows(folder / _NEXT, find).sha256,
                license=spdx or _all_licenses(environments),
                environments={name: by_name[name].digest for name in sorted(by_name)},
                codegym=__version__,
                operators=dict(sorted((operators or {}).items())),
                least_assurance=least_assurance or (old.least_assurance if old else "report_only"),
            )
            if old is not None and _content(old) == _content(info):
                return old
            with replacing(folder / INFO) as file:
                file.write(json.dumps(asdict(info), indent=2).encode() + b"\n")
        finally:
            _settle(folder)
    return info


def _settle(folder: Path) -> None:
    """Put the next rows in their place if ``pack.json`` names them already; else drop them.

    What killed writers left goes too; the caller holds the folder.
    """
    following = folder / _NEXT
    for name in (_NEXT, INFO):
        remove_drafts(folder / name)
    if not following.exists():
        return
    named = read_info(folder).sha256 if (folder / INFO).exists() else ""
    with following.open("rb") as file:
        decided = hashlib.file_digest(file, "sha256").hexdigest() == named
    if decided:
        following.replace(folder / ROWS)
        sync_folder(folder)
    else:
        following.unlink()


def _open(folder: Path, find: FindEnvironment) -> tuple[PackInfo, Index]:
    while True:
        info = read_info(folder)
        problem = None
        # In this order: once the next rows are gone from their first place, they are in the second.
        for name in (_NEXT, ROWS):
            try:
                index = index_rows(folder / name, find)
            except DataError as error:
                problem = error
                continue
            if index.sha256 == info.sha256:
                return info, index
            problem = DataError(
                folder / name,
                f"not the rows that {INFO} names ({index.sha256[:12]}, not {info.sha256[:12]}): a "
                f"pack is not edited by hand. Take back the change, or write a new pack",
            )
        if problem is not None and read_info(folder) == info:
            raise problem


def _content(info: PackInfo) -> PackInfo:
    """All that makes two versions differ."""
    return replace(info, version=0, codegym="")


def _all_licenses(environments: Sequence[Environment]) -> str:
    found = sorted({environment.license for environment in environments})
    if len(found) == 1:
        return found[0]
    return " AND ".join(f"({one})" if " OR " in one else one for one in found)
