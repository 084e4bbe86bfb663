"""An environment: a repository, its image and its suites, as ``environment.toml`` says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from codegym.errors import DataError, NotFoundError
from codegym.tasks import environment_file as edge
from codegym.tasks.toml_file import line_of, read_toml
from codegym.types import Limits

FILE_NAME = "environment.toml"


@dataclass(frozen=True, slots=True)
class Suite:
    """One test suite of a repository.

    Attributes:
        name: Unique in the environment.
        runner: A runner's name, or ``module:attr``.
        select: Files, folders or test ids that make it up, relative to ``subdir``.
        deselect: Files, folders or test ids that are left out.
        import_paths: Folders that its tests import from.
        config: Files that configure it; laid over from the trusted copy.
        timeout_sec: Wall time of one run of all of it.
        projections: Classes, as ``module.Class``, whose instances are equal where the attributes
            named with them are: so that an assertion about such an object can be observed.
        build: Shell commands that make what is run, in the project's folder.
        command: Shell command that runs tests; ``{file}`` and ``{stem}`` stand for a file of tests.
        reports: Globs of the reports that it writes, in the project's folder.
    """

    name: str
    runner: str
    select: tuple[str, ...]
    deselect: tuple[str, ...]
    import_paths: tuple[str, ...]
    config: tuple[str, ...]
    timeout_sec: float
    projections: tuple[tuple[str, tuple[str, ...]], ...] = ()
    build: tuple[str, ...] = ()
    command: str = ""
    reports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Service:
    """A process that tests need; ``start`` and ``ready`` are shell commands inside the sandbox."""

    name: str
    start: str
    ready: str


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """What an environment's image is made of.

    Attributes:
        python: A version specifier, for example ``">=3.11"``.
        requirements: Lock file of pinned dependencies, or None.
        dockerfile: For container backends, or None.
        digest: A ready image in place of ``dockerfile`` (``"python@sha256:…"``), or ``""``.
        system_packages: Packages of the system that it needs.
        env: Variables of every process in the sandbox.
        install: Shell commands that install what is not in ``requirements``.
        build: Shell commands that build the repository, run in its tree.
        import_paths: Folders of the tree that Python imports from.
        build_secrets: Names of the host's variables that a build may read; never in a layer.
        root: What sandboxes start from: ``"listed"``, files of this machine; or ``"dockerfile"``,
            what that makes.
        toolchains: Compilers and interpreters of this machine that it needs, by language.
    """

    python: str
    requirements: Path | None
    dockerfile: Path | None
    digest: str
    system_packages: tuple[str, ...]
    env: Mapping[str, str]
    install: tuple[str, ...]
    build: tuple[str, ...]
    import_paths: tuple[str, ...]
    build_secrets: tuple[str, ...]
    root: str = "listed"
    toolchains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edits:
    """Where a policy may edit: globs as in a ``.gitignore`` (``pathspec.GitIgnoreSpec``).

    ``protected`` wins over ``permitted``: grading lays such paths over from the trusted copy.
    """

    permitted: tuple[str, ...]
    protected: tuple[str, ...]


@dataclass(frozen=True)
class Environment:
    """A repository made into an environment.

    Attributes:
        folder: Where ``environment.toml`` lies.
        history: The repository's true history, in git's fast-export format.
        head: Full hash of its newest commit.
        generated: Files that a build of the repository would write and its import needs (a
            version, metadata): path in the repository to file. Every tree has them where it has
            no such file.
        subdir: The project's folder in the repository; ``"."`` for the root.
        aliases: Other names that it has on package indexes, and those of forks and of whatever
            holds a copy of it: where a policy lets packages be installed, these are not there.
        drawn: Whether its tasks are among those of all bundled environments; else they are played
            where they are named.
        command_timeout_sec: Wall time of one command of a policy.
    """

    name: str
    summary: str
    language: str
    license: str
    folder: Path
    history: Path
    head: str
    subdir: str
    image: ImageSpec
    suites: tuple[Suite, ...]
    services: tuple[Service, ...]
    edits: Edits
    limits: Limits
    command_timeout_sec: float
    aliases: tuple[str, ...] = ()
    drawn: bool = True
    generated: Mapping[str, Path] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over ``environment.toml`` and the files that it names."""
        parts = (
            self.folder / FILE_NAME,
            self.image.requirements,
            self.image.dockerfile,
            self.history,
            *self.generated.values(),
        )
        total = hashlib.sha256("\0".join(self.generated).encode())
        for part in parts:
            content = b"" if part is None else hashlib.sha256(part.read_bytes()).digest()
            total.update(len(content).to_bytes(8, "big") + content)
        return total.hexdigest()

    def suite(self, name: str) -> Suite:
        """Return one suite. Raises ``NotFoundError``."""
        for suite in self.suites:
            if suite.name == name:
                return suite
        known = [suite.name for suite in self.suites]
        raise NotFoundError(f"suite of environment {self.name!r}", name, known)


