"""Test modules out of a tree, and back into a sandbox: paths of a project and of its repository."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from codegym.grading.observe.modules import TestModule, parse_module
from codegym.grading.ready import Ready
from codegym.types import Change, Tree

_TEST = b"def test"


def laid(sources: Mapping[str, bytes], ready: Ready) -> list[Change]:
    """Sources as files of the workspace; they are named by their paths in the project."""
    return [Change(f"{ready.prefix}{path}", data) for path, data in sources.items()]


def modules_of(
    ready: Ready, tree: Tree, files: Collection[str] | None = None
) -> dict[str, TestModule]:
    """The test modules of a task's suite that can be rewritten, by path in the project.

    Args:
        ready: The task.
        tree: Where they are.
        files: Only these; by default all that are named like tests, or hold the task's, or lie
            beside such a one and have tests that its classes may inherit.
    """
    prefix = ready.prefix
    named = {test_id.partition("::")[0] for test_id in ready.task.test_ids}
    homes = {path.rpartition("/")[0] for path in tree if _is_module_of_tests(path)}
    found = {}
    for path, file in tree.items():
        name = path.removeprefix(prefix)
        if file.mode == "120000" or not path.startswith(prefix):
            continue
        shared = path.rpartition("/")[0] in homes and path.endswith(".py") and _TEST in file.data
        if name not in named and not _is_module_of_tests(path) and not shared:
            continue
        if files is not None and name not in files:
            continue
        module = parse_module(name, file.data, ready.scene.package_names)
        if module is not None:
            found[name] = module
    return found


def _is_module_of_tests(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith("_test.py") or (name.startswith("test_") and name.endswith(".py"))
