"""What is looked for: whatever of a pack's tasks a policy must not find."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from codegym.errors import UsageError
from codegym.redteam.audit.bytecode import words_of
from codegym.redteam.victim import Victim, is_import, make_victim
from codegym.sandbox.images.fingerprint import fingerprints
from codegym.tasks import Environment
from codegym.types import Task, Tree
from codegym.workspace.cutting import functions_of
from codegym.workspace.features import features
from codegym.workspace.trees import trees_of

#: marker: planted in the gold patch. gold: a line or a path that only the solved tree has. symbol:
#: the full name of a deleted function. hidden-id, hidden-body: a hidden test's name, its lines.
#: row: CodeGym's own record of a task. copy: a gold function, however it is laid out. bytecode: a
#: compiled one.
Kind = Literal["marker", "gold", "symbol", "hidden-id", "hidden-body", "row", "copy", "bytecode"]

MIN_LINE_CHARS = 24
_MIN_NAME_CHARS = 10
_MIN_DISTINCT = 9
#: Compiled functions with fewer words than this are alike by chance.
MIN_WORDS = 8
#: What stands in every row, and in nothing but rows.
_ROW_WORDS = (b'"FAIL_TO_PASS"', b'"PASS_TO_PASS"', b'"start_patch"')


@dataclass(frozen=True, slots=True)
class Needle:
    """One thing to be found.

    Attributes:
        kind: What it is.
        text: Bytes to look for; of a ``copy`` the function's fingerprint, of ``bytecode`` its name.
        task_id: The task whose answer it is; ``""`` for none's.
        words: Of ``bytecode``, the words in it; of a ``copy``, names that each copy has.
    """

    kind: Kind
    text: bytes
    task_id: str
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Subject:
    """A task that is audited: as it is presented, its gold patch marked where that can be."""

    task: Task
    environment: Environment
    start: Tree
    grading: Tree
    gold: Tree
    marker: str = ""


def make_subject(task: Task, environment: Environment) -> Subject:
    """Put a task's trees together.

    Raises:
        TaskError: A patch does not apply.
    """
    try:
        victim: Victim = make_victim(task, environment)
    except UsageError:  # its patch writes no file that could be marked
        return Subject(task, environment, *trees_of(task, environment))
    return Subject(
        victim.task, environment, victim.start, victim.grading, victim.gold, victim.marker
    )


def needles_of(subjects: Sequence[Subject], extra: Iterable[str] = ()) -> list[Needle]:
    """All that is looked for, each text once; the first task that has it owns it."""
    found: dict[tuple[str, bytes, frozenset[str]], Needle] = {}
    given = (Needle("marker", text.encode(), "") for text in extra)
    words = (Needle("row", text, "") for text in _ROW_WORDS)
    of_tasks = (needle for subject in subjects for needle in _of(subject))
    for needle in (*given, *words, *of_tasks):
        space = needle.kind if needle.kind in ("copy", "bytecode") else ""
        found.setdefault((space, needle.text, needle.words), needle)
    return list(found.values())


def _of(subject: Subject) -> Iterator[Needle]:
    task, name = subject.task, subject.task.instance_id
    if subject.marker:
        yield Needle("marker", subject.marker.encode(), name)
    for line in (*_new_lines(subject.grading, subject.gold), *_new_paths(subject)):
        yield Needle("gold", line, name)
    for line in _new_lines(subject.start, subject.grading):
        yield Needle("hidden-body", line, name)
    for test in _names(task.hidden):
        yield Needle("hidden-id", test, name)
    if len(name) >= _MIN_NAME_CHARS:
        yield Needle("row", name.encode(), name)
    if task.kind == "ImplementFeature":
        for symbol in _symbols(subject):
            yield Needle("symbol", symbol, name)
    yield from _functions(subject, name)


def _new_lines(old: Tree, new: Tree) -> Iterator[bytes]:
    """Lines that a tree has and another lacks in the same file; those that mean something."""
    for path, file in new.items():
        before = old.get(path)
        if before == file or file.mode == "120000":
            continue
        known = set(map(bytes.strip, before.data.splitlines())) if before else set()
        for line in {*map(bytes.strip, file.data.splitlines())} - known:
            if _means_something(line):
                yield line


def _means_something(line: bytes) -> bool:
    long = len(line) >= MIN_LINE_CHARS and len(set(line)) >= _MIN_DISTINCT
    return long and not is_import(line)


def _new_paths(subject: Subject) -> Iterator[bytes]:
    for path in subject.gold.keys() - subject.start.keys() - subject.grading.keys():
        if len(path) >= MIN_LINE_CHARS:
            yield path.encode("utf-8", "surrogateescape")


def _names(tests: Iterable[str]) -> Iterator[bytes]:
    for test in sorted({test.partition("[")[0].rpartition("::")[2] for test in tests}):
        if len(test) >= _MIN_NAME_CHARS:
            yield test.encode()


def _symbols(subject: Subject) -> Iterator[bytes]:
    """Full names of what was taken away, as caches and indexes of tools have them."""
    for feature in features(subject.grading, subject.gold):
        path, _, name = feature.partition("::")
        module = path.removesuffix(".py").removesuffix("/__init__").split("/")
        for start in range(max(1, len(module) - 1)):
            dotted = ".".join([*module[start:], name])
            if len(dotted) >= _MIN_NAME_CHARS:
                yield dotted.encode()


def _functions(subject: Subject, name: str) -> Iterator[Needle]:
    """Functions that gold has and the grading tree has not, by their shape."""
    for path, file in subject.gold.items():
        before = subject.grading.get(path)
        if not path.endswith(".py") or file == before:
            continue
        old = {each.digest for each in fingerprints(before.data)} if before else set()
        digests = {each.name: each.digest for each in fingerprints(file.data)}
        had = functions_of(before.data) or {} if before else {}
        for qualified, node in (functions_of(file.data) or {}).items():
            same = qualified in had and ast.dump(had[qualified]) == ast.dump(node)
            if same or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            digest = digests.get(qualified)
            if digest and digest not in old:
                yield Needle("copy", digest.encode(), name, _kept_words(node))
            words = words_of(node)
            if len(words) >= MIN_WORDS:
                yield Needle("bytecode", node.name.encode(), name, words)


def _kept_words(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Names that each copy of it has, whatever its variables are called."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    bound = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    used |= {node.id for node in names} - bound
    return frozenset(name for name in used if name.isascii())
