"""A feature that was taken away: its name, and every other trace of what it did.

Built copies are traces of any other solution, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codegym.errors import TaskError
from codegym.types import File, Task, Tree
from codegym.workspace.archives import contents
from codegym.workspace.cutting import functions_of

#: Declarations of a module ``m`` and what compilers make of it: ``m.pyi``, ``m.cpython-311-x.so``.
_MADE = (".pyi", ".pxd", ".so", ".pyd", ".dylib", ".dll", ".c", ".cpp", ".pyc", ".pyo", ".o")
_BUILT = frozenset({"build", "dist", "_build", "site", "htmlcov"})
_MIN_LINES, _MIN_BYTES = 2, 60


def features(start: Tree, gold: Tree) -> tuple[str, ...]:
    """What is to be implemented, as ``path::Class.function``; empty where that cannot be told.

    A function whose body is ``raise NotImplementedError`` in the start; or, where the start has no
    such function or class at all, one with a public name.
    """
    found = []
    for path, wanted, had in _changed_modules(start, gold):
        for name, function in wanted.items():
            old = had.get(name)
            public = not any(part.startswith("_") for part in name.split("."))
            taken = _is_stub(old) and not _is_stub(function) if old is not None else public
            if taken:
                found.append(f"{path}::{name}")
    return tuple(found)


def without_traces(start: Tree, graded: Tree, gold: Tree, task: Task) -> Tree:
    """The start without built copies of what the solution writes.

    Of a feature that was taken away, stubs and compiled files go as well.

    Args:
        start: What a policy would be given.
        graded: The same with all tests.
        gold: The solved tree.
        task: Whose trees they are.

    Raises:
        TaskError: Another file holds the very lines of a feature that is to be written.
    """
    feature = task.kind == "ImplementFeature"
    suspects = start if feature else {p: file for p, file in start.items() if is_built(p)}
    if not suspects:
        return start
    modules = [path for path in gold if path.endswith(".py") and gold[path] != graded.get(path)]
    stems = {path.rpartition("/")[2].removesuffix(".py") for path in modules}
    suspects = {path: file for path, file in suspects.items() if path not in modules}
    gone = {path for path in suspects if _is_made_of(path, stems)}
    if feature:
        names = [one.rpartition("::")[2].rpartition(".")[2] for one in features(graded, gold)]
        gone |= {path for path in suspects if path.endswith(".pyi") and _names(start[path], names)}
    bodies = list(_bodies(graded, gold, modules))
    for path in suspects:
        if path not in gone and _holds(start[path].data, bodies):
            if not is_built(path):
                raise TaskError(
                    task.instance_id, f"{path} holds a copy of what is to be implemented"
                )
            gone.add(path)
    return {path: file for path, file in start.items() if path not in gone} if gone else start


def is_built(path: str) -> bool:
    """Whether a file lies where builds put what they make of the sources."""
    return not _BUILT.isdisjoint(path.split("/")[:-1])


def _changed_modules(
    start: Tree, gold: Tree
) -> Iterator[tuple[str, dict[str, ast.stmt], dict[str, ast.stmt]]]:
    """Modules that the solution changes, with their functions on both sides."""
    for path in sorted(gold):
        old = start.get(path)
        if not path.endswith(".py") or gold[path] == old:
            continue
        wanted = functions_of(gold[path].data)
        had = functions_of(old.data) if old is not None else {}
        if wanted is not None and had is not None:
            yield path, wanted, had


def _is_stub(function: ast.stmt) -> bool:
    body = list(getattr(function, "body", ()))
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        del body[0]
    if len(body) != 1 or not isinstance(body[0], ast.Raise) or body[0].exc is None:
        return False
    raised = body[0].exc
    called = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(called, ast.Name) and called.id == "NotImplementedError"


def _is_made_of(path: str, stems: set[str]) -> bool:
    """Whether a file was made of one of the modules, or declares what is in it."""
    name = path.rpartition("/")[2]
    stem, dot, _ = name.partition(".")
    made = name.endswith(_MADE) or (name.endswith(".py") and is_built(path))
    return bool(dot) and stem in stems and made


def _names(file: File, names: list[str]) -> bool:
    return any(name.encode() in file.data for name in names)


def _bodies(graded: Tree, gold: Tree, modules: list[str]) -> Iterator[bytes]:
    """The lines that are to be written, function by function, without their indentation."""
    for path, wanted, had in _changed_modules(graded, {path: gold[path] for path in modules}):
        lines = gold[path].data.splitlines()
        for name, function in wanted.items():
            if name in had and ast.dump(had[name]) == ast.dump(function):
                continue
            body = [node for node in getattr(function, "body", ()) if not _is_docstring(node)]
            if body:
                text = _flat(b"\n".join(lines[body[0].lineno - 1 : body[-1].end_lineno]))
                if text.count(b"\n") + 1 >= _MIN_LINES and len(text) >= _MIN_BYTES:
                    yield text


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _holds(data: bytes, bodies: list[bytes]) -> bool:
    """Whether a file, or one that is packed in it, holds any of the bodies."""
    wanted = [(body.partition(b"\n")[0], body) for body in bodies]
    return any(
        first in text and body in _flat(text)
        for text in (data, *contents(data))
        for first, body in wanted
    )


def _flat(text: bytes) -> bytes:
    return b"\n".join(line for each in text.splitlines() if (line := each.strip()))
