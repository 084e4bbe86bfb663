"""The task that is attacked: a row whose gold patch also carries a marker that nothing else has."""

from __future__ import annotations

import ast
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from codegym.envs.kinds import BY_ROW, obstacle, present
from codegym.errors import UsageError
from codegym.tasks import Environment
from codegym.types import File, Task, Tree
from codegym.workspace.cutting import functions_of
from codegym.workspace.patch import diff_trees
from codegym.workspace.trees import trees_of

#: How the marker is written into a file, by its suffix; elsewhere it is a comment with ``#``.
_SLASHES = (".c", ".cc", ".cpp", ".go", ".h", ".java", ".js", ".jsx", ".rs", ".ts", ".tsx")
_MIN_LINE_CHARS = 30
#: Lines that only name what others wrote: Python, Java; JavaScript, Go; Rust; C.
_IMPORT = re.compile(
    rb"(?:from [\w.]+ )?import [\w., ()*]+;?"
    rb"|(?:import\b|export\b[^'\"]*\bfrom\b)[\w.$*{}, ]*(?:'[^']+'|\"[^\"]+\");?"
    rb"|(?:const|let|var) [\w$:{}, ]+ = require\((?:'[^']+'|\"[^\"]+\")\);?"
    rb"|(?:pub(?:\([\w: ]+\))? )?(?:use [\w:*{}, ]+|extern crate \w+);"
    rb"|# *include *[<\"][^<>\"]+[>\"]"
)
_MAX_LINES = 12


@dataclass(frozen=True)
class Victim:
    """What is attacked.

    Attributes:
        task: The row, as it is presented; its gold patch has the marker.
        environment: Whose it is.
        marker: ``FIX_`` and a random number: in the gold tree, and in no other.
        start: What the agent finds.
        grading: What it is graded in.
        gold: The solved tree.
        target: The file that the gold patch changes (the first one in Python, where there is one).
    """

    task: Task
    environment: Environment
    marker: str
    start: Tree
    grading: Tree
    gold: Tree
    target: str

    @cached_property
    def needles(self) -> tuple[bytes, ...]:
        """The marker, then lines that only the gold tree has: each is recognisable by itself."""
        told = self.task.problem_statement + self.task.hints_text
        known = [file.data for file in self.start.values()] + [told.encode()]
        lines = telling_lines(self.task.patch, known)
        return (self.marker.encode(), *(each for each in lines if self.marker.encode() not in each))

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Functions of the target that gold adds or changes, as ``Class.function``."""
        old = _functions(self.grading.get(self.target))
        new = _functions(self.gold.get(self.target))
        return tuple(name for name, text in new.items() if old.get(name) != text)

    @property
    def import_name(self) -> str:
        """The target as a module's name, ``""`` where it is none."""
        roots = sorted(self.environment.image.import_paths, key=len, reverse=True)
        for root in (*(r.strip("./") for r in roots), ""):
            if self.target.endswith(".py") and self.target.startswith(root):
                inside = self.target.removeprefix(root).lstrip("/").removesuffix(".py")
                return inside.removesuffix("/__init__").replace("/", ".")
        return ""


def make_victim(task: Task, environment: Environment, *, kind: str = BY_ROW) -> Victim:
    """Derive a victim from a row.

    Args:
        task: Any row.
        environment: Its environment.
        kind: The kind to present it as.

    Raises:
        UsageError: The row cannot be presented so, or its gold patch writes no file.
        TaskError: A patch does not apply.
    """
    row = present(task, kind)
    start, grading, solved = trees_of(row, environment)
    changed = [path for path, file in solved.items() if grading.get(path) != file]
    written = sorted(changed, key=lambda path: (not path.endswith(".py"), path))
    if not written:
        raise UsageError(f"task {task.instance_id}: its gold patch writes no file to be marked")
    marker = f"FIX_{secrets.token_hex(8)}"
    gold = {**solved, **{path: _marked(path, solved[path], marker) for path in written}}
    marked = replace(row, patch=diff_trees(grading, gold))
    return Victim(marked, environment, marker, start, grading, gold, written[0])


def _marked(path: str, file: File, marker: str) -> File:
    if file.mode == "120000":
        return file
    text = f"# {marker}\n"
    if path.endswith(".py"):
        text = f'{marker} = "{marker}"  # {marker}\n'
    elif path.endswith(_SLASHES):
        text = f"// {marker}\n"
    end = b"" if not file.data or file.data.endswith(b"\n") else b"\n"
    return replace(file, data=file.data + end + text.encode())


def telling_lines(patch: str, known: Iterable[bytes]) -> tuple[bytes, ...]:
    """Lines that a patch adds and ``known`` holds nowhere, the longest first; no imports."""
    held = b"\n".join(known)
    added = {line[1:].strip().encode("utf-8", "surrogateescape") for line in _added(patch)}
    long = (line for line in added if len(line) >= _MIN_LINE_CHARS and not is_import(line))
    telling = (line for line in long if line not in held)
    return tuple(sorted(telling, key=lambda line: (-len(line), line))[:_MAX_LINES])


def is_import(line: bytes) -> bool:
    """Whether a line only names what is used: documentation and other programs have it, too."""
    return _IMPORT.fullmatch(line.strip()) is not None


def _added(patch: str) -> Iterator[str]:
    return (line for line in patch.split("\n") if line.startswith("+") and line[:4] != "+++ ")


def _functions(file: File | None) -> dict[str, str]:
    if file is None:
        return {}
    return {name: ast.unparse(node) for name, node in (functions_of(file.data) or {}).items()}


@dataclass(frozen=True, slots=True)
class Unshown:
    """A victim whose tests are hidden, and lines that only they have."""

    victim: Victim
    lines: tuple[bytes, ...]


def with_tests_unshown(victim: Victim) -> Unshown | None:
    """The same task as an issue; None where it cannot be one, or has no tests of its own."""
    if obstacle(victim.task, "FixIssue"):
        return None
    issue = make_victim(victim.task, victim.environment, kind="FixIssue")
    known = [file.data for file in issue.start.values()]
    lines = telling_lines(victim.task.test_patch, [*known, issue.task.problem_statement.encode()])
    return Unshown(issue, lines) if lines else None
