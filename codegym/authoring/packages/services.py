"""What a user declares that no file of the project says: services, system packages, a wheel."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from codegym.errors import DataError
from codegym.tasks.edge import Keys, Strict, first_problem
from codegym.tasks.environment import Service
from codegym.tasks.environment_file import Package, ServiceTable, Variable


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a user declares.

    Attributes:
        services: What the tests need beside them.
        system_packages: Debian packages that this machine has, for the sandboxes.
        env: Variables of every process in a sandbox.
        wheel: One of the project's, whose compiled modules are taken; or None.
    """

    services: tuple[Service, ...] = ()
    system_packages: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    wheel: Path | None = None


class _File(Strict):
    services: list[ServiceTable] = Field(default_factory=list)
    system_packages: list[Package] = Field(default_factory=list)
    env: dict[Variable, str] = Field(default_factory=dict)
    wheel: str = ""


_MODELS: dict[Keys, type[BaseModel]] = {(): _File, ("services",): ServiceTable}


def read_declaration(path: Path) -> Declaration:
    """Read a file with ``services``, ``system_packages`` and ``env``, as ``environment.toml`` has.

    It may name a ``wheel`` besides, by its path from that file.

    Raises:
        DataError: It is missing or wrong; says which key.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(path, f"not TOML: {error}") from error
    try:
        parsed = _File.model_validate(raw)
    except ValidationError as error:
        where, problem = first_problem(error, _MODELS)
        raise DataError(path, problem, field=where) from None
    services = tuple(Service(each.name, each.start, each.ready) for each in parsed.services)
    wheel = (path.parent / parsed.wheel).absolute() if parsed.wheel else None
    if wheel and not wheel.is_file():
        raise DataError(path, f"there is no file {wheel}", field="wheel")
    return Declaration(services, tuple(parsed.system_packages), dict(parsed.env), wheel)
