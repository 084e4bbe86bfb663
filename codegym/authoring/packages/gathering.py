"""All that can be known of a package, repository or folder without running any of it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from codegym.authoring.packages.compiled import (
    fetch_wheel,
    native_part,
    read_compiled,
    refuse_native,
)
from codegym.authoring.packages.declared import Declared
from codegym.authoring.packages.fetching import Fetcher
from codegym.authoring.packages.folders import read_folder
from codegym.authoring.packages.index import Requested, fetch_sdist, find_sdist
from codegym.authoring.packages.layout import Layout, find_layout, with_metadata
from codegym.authoring.packages.limits import require_workspace
from codegym.authoring.packages.locking import UnmetError, resolve
from codegym.authoring.packages.metadata import PackageInfo, read_info
from codegym.authoring.packages.needs import constraints, needs_of_tests, requirement_name
from codegym.authoring.packages.projects import (
    Project,
    environment_name,
    generated_files,
    inside,
    read_project,
)
from codegym.authoring.packages.recording import one_commit
from codegym.authoring.packages.references import Cloned, Plain
from codegym.authoring.packages.repositories import export
from codegym.authoring.packages.sdist import unpack_sdist
from codegym.errors import DataError, UsageError
from codegym.grading.progress import Progress
from codegym.network.pip_settings import pip_settings
from codegym.sandbox.images import Pin
from codegym.sandbox.images.lock import normalise
from codegym.types import File, Tree


@dataclass(frozen=True, slots=True)
class Gathered:
    """What is known.

    Attributes:
        name: The environment's.
        reference: What the user can give to have it again.
        info: What the project says of itself.
        layout: Where its parts are, from ``subdir``.
        history: A stream, and the full hash of its newest commit.
        origin: Where it is from, as a sentence without addresses.
        subdir: The project's folder in the repository.
        generated: Files that a build would write.
        env: Variables that stand for what a build would find.
        pinned: Versions that the project's own lock file has.
        compiled: Whether some of these are compiled modules.
        notes: What a user should know, as sentences.
    """

    name: str
    reference: str
    info: PackageInfo
    layout: Layout
    history: tuple[bytes, str]
    origin: str
    subdir: str = "."
    generated: dict[str, File] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    pinned: tuple[str, ...] = ()
    compiled: bool = False
    notes: tuple[str, ...] = ()


def gather(
    source: Requested | Cloned | Plain,
    subdir: str,
    name: str,
    progress: Progress,
    wheel: Path | None = None,
) -> Gathered:
    """Fetch and read.

    Args:
        source: What the user named.
        subdir: The project's folder in it.
        name: The environment's name, or ``""`` for the project's.
        progress: Told what is being done.
        wheel: One of the project's, whose compiled modules are taken.

    Raises:
        UsageError: It cannot be an environment, with the reason.
        NotFoundError: No index has it.
        DataError: It is broken.
        UnavailableError: It cannot be reached.
    """
    if isinstance(source, Requested):
        if subdir != ".":
            raise UsageError("--subdir is for folders and repositories; a package has one project")
        return _from_index(source, name, progress, wheel)
    if isinstance(source, Cloned):
        progress.note(f"cloning {source.address}")
        exported = export(source.address)
        notes = [*exported.notes, *_uncommitted(source.address)]
        where = source.address.rstrip("/").removesuffix(".git").rpartition("/")[2]
        found = _from_tree(exported.tree, subdir, name, where, exported.described, wheel)
        return replace(
            found,
            reference=source.address,
            history=exported.history,
            origin="From a git repository; the history is its own.",
            notes=(*found.notes, *notes),
        )
    tree, newest = read_folder(source.folder)
    found = _from_tree(tree, subdir, name, source.folder.name, "", wheel)
    return replace(
        found,
        reference=str(source.folder),
        history=one_commit(tree, f"{found.info.name} {found.info.version}\n", newest),
        origin="From a folder; the history is one commit with its files.",
    )


def pins_of(found: Gathered) -> tuple[tuple[Pin, ...], tuple[str, ...]]:
    """Resolve what the tests need, without what cannot be had from wheels, if it is theirs alone.

    Versions of the project's own lock file are tried first.

    Returns:
        The pins, and what a user should know of them, as sentences.

    Raises:
        UsageError: What the package itself needs cannot be had.
        UnavailableError: An index did not answer, or pip failed.
    """
    own, for_tests = ["pytest", *found.info.requires], list(found.info.test_requires)
    if found.pinned:
        with contextlib.suppress(UnmetError):
            return resolve([*own, *for_tests], found.pinned), ()
    dropped: list[str] = []
    while for_tests:
        try:
            return resolve([*own, *for_tests]), _without(dropped)
        except UnmetError as error:
            unmet = [one for one in for_tests if requirement_name(one) == error.missing]
            unmet = unmet or for_tests
            dropped += unmet
            for_tests = [one for one in for_tests if one not in unmet]
    return resolve(own), _without(dropped)


def _without(dropped: Sequence[str]) -> tuple[str, ...]:
    if not dropped:
        return ()
    listed = ", ".join(f"`{one}`" for one in dropped)
    return (f"Its tests ask for {listed}, which cannot be had from wheels together with the rest.",)


def _with_compiled(found: Gathered, own: Tree, wheel: Path | None, published: str = "") -> Gathered:
    """Add the compiled modules of a wheel, where a project has parts that are compiled.

    Args:
        found: What is known without them.
        own: The project's files, from its own folder.
        wheel: What the user gave, or None.
        published: ``name==version``, where an index may have a wheel of it.

    Raises:
        UsageError: There is no wheel that fits.
    """
    part = native_part(own)
    if not part and wheel is None:
        return found
    wanted = str(wheel or published)
    fetched = fetch_wheel(wanted) if wanted else None
    if fetched is None:
        given = f"{wanted} does not fit this Python" if wheel else "no wheel of it fits this Python"
        why = given if wanted else "nothing is compiled on the way"
        raise refuse_native(found.reference or found.name, part or "in its wheel", why)
    folder = found.layout.import_path
    home = "" if folder == "." else f"{folder}/"
    modules = {p.removeprefix(home): file for p, file in own.items() if p.startswith(home)}
    compiled = read_compiled(*fetched, modules)
    place = home if found.subdir == "." else f"{found.subdir}/{home}"
    files = {f"{place}{path}": file for path, file in compiled.files.items()}
    return replace(
        found,
        generated={**found.generated, **files},
        compiled=bool(files),
        notes=(*found.notes, *compiled.notes),
    )


def _from_index(
    requested: Requested, name: str, progress: Progress, wheel: Path | None
) -> Gathered:
    progress.note(f"looking for {requested.name} {requested.version}".rstrip())
    settings = pip_settings()
    fetcher = Fetcher(settings)
    sdist = find_sdist(requested, settings, fetcher)
    progress.note(f"fetching {sdist.filename}")
    unpacked = unpack_sdist(fetch_sdist(sdist, fetcher), sdist.filename)
    info = read_info(unpacked.tree, sdist.filename)
    if normalise(info.name) != requested.name:
        raise DataError(sdist.filename, f"is of {info.name!r}, by its own PKG-INFO")
    layout = find_layout(unpacked.tree, sdist.filename)
    if not info.test_requires:
        declared = Declared(name=info.name)
        info = replace(info, test_requires=needs_of_tests(unpacked.tree, declared))
    tree = with_metadata(unpacked.tree, layout, info)
    exact = f"{info.name}=={info.version}"
    found = Gathered(
        name=environment_name(name, requested.name),
        reference=f"pypi:{exact}",
        info=info,
        layout=layout,
        history=one_commit(tree, f"{info.name} {info.version}\n", unpacked.newest),
        origin=(
            f"From `{sdist.filename}`, sha256 `{sdist.sha256}`. The history is one commit with its "
            "files."
        ),
        pinned=constraints(unpacked.tree),
    )
    return _with_compiled(found, unpacked.tree, wheel, exact)


def _from_tree(
    tree: Tree, subdir: str, name: str, where: str, described: str, wheel: Path | None
) -> Gathered:
    require_workspace(tree, where)
    own = inside(tree, subdir)
    fallback = where if subdir == "." else subdir.rpartition("/")[2]
    project = read_project(own, described, fallback)
    layout = find_layout(own, where if subdir == "." else f"{where}/{subdir}")
    prefix = "" if subdir == "." else f"{subdir}/"
    made = generated_files(own, project, layout)
    found = Gathered(
        name=environment_name(name, project.info.name),
        reference="",
        info=project.info,
        layout=layout,
        history=(b"", ""),
        origin="",
        subdir=subdir,
        generated={f"{prefix}{path}": file for path, file in made.items()},
        env=_pretended(project),
        pinned=project.pinned,
    )
    return _with_compiled(found, own, wheel)


def _pretended(project: Project) -> dict[str, str]:
    """The version, for tools that would ask git for it and find one commit without a tag."""
    if not project.by_tags:
        return {}
    own = re.sub(r"[^A-Z0-9]+", "_", project.info.name.upper())
    return {f"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_{own}": project.info.version}


def _uncommitted(address: str) -> list[str]:
    """A reminder that a checkout's newest commit is what counts."""
    if not Path(address, ".git").exists():
        return []
    return ["Its newest commit was taken: what is not committed is not in it."]
