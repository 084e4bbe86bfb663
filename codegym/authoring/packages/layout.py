"""How a source distribution is laid out: where its package, its tests and their settings are."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass

from codegym.authoring.packages.declared import (
    ini,
    pyproject,
    setup_arguments,
    setup_cfg,
    table,
    texts,
)
from codegym.authoring.packages.metadata import PackageInfo
from codegym.errors import UsageError
from codegym.grading.configuration import OWN, SHARED, pytest_part
from codegym.sandbox.images.lock import normalise
from codegym.types import File, Tree
from codegym.workspace.names import folders_of

_PROJECT = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})
_ARCHIVES = (".tar.gz", ".tgz", ".zip")
_PATTERNS = ("test_*.py", "*_test.py")
_TEST_CLASS = re.compile(rb"^class\s+\w+\([^)]*Test", re.MULTILINE)
_TEST_FILE = re.compile(r"(?:test_.*|.*_test)\.py")
_NO_PACKAGE = frozenset({
    "bench", "benchmark", "benchmarks", "doc", "docs", "example", "examples", "scripts", "test",
    "testing", "tests", "tools",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are in a tree.

    Attributes:
        import_path: The folder that Python imports from: ``"."``, ``"src"`` or what a build names.
        packages: Top folders and files that are the package's own.
        tests: Folders and files that hold its tests.
        config: Files that configure pytest, and all conftests; the one that pytest reads first.
    """

    import_path: str
    packages: tuple[str, ...]
    tests: tuple[str, ...]
    config: tuple[str, ...]


def find_layout(tree: Tree, filename: str) -> Layout:
    """Find package and tests.

    Raises:
        UsageError: It has no package or no tests.
    """
    import_path, packages = next(
        (
            (folder, found)
            for folder in _import_folders(tree)
            if (found := _packages(tree, "" if folder == "." else f"{folder}/"))
        ),
        (".", _modules(tree)),
    )
    if not packages:
        raise UsageError(
            f"{filename} holds no package: no folder with an __init__.py, no module. "
            "Where it is in a folder of its own, name that with --subdir"
        )
    tests = _test_roots(tree)
    if not tests:
        raise UsageError(
            f"{filename} holds no tests for pytest or unittest (test_*.py). "
            + (
                "Many projects leave them out of what they publish: add their repository instead"
                if filename.endswith(_ARCHIVES)
                else "; ".join(several_projects(tree)) or "Add some: tasks are made of tests"
            )
        )
    return Layout(import_path, tuple(packages), tests, _config(tree))


def several_projects(tree: Tree) -> list[str]:
    """What to say where projects lie below a tree's top; nothing where none does."""
    folders = {path.rpartition("/")[0] for path in tree if path.rpartition("/")[2] in _PROJECT}
    below = sorted(f for f in folders if f and not _NO_PACKAGE.intersection(f.split("/")))
    shown = ", ".join(below[:4]) + (", …" if below[4:] else "")
    return [f"There are projects below it: {shown}. Name one with --subdir."] if below else []


def with_metadata(tree: Tree, layout: Layout, info: PackageInfo) -> Tree:
    """The tree with what ``importlib.metadata`` reads, where it is not there already."""
    prefix = "" if layout.import_path == "." else f"{layout.import_path}/"
    for folder in folders_of(tree):
        name = folder.removeprefix(prefix)
        at_top = folder.startswith(prefix) and "/" not in name
        if at_top and name.endswith((".egg-info", ".dist-info")):
            return tree
    name = normalise(info.name).replace("-", "_")
    path = f"{prefix}{name}-{info.version}.dist-info/METADATA"
    return dict(sorted({**tree, path: File(info.text)}.items()))


def _tops(tree: Tree, prefix: str) -> set[str]:
    inner = (path.removeprefix(prefix) for path in tree if path.startswith(prefix))
    return {path.partition("/")[0] for path in inner if "/" in path}