def load_environment(folder: Path) -> Environment:
    """Read an environment's folder.

    Raises:
        DataError: ``environment.toml`` is missing or wrong, or a file that it names is not there;
            says file, line where known, key, and the nearest known key.
    """
    folder = folder.absolute()
    missing = "no such file; every environment's folder has one"
    path, model = folder / FILE_NAME, edge.EnvironmentFile
    text, parsed = read_toml(path, model, edge.MODELS, missing=missing)
    return _from_file(folder, text, parsed)


def _from_file(folder: Path, text: str, parsed: edge.EnvironmentFile) -> Environment:
    def named(key: str, name: str) -> Path:
        """Return a file that ``environment.toml`` names; it must lie in the folder."""
        found = folder / name
        if found.is_file() and found.resolve().is_relative_to(folder.resolve()):
            return found
        problem = "leads out of the folder" if found.is_file() else f"no such file in {folder}"
        raise DataError(
            folder / FILE_NAME, f"{name!r}: {problem}", line=line_of(text, key), field=key
        )

    image, limits = parsed.image, parsed.limits
    requirements, dockerfile = image.requirements, image.dockerfile
    return Environment(
        name=parsed.name,
        summary=parsed.summary,
        language=parsed.language,
        license=parsed.license,
        folder=folder,
        history=named("history", parsed.history),
        head=parsed.head,
        subdir=parsed.subdir,
        aliases=tuple(parsed.aliases),
        drawn=parsed.drawn,
        image=ImageSpec(
            python=image.python,
            requirements=named("image.requirements", requirements) if requirements else None,
            dockerfile=named("image.dockerfile", dockerfile) if dockerfile else None,
            digest=image.digest,
            system_packages=tuple(image.system_packages),
            env=dict(image.env),
            install=tuple(image.install),
            build=tuple(image.build),
            import_paths=tuple(image.import_paths),
            build_secrets=tuple(image.build_secrets),
            root=image.root,
            toolchains=tuple(image.toolchains),
        ),
        suites=tuple(_suite(suite) for suite in parsed.suites),
        services=tuple(Service(s.name, s.start, s.ready) for s in parsed.services),
        edits=Edits(tuple(parsed.edits.permitted), tuple(parsed.edits.protected)),
        limits=Limits(
            limits.memory_mb, limits.disk_mb, limits.processes, limits.files, limits.cpus
        ),
        command_timeout_sec=limits.command_timeout_sec,
        generated=_generated(folder, parsed.generated) if parsed.generated else {},
    )


def _generated(folder: Path, name: str) -> dict[str, Path]:
    """The files below a folder of the environment's, in order."""
    top = folder / name
    found = {
        path.relative_to(top).as_posix(): path
        for path in sorted(top.rglob("*"))
        if path.is_file() and path.resolve().is_relative_to(folder.resolve())
    }
    if not found:
        raise DataError(folder / FILE_NAME, f"{name!r} holds no file", field="generated")
    return found


def _suite(suite: edge.SuiteTable) -> Suite:
    return Suite(
        name=suite.name,
        runner=suite.runner,
        select=tuple(suite.select),
        deselect=tuple(suite.deselect),
        import_paths=tuple(suite.import_paths),
        config=tuple(suite.config),
        timeout_sec=suite.timeout_sec,
        projections=tuple((name, tuple(each)) for name, each in suite.projections.items()),
        build=tuple(suite.build),
        command=suite.command,
        reports=tuple(suite.reports),
    )
