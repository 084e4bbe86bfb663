"""What tests need, from all the places where projects write it down."""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from codegym.authoring.packages.declared import Declared, ini, pyproject, table
from codegym.errors import DataError
from codegym.sandbox.images.lock import normalise
from codegym.types import Tree

#: Extras and dependency groups that are read for tests, in this order of trust.
TEST_NAMES = ("test", "tests", "testing", "dev", "develop", "development")
_FILES = re.compile(
    r"(?:requirements/)?(?:requirements[-_.])?(?:tests?|testing|dev|develop)"
    r"(?:[-_.]requirements)?\.(?:txt|in|pip)"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[\w., -]*\])?\s*(?:[(<>=!~;].*)?")
#: Of what developers install, these run no test.
_TOOLS = frozenset({
    "autopep8", "bandit", "black", "build", "bump2version", "codecov", "codespell", "coverage",
    "coveralls", "flake8", "furo", "invoke", "isort", "mkdocs", "mkdocs-material", "mypy", "nox",
    "pip", "pip-tools", "pre-commit", "pylint", "pyright", "pytest-cov", "pytest-xdist",
    "pyupgrade", "ruff", "setuptools", "sphinx", "sphinx-rtd-theme", "tox", "twine", "ty", "uv",
    "virtualenv", "wheel",
})  # fmt: skip


def needs_of_tests(tree: Tree, declared: Declared) -> tuple[str, ...]:
    """What the tests need besides the package's own needs.

    The first of these that names anything: extras and groups for tests; ``tox.ini``; files of
    requirements for tests; extras and groups for developers.

    Raises:
        DataError: One of the files is not what its name says.
    """
    groups = {name: tuple(_group(tree, name)) for name in _groups(tree)}
    stated = [[*declared.extras.get(name, ()), *groups.get(name, ())] for name in TEST_NAMES]
    tests = [each for one in stated[:3] for each in one]
    developers = [each for one in stated[3:] for each in one]
    for found in (tests, list(_tox(tree)), list(_files(tree)), developers):
        if kept := _kept(found, declared):
            return kept
    return ()


def own_needs(tree: Tree, declared: Declared) -> tuple[str, ...]:
    """What the package needs to run; ``requirements.txt`` where it declares nothing."""
    listed = declared.requires or tuple(_requirements(tree, "requirements.txt", set()))
    return _kept(listed, declared, tools=frozenset())


def constraints(tree: Tree) -> tuple[str, ...]:
    """Versions that a lock file of the repository pins, as ``name==version``."""
    for name in ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock"):
        if name in tree:
            versions = _locked(name, tree[name].data)
            return tuple(f"{key}=={value}" for key, value in sorted(versions.items()))
    return ()


def requirement_name(requirement: str) -> str:
    """The normalised name that a requirement begins with; ``""`` where there is none."""
    found = _NAME.match(requirement.strip())
    return normalise(found[0]) if found else ""


def _locked(name: str, data: bytes) -> dict[str, str]:
    try:
        whole = json.loads(data) if name == "Pipfile.lock" else tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise DataError(name, f"cannot be read: {error}") from error
    versions: dict[str, str] = {}
    if name == "Pipfile.lock":
        for part in ("default", "develop"):
            for key, each in table(whole, part).items():
                version = each.get("version", "") if isinstance(each, dict) else ""
                versions[normalise(key)] = str(version).removeprefix("==")
    else:
        for each in whole.get("package", whole.get("packages", [])):
            versions[normalise(str(each.get("name", "")))] = str(each.get("version", ""))
    return {k: v for k, v in versions.items() if k and re.fullmatch(r"[\w.!+-]+", v)}


def _groups(tree: Tree) -> Mapping[str, Any]:
    return table(pyproject(tree), "dependency-groups")


def _group(tree: Tree, name: str, seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """A dependency group with those that it includes."""
    listed = _groups(tree).get(name)
    for each in listed if isinstance(listed, list) and name not in seen else ():
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict) and isinstance(each.get("include-group"), str):
            yield from _group(tree, each["include-group"], seen | {name})


def _tox(tree: Tree) -> Iterator[str]:
    deps = ini(tree, "tox.ini").get("testenv", "deps", fallback="") or ""
    for line in deps.splitlines():
        factor, colon, rest = line.partition(":")
        text = rest if colon and re.fullmatch(r"[\s\w.,{}!-]+", factor) else line
        yield from _line(tree, text, "", set())


def _files(tree: Tree) -> Iterator[str]:
    for path in tree:
        if _FILES.fullmatch(path):
            yield from _requirements(tree, path, set())


def _requirements(tree: Tree, path: str, seen: set[str]) -> Iterator[str]:
    """A file of requirements with those that it names."""
    if path in seen or path not in tree:
        return
    seen.add(path)
    try:
        text = tree[path].data.decode()
    except UnicodeDecodeError as error:
        raise DataError(path, f"cannot be read: {error}") from error
    for line in re.sub(r"\\\n", " ", text).splitlines():
        yield from _line(tree, line, posixpath.dirname(path), seen)


def _line(tree: Tree, line: str, folder: str, seen: set[str]) -> Iterator[str]:
    """One line; options, addresses and paths name nothing that an index has."""
    text = re.sub(r"(?:^|\s)#.*", "", line).partition(" --hash")[0].strip()
    included = re.fullmatch(r"(?:-r|--requirement)[\s=]*(\S+)", text)
    if included:
        path = posixpath.normpath(posixpath.join(folder, included[1]))
        yield from _requirements(tree, path, seen)
    elif _REQUIREMENT.fullmatch(text):
        yield " ".join(text.split())


def _kept(
    found: tuple[str, ...] | list[str], declared: Declared, tools: frozenset[str] = _TOOLS
) -> tuple[str, ...]:
    """Without tools, doubles and the project itself (whose named extras stand for it)."""
    kept: list[str] = []
    waiting, own, opened = list(found), normalise(declared.name or "-"), set[str]()
    while waiting:
        each = waiting.pop(0)
        name = _NAME.match(each)
        if name is None or normalise(name[0]) in tools:
            continue
        if normalise(name[0]) != own:
            kept.append(each)
            continue
        inside = re.search(r"\[([\w., -]*)\]", each)
        for extra in re.split(r"[,\s]+", inside[1]) if inside else ():
            if extra not in opened:
                opened.add(extra)
                waiting.extend(declared.extras.get(extra, ()))
    return tuple(dict.fromkeys(kept))