def _import_folders(tree: Tree) -> list[str]:
    """Where packages may be: where a build looks, then where most projects have them."""
    find = table(pyproject(tree), "tool", "setuptools", "packages", "find").get("where")
    named = [*texts(find), setup_cfg(tree).get("options.packages.find", "where", fallback="") or ""]
    folders = setup_arguments(tree).get("package_dir")
    named.append(str(folders.get("", "")) if isinstance(folders, dict) else "")
    tidy = [posixpath.normpath(each) for each in named if each]
    return list(dict.fromkeys([*(each for each in tidy if each != "."), "src", ".", "lib"]))


def _packages(tree: Tree, prefix: str) -> list[str]:
    """Packages below a folder; where there is none, packages without an ``__init__.py``."""
    names = sorted(name for name in _tops(tree, prefix) if name.isidentifier())
    names = [name for name in names if name not in _NO_PACKAGE]
    regular = [prefix + name for name in names if f"{prefix}{name}/__init__.py" in tree]
    if regular:
        return regular
    inner = re.compile(rf"{re.escape(prefix)}(\w+)/(?:\w+/){{1,3}}__init__\.py")
    found = {match[1] for path in tree if (match := inner.fullmatch(path))}
    spaces = [prefix + name for name in names if name in found and name != "lib"]
    if spaces or not prefix:
        return spaces
    loose = {path.removeprefix(prefix) for path in tree if path.startswith(prefix)}
    return sorted(prefix + name for name in loose if "/" not in name and name.endswith(".py"))


def _modules(tree: Tree) -> list[str]:
    """Modules that lie at the top, without a package."""
    return sorted(
        path
        for path in tree
        if "/" not in path
        and path.endswith(".py")
        and path not in ("setup.py", "conftest.py", "noxfile.py", "tasks.py", "fabfile.py")
        and _TEST_FILE.fullmatch(path) is None
        and not _is_of_unittest(path, tree[path].data)
    )


def _test_roots(tree: Tree) -> tuple[str, ...]:
    """Folders named ``tests`` or ``test`` that hold any; other test files by themselves."""
    roots, patterns = set(), _file_patterns(tree)
    for path, file in tree.items():
        parts = path.split("/")
        if parts[0] in ("docs", "doc", "examples"):
            continue
        found = any(fnmatch.fnmatchcase(parts[-1], pattern) for pattern in patterns)
        if not found:
            if _is_of_unittest(parts[-1], file.data):
                roots.add(path)  # pytest takes a file that is named, whatever it is called
            continue
        at = next((n for n, part in enumerate(parts[:-1]) if part in ("tests", "test")), None)
        roots.add("/".join(parts[: at + 1]) if at is not None else path)
    return tuple(sorted(roots))


def _file_patterns(tree: Tree) -> tuple[str, ...]:
    """What the file that configures pytest calls test files, else what pytest does."""
    for path in _config(tree):
        name = path.rpartition("/")[2]
        if name in (".pytest.toml", "pytest.toml", "conftest.py"):
            continue
        if name == "pyproject.toml":
            stated = table(pyproject(tree), "tool", "pytest", "ini_options").get("python_files", "")
        else:
            section = "tool:pytest" if name == "setup.cfg" else "pytest"
            stated = ini(tree, name).get(section, "python_files", fallback="") or ""
        return texts(stated) or tuple(str(stated).split()) or _PATTERNS
    return _PATTERNS


def _is_of_unittest(name: str, data: bytes) -> bool:
    """Whether it is one of unittest's files by a name of its own, such as ``tests.py``."""
    named = name.startswith("test") and name.endswith(".py")
    return named and b"def test" in data and _TEST_CLASS.search(data) is not None


def _config(tree: Tree) -> tuple[str, ...]:
    """In the order that pytest looks for them."""
    names: Iterable[str] = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", *SHARED)
    configuring = [
        name
        for name in names
        if name in tree and (name in OWN or pytest_part(name, tree[name].data) is not None)
    ]
    conftests = sorted(path for path in tree if path.rpartition("/")[2] == "conftest.py")
    return (*configuring, *conftests)
