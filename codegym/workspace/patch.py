"""Applying patches and changes to trees: exactly, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from codegym.errors import TaskError
from codegym.types import Change, File, Mode, Tree
from codegym.workspace.diff import diff_trees, split_lines
from codegym.workspace.names import tree_problem
from codegym.workspace.unified import PatchError, Section, parse

__all__ = ["apply_changes", "apply_patch", "diff_trees", "patch_problem"]


def patch_problem(patch: str) -> str:
    """Say why a text is no patch, or return ``""``."""
    try:
        parse(patch.encode("utf-8", "surrogateescape"))
    except (UnicodeEncodeError, PatchError) as error:
        return str(error)
    return ""


def apply_patch(tree: Tree, patch: str, *, where: str) -> Tree:
    """Apply a unified diff with ``a/`` and ``b/`` prefixes.

    Hunks apply at their very lines, without offset or fuzz. Modes, renames, copies, deletions and
    files without a last newline are understood; a surrogate escape stands for a byte that is no
    UTF-8.

    Args:
        tree: The files before.
        patch: The diff; ``""`` changes nothing.
        where: Whose patch it is (a task's id), for the error.

    Returns:
        The files after; ``tree`` is as it was.

    Raises:
        TaskError: The patch is malformed, binary, or does not fit the tree.
    """
    try:
        return _applied(tree, parse(patch.encode("utf-8", "surrogateescape")))
    except UnicodeEncodeError as error:
        raise TaskError(where, "the patch holds a surrogate that stands for no byte") from error
    except PatchError as error:
        raise TaskError(where, str(error)) from error


def apply_changes(tree: Tree, changes: Sequence[Change]) -> Tree:
    """Lay changed files over a tree; what is in the way of one (a file, a folder) goes."""
    files = dict(tree)
    for change in changes:
        if change.data is None:
            files.pop(change.path, None)
    written = {change.path: change for change in changes if change.data is not None}
    if written:
        parents = {path[:at] for path in written for at in range(len(path)) if path[at] == "/"}
        files = {
            path: file
            for path, file in files.items()
            if path not in parents and not _below(path, written)
        }
    for path, change in written.items():
        files[path] = File(change.data or b"", "100755" if change.executable else "100644")
    return dict(sorted(files.items()))


def _below(path: str, files: dict[str, Change]) -> bool:
    return any(path[:at] in files for at in range(len(path)) if path[at] == "/")


def _applied(tree: Tree, sections: Sequence[Section]) -> Tree:
    if not sections:
        return tree
    files = dict(tree)
    for section in sections:
        gone = section.old is not None and section.old != section.new and not section.copy
        if gone and section.old is not None and files.pop(section.old, None) is None:
            raise PatchError(section.line, f"there is no file {section.old!r} (or it went before)")
    written: set[str] = set()
    for section in sections:
        result = _result(tree, section)
        if section.new is None or result is None:
            continue
        if section.new in written:
            raise PatchError(section.line, f"{section.new!r} is written a second time")
        if section.new != section.old and section.new in files:
            raise PatchError(section.line, f"{section.new!r} is there already")
        if section.new == section.old and section.new not in files:
            raise PatchError(section.line, f"{section.new!r} was deleted or renamed by this patch")
        files[section.new] = result
        written.add(section.new)
    problem = tree_problem({path: files[path] for path in written}) or _clash(files, written)
    if problem:
        raise PatchError(1, problem)
    return dict(sorted(files.items()))


def _clash(files: Tree, written: set[str]) -> str:
    """Say where a written path is a file and a folder at once, or return ``""``."""
    parents = {path[:at] for path in files for at in range(len(path)) if path[at] == "/"}
    for path in sorted(written):
        if path in parents or any(path[:at] in files for at in range(len(path)) if path[at] == "/"):
            return f"{path!r} would be a file and a folder, or lie in a file"
    return ""


def _result(tree: Tree, section: Section) -> File | None:
    """The file that a section makes, or None where it deletes one."""
    source = File(b"", section.new_mode or "100644")
    if section.old is not None:
        found = tree.get(section.old)
        if found is None:
            raise PatchError(section.line, f"there is no file {section.old!r}")
        if section.old_mode not in (None, found.mode):
            raise PatchError(
                section.line, f"{section.old!r} has mode {found.mode}, not {section.old_mode}"
            )
        source = found
    data = _patched(source.data, section)
    if section.new is None:
        if data:
            raise PatchError(section.line, f"{section.old!r} is deleted, but not all its lines are")
        return None
    mode: Mode = section.new_mode or source.mode
    if (mode == "120000") != (source.mode == "120000"):
        raise PatchError(
            section.line, f"{section.new!r} cannot turn from or into a link by its mode"
        )
    return File(data, mode)


def _patched(data: bytes, section: Section) -> bytes:
    if not section.hunks:
        return data
    lines = split_lines(data)
    out: list[bytes] = []
    at = 0
    for hunk in section.hunks:
        if hunk.start < at:
            raise PatchError(hunk.line, "the hunk overlaps the one before it")
        end = hunk.start + len(hunk.old)
        if hunk.start > len(lines) or lines[hunk.start : end] != hunk.old:
            raise PatchError(
                hunk.line, f"the hunk does not match {section.old!r} at line {hunk.start + 1}"
            )
        out += lines[at : hunk.start]
        out += hunk.new
        at = end
    out += lines[at:]
    if any(not line.endswith(b"\n") for line in out[:-1]):
        raise PatchError(section.hunks[-1].line, "a line without an end would not be the last")
    return b"".join(out)
