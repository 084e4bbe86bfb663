"""A project's version where a build would find it, and the file that the build would write."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from codegym.authoring.packages.declared import (
    Declared,
    pyproject,
    setup_arguments,
    setup_cfg,
    table,
)
from codegym.types import File, Tree

_DESCRIBED = re.compile(r"(?P<tag>.+)-(?P<distance>\d+)-g[0-9a-f]+")
_IN_TAG = re.compile(r"(\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)?)$")
_ASSIGNED = re.compile(
    r"""^(?:__version__|VERSION|version)\s*(?::[^=]+)?=\s*['"]([\w.!+-]+)['"]""", re.MULTILINE
)
_VERSION = re.compile(r"\d[\w.!+-]*")
_USUAL = ("__init__.py", "__about__.py", "_version.py", "version.py")
_NO_MODULE = ("setup.py", "conftest.py")
UNKNOWN = "0.0.0"


def version_of(tree: Tree, declared: Declared, described: str) -> str:
    """The version: declared, written in a file that is named for it, or told by the nearest tag.

    Args:
        tree: The project.
        declared: What it says of itself.
        described: ``git describe --long`` of its repository, or ``""``.
    """
    if _VERSION.fullmatch(declared.version):
        return declared.version
    if uses_tags(tree):
        return from_tags(described)
    for path in _version_files(tree):
        data = tree[path].data.decode(errors="replace") if path in tree else ""
        found = _ASSIGNED.search(data)
        if found:
            return found[1]
        if not path.endswith(".py") and _VERSION.fullmatch(data.strip()):
            return data.strip()
    return from_tags(described)


def from_tags(described: str) -> str:
    """The tag's version; after it, that of the next one in development, as common tools have it."""
    found = _DESCRIBED.fullmatch(described)
    number = _IN_TAG.search(found["tag"]) if found else None
    if found is None or number is None:
        return UNKNOWN
    if found["distance"] == "0":
        return number[1]
    parts = re.match(r"\d+(?:\.\d+)*", number[1])
    numbers = (parts[0] if parts else "0").split(".")
    following = [*numbers[:-1], str(int(numbers[-1]) + 1)]
    return f"{'.'.join(following)}.dev{found['distance']}"


def uses_tags(tree: Tree) -> bool:
    """Whether a build takes the version from the repository's tags."""
    whole = pyproject(tree)
    needed = " ".join(map(str, table(whole, "build-system").get("requires", ())))
    named = ("setuptools_scm", "setuptools-scm", "hatch-vcs", "versioningit", "dynamic-versioning")
    if any(name in needed for name in named) or "use_scm_version" in setup_arguments(tree):
        return True
    pdm = table(whole, "tool", "pdm", "version").get("source") == "scm"
    return pdm or bool(table(whole, "tool", "setuptools_scm"))


def generated_version(tree: Tree, version: str) -> dict[str, File]:
    """The files that a build would write the version to, where the tree lacks them."""
    whole = pyproject(tree)
    scm = table(whole, "tool", "setuptools_scm")
    hatch = table(whole, "tool", "hatch", "build", "hooks", "vcs")
    pdm = table(whole, "tool", "pdm", "version")
    named = [scm.get("version_file"), scm.get("write_to"), hatch.get("version-file")]
    written = pdm.get("write_to")
    named += [f"{folder}{written}" for folder in ("src/", "") if written]
    told = setup_arguments(tree).get("use_scm_version")
    named.append(told.get("write_to") if isinstance(told, dict) else None)
    return {
        path: File(_content(path, version))
        for each in named
        if isinstance(each, str) and _is_at_home(path := posixpath.normpath(each), tree)
    }


def _is_at_home(path: str, tree: Tree) -> bool:
    folder = posixpath.dirname(path)
    return path not in tree and any(other.startswith(f"{folder}/") for other in tree)


def _content(path: str, version: str) -> bytes:
    if not path.endswith(".py"):
        return f"{version}\n".encode()
    parts = tuple(int(part) if part.isdigit() else part for part in re.split(r"[.+]", version))
    return (
        f"__version__ = version = {version!r}\n__version_tuple__ = version_tuple = {parts!r}\n"
        "__commit_id__ = commit_id = None\n"
    ).encode()


def _version_files(tree: Tree) -> Iterator[str]:
    """Files that are named as holding the version, then those that commonly do."""
    whole = pyproject(tree)
    stated = table(whole, "tool", "setuptools", "dynamic").get("version")
    dynamic = stated if isinstance(stated, dict) else {}
    attribute = str(dynamic.get("attr", ""))
    cfg = setup_cfg(tree).get("metadata", "version", fallback="") or ""
    kind, _, value = cfg.partition(":")
    attribute = value.strip() if kind == "attr" else attribute
    yield from _modules(attribute.rpartition(".")[0])
    file = dynamic.get("file", value.strip() if kind == "file" else "")
    yield from [file] if isinstance(file, str) else map(str, file)
    yield str(table(whole, "tool", "hatch", "version").get("path", ""))
    yield str(table(whole, "tool", "pdm", "version").get("path", ""))
    for path in tree:
        name = path.rpartition("/")[2]
        depth = path.removeprefix("src/").count("/")
        in_package = depth == 1 and name in _USUAL
        if in_package or (depth == 0 and path.endswith(".py") and name not in _NO_MODULE):
            yield path


def _modules(module: str) -> Iterator[str]:
    if module:
        path = module.replace(".", "/")
        for prefix in ("", "src/"):
            yield f"{prefix}{path}.py"
            yield f"{prefix}{path}/__init__.py"
