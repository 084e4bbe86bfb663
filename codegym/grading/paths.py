"""Which changes of a policy's work cross into the sandbox that grades it. Pure.

Nothing that could decide the verdict crosses: tests, conftests, configuration of pytest, and what
an interpreter runs or imports by itself are the trusted copies, and extra files at such paths are
left behind. That alone defeats every change listed here. What is *called* tampering, and scores 0,
is narrower: only what has no honest reading. The rest is refused, said, and costs nothing.

====================================================  ==========================================
path (the first that fits)                            said of it
====================================================  ==========================================
not relative, normalised, NFC, UTF-8, printable,      refused
bounded
``.git``, at any depth                                refused
the same by another spelling (``.GIT``, ``git~1``)    tampering ``git``
caches, virtual environments, build folders           refused
``sitecustomize``, ``usercustomize``                  tampering ``interpreter_hook``
``*.pth`` on the import path (elsewhere refused)      tampering ``interpreter_hook``
``__pycache__``, as every run leaves it               refused
bytecode without source, or that is never checked     tampering ``bytecode``
compiled modules that the tree does not have          refused
a conftest: new / edited / deleted                    tampering ``added_conftest`` /
                                                      ``edited_tests`` / ``deleted_tests``
``pytest.ini`` and its like; the pytest part of       tampering ``test_configuration``
``pyproject.toml``, ``setup.cfg``, ``tox.ini``
the rest of those files                               refused
a new module that hides one of the standard library   tampering ``shadowed_module``
or of the test runner, at an import root
the same by a name of scratch files (``code.py``)     refused
protected, and was a test: edited / deleted           tampering ``edited_tests`` /
                                                      ``deleted_tests``
protected, and was a test: tests only added           refused
protected, and new: the policy's own tests            refused
protected, otherwise                                  refused
links, pipes, devices, what was too large to read     refused
not where edits are permitted                         refused
differs from another path only by case                refused
a link of the tree, or below one; a file for a        refused
folder that is still there, or the reverse
====================================================  ==========================================

A file that ends as its trusted copy is, or that only was touched, is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from codegym.grading.rules import Finding, judge
from codegym.grading.scene import Entry, Scene
from codegym.grading.shape import prefixes, printable, spellings, twin
from codegym.types import Change, Manifest, Refusal, Tampering, Tree

MAX_REFUSALS = 200


@dataclass(frozen=True, slots=True)
class Crossing:
    """What became of a policy's work.

    Attributes:
        changes: What to apply to the trusted tree, deletions first.
        refused: What did not cross, and why; at most ``MAX_REFUSALS`` and a last one with a count.
        tampering: What did not cross and should not have been tried.
    """

    changes: tuple[Change, ...]
    refused: tuple[Refusal, ...]
    tampering: tuple[Tampering, ...]


def cross(work: Manifest, scene: Scene) -> Crossing:
    """Decide for every path of a policy's work. Never raises on what the work holds.

    Args:
        work: All that differs from ``scene.start``.
        scene: The trusted trees and the environment's rules.
    """
    entries = [Entry(change.path, change) for change in work.changes]
    entries += [Entry(refusal.path, unread=refusal.reason or "unread") for refusal in work.refused]
    passed: list[Change] = []
    said: list[tuple[Entry, Finding]] = []
    for entry in entries:
        if _same(entry, scene.grading):
            continue
        finding = judge(entry, scene)
        if finding:
            said.append((entry, finding))
        elif entry.change:
            passed.append(entry.change)
    changes, late = _place(passed, scene.grading)
    said += late
    refused = dict.fromkeys(
        Refusal(printable(finding.folder or entry.path), finding.reason)
        for entry, finding in said
        if not finding.kind
    )
    tampering = tuple(
        Tampering(finding.kind, printable(entry.path), f"{finding.reason}; it was not taken")
        for entry, finding in said
        if finding.kind
    )
    return Crossing(changes, _bounded(list(refused)), tampering)


def _same(entry: Entry, grading: Tree) -> bool:
    """Whether the trusted tree has the very file."""
    if entry.change is None:
        return False
    trusted = grading.get(entry.path)
    if trusted is None:
        return entry.deleted
    mode = "100755" if entry.change.executable else "100644"
    return trusted.data == entry.data and trusted.mode == mode


def _place(
    changes: Iterable[Change], grading: Tree
) -> tuple[tuple[Change, ...], list[tuple[Entry, Finding]]]:
    """Leave out what does not fit into the tree; deletions come first."""
    unique = {change.path: change for change in changes}
    links = {path for path, file in grading.items() if file.mode == "120000"}
    refused: list[tuple[Entry, Finding]] = []

    def refuse(change: Change, reason: str) -> None:
        refused.append((Entry(change.path, change), Finding(reason)))

    deletions: list[Change] = []
    writes: list[Change] = []
    for change in unique.values():
        if any(prefix in links for prefix in prefixes(change.path)):
            refuse(change, "a link of the repository is there")
        else:
            (deletions if change.data is None else writes).append(change)
    files = set(grading) - {change.path for change in deletions}
    folders = {prefix for path in files for prefix in prefixes(path) if prefix != path}
    known = spellings(grading)
    kept = []
    for change in sorted(writes, key=lambda change: change.path):
        above = [prefix for prefix in prefixes(change.path) if prefix != change.path]
        if other := twin(change.path, known):
            refuse(change, f"differs only by case from {other}")
        elif change.path in folders:
            refuse(change, "a folder is there")
        elif any(prefix in files for prefix in above):
            refuse(change, "a file is in its way")
        else:
            kept.append(change)
            files.add(change.path)
            folders.update(above)
            known = spellings([change.path], known)
    return (*deletions, *kept), refused


def _bounded(refused: list[Refusal]) -> tuple[Refusal, ...]:
    if len(refused) <= MAX_REFUSALS:
        return tuple(refused)
    more = len(refused) - MAX_REFUSALS
    return (*refused[:MAX_REFUSALS], Refusal("", f"and {more} more"))
