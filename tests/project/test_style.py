"""The house rules that no linter knows: sizes, words, and what code may not do."""

import ast
import re
import statistics
import subprocess
from pathlib import Path

import pytest

from codegym import __version__

ROOT = Path(__file__).parents[2]
#: What attacks plant is no code of ours: it is meant to be as bad as it can.
HOSTILE = ROOT / "codegym" / "redteam" / "hostile"
SOURCES = sorted(
    path
    for path in (*ROOT.glob("codegym/**/*.py"), *ROOT.glob("proxy/**/*.py"))
    if HOSTILE not in path.parents
)
TESTS = sorted(ROOT.glob("tests/**/*.py"))
BROAD = {"Exception", "BaseException"}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


@pytest.fixture(scope="module")
def trees():
    return {_name(path): ast.parse(path.read_text()) for path in SOURCES}


def _nodes(trees, *kinds):
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                yield f"{name}:{node.lineno}", node


def test_no_file_is_longer_than_400_lines():
    assert {_name(path): n for path in SOURCES + TESTS if (n := _lines(path)) > 400} == {}


def test_the_median_file_is_at_most_120_lines():
    assert statistics.median(map(_lines, SOURCES)) <= 120


def test_no_function_is_longer_than_60_lines(trees):
    functions = _nodes(trees, ast.FunctionDef, ast.AsyncFunctionDef)
    sizes = {f"{where} {node.name}": node.end_lineno - node.lineno + 1 for where, node in functions}
    assert {where: size for where, size in sizes.items() if size > 60} == {}


def test_nothing_validates_by_assert(trees):
    assert [where for where, _ in _nodes(trees, ast.Assert)] == []


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in BROAD for kind in kinds)


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Whether it ends by raising, by ending the process (a forked child must not go on), or by
    handing what was raised to the future that is waited for."""
    last = handler.body[-1]
    text = ast.unparse(last)
    return isinstance(last, ast.Raise) or "os._exit(" in text or ".set_exception(" in text


def test_a_broad_except_only_cleans_up_and_raises_again(trees):
    handlers = _nodes(trees, ast.ExceptHandler)
    assert [where for where, h in handlers if _is_broad(h) and not _passes_on(h)] == []


def test_there_is_no_del(trees):
    functions = _nodes(trees, ast.FunctionDef)
    assert [where for where, node in functions if node.name == "__del__"] == []


def test_there_is_no_global_random(trees):
    seeded = {"Random", "SystemRandom", "default_rng", "Generator", "SeedSequence", "PCG64"}
    calls = {where: ast.unparse(node.func) for where, node in _nodes(trees, ast.Call)}
    pattern = re.compile(r"(?:random|np\.random|numpy\.random)\.(\w+)")
    found = {w: m for w, call in calls.items() if (m := pattern.fullmatch(call))}
    assert [where for where, match in found.items() if match[1] not in seeded] == []


def test_no_module_is_a_drawer_for_anything():
    drawers = {"utils", "util", "helpers", "misc", "common"}
    assert [_name(path) for path in SOURCES if drawers & {path.stem, path.parent.name}] == []


def test_tests_mirror_the_packages():
    packages = {path.parent.name for path in ROOT.glob("codegym/*/__init__.py")}
    folders = {path.name for path in (ROOT / "tests").iterdir() if list(path.glob("test_*.py"))}
    assert folders - packages <= {"project", "docs", "proxy"}


def test_the_newest_entry_of_the_changelog_is_this_version():
    headings = re.findall(r"^## \[?([^\]\s]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert next(h for h in headings if h != "Unreleased") == __version__


def test_the_guide_for_contributors_fits_a_screen():
    assert _lines(ROOT / "AGENTS.md") <= 60


def test_no_tracked_file_is_ignored_or_left_over():
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files"]
    ignored = subprocess.run(
        [*git, "-ci", "--exclude-standard"], capture_output=True, text=True, check=True
    )
    assert ignored.stdout == ""
