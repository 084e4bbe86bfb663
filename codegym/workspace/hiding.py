"""Taking hidden tests out of a tree: their functions, and what only they use.

A file whose tests are all hidden is left out whole. So is one that cannot be read as Python, and
one that inherits a hidden test from elsewhere; there the test is taken out too.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Container

from codegym.errors import TaskError
from codegym.types import File, Task, Tree
from codegym.workspace.cutting import cut, functions_of

Names = tuple[str, ...]


def hide_tests(tree: Tree, graded: Tree, task: Task, subdir: str) -> Tree:
    """The tree without the task's hidden tests.

    Args:
        tree: A workspace, which need not have them.
        graded: The same with all tests.
        task: Its ``hidden`` says which.
        subdir: The project's folder, which test ids are relative to.

    Raises:
        TaskError: A hidden test lies in a file that is no test file, and cannot be taken out of it.
    """
    wanted = places(task.hidden, subdir)
    if not wanted:
        return tree
    kept = dict(tree)
    strayed: set[str] = set()
    for path, names in wanted.items():
        real = _real(path, tree)
        if real != path:
            kept.pop(path, None)
        file = kept.get(real)
        if file is None:
            continue
        if not is_test_file(real):
            raise TaskError(
                task.instance_id, f"a hidden test lies in {real}, which is no test file"
            )
        added = functions_of(graded[real].data) if real in graded and tree is not graded else None
        names = {each for each in names if ".".join(each) not in (added or ()) or _has(file, each)}
        left, missed = _hidden(real, file, names, tree) if names else (file.data, set())
        strayed |= missed
        if left is None:
            del kept[real]
        else:
            kept[real] = File(left, file.mode)
    for path in [path for path in kept if strayed and _is_python_test(path)]:
        found = cut(kept[path].data, {(name,) for name in strayed}, anywhere=True)
        if found is not None and found.cut:
            kept[path] = File(found.source, kept[path].mode)
    gone = {tree[path].data for path in tree if path not in kept or kept[path] != tree[path]}
    return {path: file for path, file in kept.items() if not (gone and file.data in gone)}


def unseen_tests(task: Task, start: Tree, graded: Tree, subdir: str) -> frozenset[str]:
    """The task's tests that are not in a start tree, those hidden by the row apart.

    Args:
        task: The task, as it is presented.
        start: What a policy is given.
        graded: The same with all tests.
        subdir: The project's folder, which test ids are relative to.

    Returns:
        Ids whose function is not there; and, where the kind does not show the row's own tests, ids
        with parameters that those tests may have added.
    """
    if start is graded or start == graded:
        return frozenset()
    changed = {path for path in graded if start.get(path) != graded[path] and is_test_file(path)}
    known = {test: _place(test, subdir) for test in task.test_ids if test not in task.hidden}
    support = changed - {path for path, _ in known.values()}
    functions: dict[str, Container[str]] = {}
    unseen = set()
    for test, (path, name) in known.items():
        file = start.get(path)
        if path in graded and file is None:
            unseen.add(test)
        elif file is not None and path.endswith(".py") and (path in changed or support):
            if path not in functions:
                functions[path] = functions_of(file.data) or {}
            added = "[" in test and task.kind == "FixIssue"
            if added or (path in changed and name not in functions[path]):
                unseen.add(test)
    return frozenset(unseen)


def _place(test: str, subdir: str) -> tuple[str, str]:
    """A test's file and qualified name."""
    ((path, names),) = places([test], subdir).items()
    return path, ".".join(*names)


def places(ids: Collection[str], subdir: str) -> dict[str, set[Names]]:
    """Test ids by file, relative to the repository; each as the names of its classes and itself."""
    found: dict[str, set[Names]] = {}
    for test_id in ids:
        path, *names = test_id.partition("[")[0].split("::")
        whole = path if subdir == "." else f"{subdir}/{path}"
        found.setdefault(posixpath.normpath(whole), set()).add(tuple(names))
    return found


def is_test_file(path: str) -> bool:
    """Whether a file is a test's by its name or folder."""
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    named = stem.startswith("test") or stem.endswith(("test", "tests", "spec"))
    return named or any(part in ("test", "tests", "testing", "__tests__") for part in folders)


def _has(file: File, names: Names) -> bool:
    """Whether a file defines a function, or cannot be read."""
    functions = functions_of(file.data)
    return functions is None or ".".join(names) in functions


def _is_python_test(path: str) -> bool:
    return path.endswith(".py") and is_test_file(path)


def _real(path: str, tree: Tree) -> str:
    """Where a link in the tree leads."""
    for _ in range(8):
        file = tree.get(path)
        if file is None or file.mode != "120000":
            break
        target = file.data.decode("utf-8", "surrogateescape")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return path


def _hidden(path: str, file: File, names: set[Names], tree: Tree) -> tuple[bytes | None, set[str]]:
    """What is left of a file, None for nothing; and the functions that were not found in it."""
    if not path.endswith(".py"):
        return None, set()
    shared = _is_imported(path, tree)
    found = cut(file.data, names, orphans=not shared)
    if found is None:
        return None, {each[-1] for each in names if each}
    if found.missing:
        again = cut(file.data, found.missing, anywhere=True)
        if again is not None and not again.missing:  # inherited within the file
            found = cut(again.source, names - found.missing, orphans=not shared) or again
        else:
            return None, {each[-1] for each in found.missing if each}
    if not found.tests_left and not shared:
        return None, set()
    return found.source, set()


def _is_imported(path: str, tree: Tree) -> bool:
    """Whether another file may need it."""
    stem = path.rpartition("/")[2].removesuffix(".py").encode()
    return any(
        stem in file.data
        for other, file in tree.items()
        if other != path and other.endswith(".py") and file.mode != "120000"
    )
