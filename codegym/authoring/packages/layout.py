"""How a source distribution is laid out: where its package, its tests and their settings are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from codegym.authoring.packages.metadata import PackageInfo
from codegym.errors import UsageError
from codegym.grading.configuration import OWN, SHARED, pytest_part
from codegym.sandbox.images.lock import normalise
from codegym.types import File, Tree
from codegym.workspace.names import folders_of

_TEST_FILE = re.compile(r"(?:test_.*|.*_test)\.py")
_NO_PACKAGE = frozenset({
    "bench", "benchmark", "benchmarks", "doc", "docs", "example", "examples", "scripts", "test",
    "testing", "tests", "tools",
})  # fmt: skip
_NATIVE = (".c", ".cc", ".cpp", ".cxx", ".f", ".f90", ".pyx", ".pxd", ".rs", ".go", ".cu")
_NATIVE_BACKENDS = (b"maturin", b"scikit_build_core", b"mesonpy", b"setuptools_rust")
_EXTENSIONS = re.compile(rb"\bext_modules\s*=|\bcythonize\(|\brust_extensions\s*=")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are in a tree.

    Attributes:
        import_path: The folder that Python imports from: ``"."`` or ``"src"``.
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
        UsageError: It has compiled parts, no package or no tests, so it cannot be used (yet).
    """
    _require_pure(tree, filename)
    import_path = (
        "src" if any(_is_package(tree, f"src/{name}") for name in _tops(tree, "src/")) else "."
    )
    prefix = "src/" if import_path == "src" else ""
    packages = sorted(
        prefix + name
        for name in _tops(tree, prefix)
        if name not in _NO_PACKAGE and _is_package(tree, prefix + name)
    )
    if not packages:
        packages = _modules(tree)
    if not packages:
        raise UsageError(f"{filename} holds no package: no folder with an __init__.py, no module")
    tests = _test_roots(tree)
    if not tests:
        raise UsageError(
            f"{filename} holds no tests for pytest (test_*.py). Many projects leave them out of "
            "what they publish; their repository can be used in a later version"
        )
    return Layout(import_path, tuple(packages), tests, _config(tree))


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


def _require_pure(tree: Tree, filename: str) -> None:
    def refuse(what: str) -> UsageError:
        return UsageError(
            f"{filename} has compiled parts ({what}); only pure Python works yet, the rest comes "
            "with a later version"
        )

    for path in tree:
        if path.endswith(_NATIVE) and not path.startswith(("doc", "example", "test", "bench")):
            raise refuse(path)
    setup = tree.get("setup.py", File(b"")).data
    project = tree.get("pyproject.toml", File(b"")).data
    if _EXTENSIONS.search(setup):
        raise refuse("setup.py names extension modules")
    for backend in _NATIVE_BACKENDS:
        if backend in project:
            raise refuse(f"it is built by {backend.decode()}")


def _tops(tree: Tree, prefix: str) -> set[str]:
    inner = (path.removeprefix(prefix) for path in tree if path.startswith(prefix))
    return {path.partition("/")[0] for path in inner if "/" in path}


def _is_package(tree: Tree, folder: str) -> bool:
    return f"{folder}/__init__.py" in tree


def _modules(tree: Tree) -> list[str]:
    """Modules that lie at the top, without a package."""
    return sorted(
        path
        for path in tree
        if "/" not in path
        and path.endswith(".py")
        and path not in ("setup.py", "conftest.py", "noxfile.py", "tasks.py", "fabfile.py")
        and _TEST_FILE.fullmatch(path) is None
    )


def _test_roots(tree: Tree) -> tuple[str, ...]:
    """Folders named ``tests`` or ``test`` that hold any; other test files by themselves."""
    roots = set()
    for path in tree:
        parts = path.split("/")
        if _TEST_FILE.fullmatch(parts[-1]) is None or parts[0] in ("docs", "doc", "examples"):
            continue
        at = next((n for n, part in enumerate(parts[:-1]) if part in ("tests", "test")), None)
        roots.add("/".join(parts[: at + 1]) if at is not None else path)
    return tuple(sorted(roots))


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
