"""A repository's project: what it is called, what it needs, and what a build would add to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from codegym.authoring.packages.declared import Declared, read_declared
from codegym.authoring.packages.layout import Layout
from codegym.authoring.packages.metadata import PackageInfo, license_expression, python_specifier
from codegym.authoring.packages.needs import constraints, needs_of_tests, own_needs
from codegym.authoring.packages.versions import generated_version, uses_tags, version_of
from codegym.errors import UsageError
from codegym.sandbox.images.lock import normalise
from codegym.types import File, Tree


@dataclass(frozen=True, slots=True)
class Project:
    """What was found of a project.

    Attributes:
        info: What it says of itself.
        pinned: Versions that its own lock file has, as constraints.
        declared: All that it declares.
        by_tags: Whether a build takes its version from tags.
    """

    info: PackageInfo
    pinned: tuple[str, ...]
    declared: Declared
    by_tags: bool


def inside(tree: Tree, subdir: str) -> Tree:
    """A folder of a tree as a tree. Raises ``UsageError`` where it is not there."""
    if subdir == ".":
        return tree
    prefix = f"{subdir}/"
    found = {p.removeprefix(prefix): file for p, file in tree.items() if p.startswith(prefix)}
    if not found:
        tops = sorted({path.partition("/")[0] for path in tree if "/" in path})
        raise UsageError(f"--subdir {subdir}: no such folder; there are {', '.join(tops[:12])}")
    return found


def read_project(tree: Tree, described: str, fallback: str) -> Project:
    """Read a project's files as text.

    Args:
        tree: Its files, from its own folder.
        described: What ``git describe --long`` says of the repository, or ``""``.
        fallback: Its name where it declares none.

    Raises:
        DataError: A file cannot be read.
    """
    declared = read_declared(tree)
    name = declared.name or fallback
    version = version_of(tree, declared, described)
    requires = own_needs(tree, declared)
    info = PackageInfo(
        name=name,
        version=version,
        summary=declared.summary or name,
        license=license_expression(declared.license),
        python=python_specifier(declared.python),
        requires=requires,
        test_requires=needs_of_tests(tree, declared),
        text=_metadata(name, version, declared, requires),
    )
    return Project(info, constraints(tree), declared, uses_tags(tree))


def generated_files(tree: Tree, project: Project, layout: Layout) -> dict[str, File]:
    """What installing the project would write that it can be missed for: version and metadata."""
    info = project.info
    prefix = "" if layout.import_path == "." else f"{layout.import_path}/"
    folder = f"{prefix}{normalise(info.name).replace('-', '_')}-{info.version}.dist-info"
    files = generated_version(tree, info.version) if project.by_tags else {}
    files[f"{folder}/METADATA"] = File(info.text)
    if entries := _entry_points(project.declared):
        files[f"{folder}/entry_points.txt"] = File(entries)
    return files


def environment_name(stated: str, fallback: str) -> str:
    """The name that was stated, or one made of the project's. Raises ``UsageError``."""
    name = stated or normalise(re.sub(r"[^A-Za-z0-9._-]+", "-", fallback)).strip("-")
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        raise UsageError(
            f"{name or fallback!r} cannot name an environment: give --name one of lower case, "
            "digits, '.', '_' and '-'"
        )
    return name


def _metadata(name: str, version: str, declared: Declared, requires: tuple[str, ...]) -> bytes:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Summary: {declared.summary}"] if declared.summary else []
    lines += [f"Requires-Python: {declared.python}"] if declared.python else []
    lines += [f"Requires-Dist: {each}" for each in requires]
    return ("\n".join(lines) + "\n").encode()


def _entry_points(declared: Declared) -> bytes:
    groups = dict(declared.entry_points)
    if declared.scripts:
        groups["console_scripts"] = declared.scripts
    parts = []
    for group, entries in sorted(groups.items()):
        parts.append(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in sorted(entries.items())))
    return "\n".join(parts).encode()
