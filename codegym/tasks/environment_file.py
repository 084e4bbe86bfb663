"""The keys of ``environment.toml``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal, Self

import pathspec
from pydantic import AfterValidator, BaseModel, Field, model_validator

from codegym.tasks.edge import Keys, Strict, require_inside
from codegym.types import Limits

_SPECIFIER = re.compile(r"\s*(>=|<=|==|!=|~=|>|<)\s*\d+(\.\d+)*(\.\*)?\s*")
_LICENSE_WORD = re.compile(r"\(*[A-Za-z0-9][A-Za-z0-9.+-]*(:[A-Za-z0-9.+-]+)?\)*")


def _python_specifier(value: str) -> str:
    if not all(_SPECIFIER.fullmatch(part) for part in value.split(",")):
        raise ValueError(f"{value!r} is no version specifier, such as '>=3.11,<3.14'")
    return value


def _license(value: str) -> str:
    words = value.split()
    operators = all(word in ("AND", "OR", "WITH") for word in words[1::2])
    names = len(words) % 2 == 1 and all(_LICENSE_WORD.fullmatch(word) for word in words[::2])
    if not operators or not names or value.count("(") != value.count(")"):
        raise ValueError(f"{value!r} is no SPDX expression, such as 'MIT' or 'MIT OR Apache-2.0'")
    return value


def _glob(value: str) -> str:
    if not value.strip() or value.startswith(("!", "#")) or not value.isprintable():
        raise ValueError(f"{value!r} is no glob (exceptions with '!' and comments are not allowed)")
    if value.startswith("/") or ".." in value.split("/"):
        raise ValueError(f"{value!r} must be a relative glob inside the repository")
    try:
        pathspec.GitIgnoreSpec.from_lines([value])
    except ValueError as error:
        raise ValueError(f"{value!r} is no glob: {error}") from error
    return value


def _selector(value: str) -> str:
    require_inside(value.split("::", maxsplit=1)[0])
    return value


def _shaped(pattern: str, what: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if re.fullmatch(pattern, value) is None:
            raise ValueError(f"{value!r} is no {what}")
        return value

    return check


def _require_unique(values: Sequence[str]) -> None:
    for position, value in enumerate(values):
        if value in values[:position]:
            raise ValueError(f"the name {value!r} is there twice")


_NAME = r"[a-z0-9][a-z0-9._-]{0,63}"
Name = Annotated[str, AfterValidator(_shaped(_NAME, "name (lower case, digits, '.', '_', '-')"))]
Text = Annotated[str, Field(min_length=1)]
Inside = Annotated[str, AfterValidator(require_inside)]
Selector = Annotated[str, AfterValidator(_selector)]
Glob = Annotated[str, AfterValidator(_glob)]
Spdx = Annotated[str, AfterValidator(_license)]
Variable = Annotated[str, AfterValidator(_shaped(r"[A-Za-z_][A-Za-z0-9_]*", "variable name"))]
_ALIAS = r"@?[A-Za-z0-9][A-Za-z0-9._/-]*"
Alias = Annotated[str, AfterValidator(_shaped(_ALIAS, "project's name on a package index"))]
Package = Annotated[str, AfterValidator(_shaped(r"[a-z0-9][a-z0-9+.:-]*", "system package"))]
Runner = Annotated[
    str, AfterValidator(_shaped(rf"{_NAME}|[\w.]+:\w+", "runner (a name, or module:attr)"))
]
Hash = Annotated[
    str, AfterValidator(_shaped(r"[0-9a-f]{40}|[0-9a-f]{64}", "full commit hash, in lower case"))
]
Digest = Annotated[
    str,
    AfterValidator(_shaped(r"|([\w./:-]+@)?sha256:[0-9a-f]{64}", "digest ('NAME@sha256:…')")),
]
_DOTTED = r"[^\W\d]\w*(\.[^\W\d]\w*)+"
Class = Annotated[str, AfterValidator(_shaped(_DOTTED, "class ('module.Class')"))]
Attribute = Annotated[str, AfterValidator(_shaped(r"[^\W\d]\w*", "attribute's name"))]
Toolchain = Literal["c", "go", "java", "node", "rust"]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


class ImageTable(Strict):
    """``[image]``."""

    python: Annotated[str, AfterValidator(_python_specifier)] = ">=3.11"
    requirements: Inside | None = None
    dockerfile: Inside | None = None
    digest: Digest = ""
    root: Literal["listed", "dockerfile"] = "listed"
    system_packages: list[Package] = Field(default_factory=list)
    env: dict[Variable, str] = Field(default_factory=dict)
    install: list[Text] = Field(default_factory=list)
    build: list[Text] = Field(default_factory=list)
    import_paths: list[Inside] = Field(default_factory=list)
    build_secrets: list[Variable] = Field(default_factory=list)
    toolchains: list[Toolchain] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_image(self) -> Self:
        if self.dockerfile and self.digest:
            raise ValueError("'dockerfile' and 'digest' exclude each other")
        if self.root == "dockerfile" and not self.dockerfile:
            raise ValueError("'root' is \"dockerfile\", so 'dockerfile' must name one")
        if self.root == "dockerfile" and self.toolchains:
            raise ValueError(
                "'toolchains' are files of this machine: leave them out, and install what is "
                'needed in the Dockerfile; or set root = "listed"'
            )
        _require_unique(self.toolchains)
        if self.root == "dockerfile" and (self.install or self.build):
            raise ValueError(
                "'install' and 'build' run in the tree, which no Docker image may hold: "
                'leave them out, or set root = "listed"'
            )
        return self


#: What a suite may say of how it is built and run.
OPTIONS = frozenset({"build", "command", "reports"})
#: Of those, what each runner of ours needs, and what it may have besides; others are free.
RUNNER_OPTIONS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "pytest": (frozenset(), frozenset()),
    "unittest": (frozenset(), frozenset()),
    "node": (frozenset(), frozenset({"build"})),
    "cargo": (frozenset(), frozenset()),
    "go": (frozenset(), frozenset()),
    "tap": (frozenset({"command"}), frozenset({"build"})),
    "junit": (frozenset({"command", "reports"}), frozenset({"build"})),
}


class SuiteTable(Strict):
    """One of ``[[suites]]``."""

    name: Name
    runner: Runner = "pytest"
    select: Annotated[list[Selector], Field(min_length=1)]
    deselect: list[Selector] = Field(default_factory=list)
    import_paths: list[Inside] = Field(default_factory=list)
    config: list[Inside] = Field(default_factory=list)
    timeout_sec: Seconds = 120.0
    projections: dict[Class, Annotated[list[Attribute], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    build: list[Text] = Field(default_factory=list)
    command: str = ""
    reports: list[Glob] = Field(default_factory=list)

    @model_validator(mode="after")
    def _fit_for_its_runner(self) -> Self:
        given = {key for key in OPTIONS if getattr(self, key)}
        required, optional = RUNNER_OPTIONS.get(self.runner, (frozenset(), OPTIONS))
        if unknown := sorted(given - required - optional):
            known = ", ".join(sorted(required | optional)) or "none"
            raise ValueError(
                f"the runner {self.runner!r} takes no {unknown[0]!r} (of build, command and "
                f"reports it takes: {known})"
            )
        if missing := sorted(required - given):
            raise ValueError(f"the runner {self.runner!r} needs {missing[0]!r}")
        return self


class ServiceTable(Strict):
    """One of ``services``."""

    name: Name
    start: Text
    ready: Text


class EditsTable(Strict):
    """``[edits]``."""

    permitted: Annotated[list[Glob], Field(min_length=1)]
    protected: list[Glob] = Field(default_factory=list)


_LIMITS = Limits()


class LimitsTable(Strict):
    """``[limits]``."""

    memory_mb: Annotated[int, Field(ge=16)] = _LIMITS.memory_mb
    disk_mb: Annotated[int, Field(ge=1)] = _LIMITS.disk_mb
    processes: Annotated[int, Field(ge=8)] = _LIMITS.processes
    files: Annotated[int, Field(ge=100)] = _LIMITS.files
    cpus: Annotated[float, Field(ge=0, allow_inf_nan=False)] = _LIMITS.cpus
    command_timeout_sec: Seconds = 120.0


class EnvironmentFile(Strict):
    """The whole file."""

    name: Name
    summary: Text
    language: Name
    license: Spdx
    history: Inside
    head: Hash
    generated: Inside | None = None
    subdir: Inside = "."
    aliases: list[Alias] = Field(default_factory=list)
    drawn: bool = True
    services: list[ServiceTable] = Field(default_factory=list)
    image: ImageTable = ImageTable()
    suites: Annotated[list[SuiteTable], Field(min_length=1)]
    edits: EditsTable
    limits: LimitsTable = LimitsTable()

    @model_validator(mode="after")
    def _unique_names(self) -> Self:
        _require_unique([suite.name for suite in self.suites])
        _require_unique([service.name for service in self.services])
        return self


MODELS: dict[Keys, type[BaseModel]] = {
    (): EnvironmentFile,
    ("image",): ImageTable,
    ("suites",): SuiteTable,
    ("services",): ServiceTable,
    ("edits",): EditsTable,
    ("limits",): LimitsTable,
}
