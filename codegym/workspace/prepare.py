"""Preparing a task: its layers on disk, attested, ready to be mounted."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path

from codegym.errors import TaskError
from codegym.store import LayerStore
from codegym.tasks import Environment
from codegym.types import Attestation, Task, Tree
from codegym.workspace.attest import FILE_COUNTS, attest
from codegym.workspace.attest_git import GIT_COUNTS
from codegym.workspace.features import features
from codegym.workspace.layer import write_layer
from codegym.workspace.seal import Seal
from codegym.workspace.trees import trees_of

_FORMAT = "2"  # changes whenever the same tree would be written differently
_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task made ready.

    Attributes:
        start: The layer that a policy's sandbox starts from, with its ``.git``. Never written.
        grading: The layer that a grade starts from, without ``.git``. Never written.
        start_tree: What ``start`` holds, without ``.git``.
        grading_tree: What ``grading`` holds.
        attestation: What was looked for in both; clean.
        digest: Hash of ``start``'s content.
        features: What an ``ImplementFeature`` task asks for, as ``path::Class.function``.
    """

    start: Path
    grading: Path
    start_tree: Tree
    grading_tree: Tree
    attestation: Attestation
    digest: str
    features: tuple[str, ...] = ()


@dataclass(slots=True)
class _Entry:
    """A prepared task, what tells that its layers changed, and how to look at them again."""

    prepared: Prepared
    gold: Tree
    keys: tuple[str, str]
    seals: tuple[Seal, Seal]


class Workshop:
    """Prepares tasks and remembers them. Safe for threads; layers are shared with other processes.

    Args:
        store: Where layers are kept.
        owner: (uid, gid) that layers must belong to (a backend's ``owner``).
    """

    def __init__(self, store: LayerStore, owner: tuple[int, int] | None) -> None:
        self._store = store
        self._owner = owner
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, ...], _Entry] = OrderedDict()

    def prepare(self, task: Task, environment: Environment) -> Prepared:
        """Return the task's layers, written and attested where they are not yet.

        Each call attests. A task seen before is looked at through its seals, which says at what;
        where one is broken, everything is read again.

        Raises:
            TaskError: A patch does not apply, or an attestation found something.
            DataError: The environment's history cannot be read.
            UnavailableError: There is no room, or no git.
        """
        name = _identity(task, environment)
        with self._lock:
            entry = self._entries.get(name)
            if entry is not None:
                self._entries.move_to_end(name)
        if entry is not None and all(map(self._store.find, entry.keys)):
            if not all(one.holds() for one in entry.seals):
                entry = self._attested(task, entry.prepared, entry.gold, entry.keys)
        else:
            entry = self._made(task, environment)
        with self._lock:
            self._entries[name] = entry
            while len(self._entries) > _REMEMBERED:
                self._entries.popitem(last=False)
        return entry.prepared

    def _made(self, task: Task, environment: Environment) -> _Entry:
        start, grading, gold = trees_of(task, environment)
        layers = self._layer(start, git=True), self._layer(grading, git=False)
        prepared = Prepared(
            start=layers[0][1],
            grading=layers[1][1],
            start_tree=start,
            grading_tree=grading,
            attestation=Attestation({}),
            digest=layers[0][0].removeprefix("tree-"),
            features=features(grading, gold) if task.kind == "ImplementFeature" else (),
        )
        return self._attested(task, prepared, gold, (layers[0][0], layers[1][0]))

    def _layer(self, tree: Tree, *, git: bool) -> tuple[str, Path]:
        """The key and folder of a tree's layer, written where it is not there."""
        key = f"tree-{_digest(tree, self._owner, git)}"
        path = self._store.publish(
            key, lambda dest: write_layer(dest, tree, owner=self._owner, git=git)
        )
        return key, path

    def _attested(
        self, task: Task, prepared: Prepared, gold: Tree, keys: tuple[str, str]
    ) -> _Entry:
        """Read everything that is in the layers."""
        seals = Seal(prepared.start), Seal(prepared.grading)
        found: Counter[str] = Counter()
        for layer, tree, git in (
            (prepared.start, prepared.start_tree, True),
            (prepared.grading, prepared.grading_tree, False),
        ):
            found.update(attest(layer, tree, gold, git=git, owner=self._owner).found)
        attestation = Attestation(dict(found))
        if not attestation.clean:
            raise TaskError(task.instance_id, _account(attestation, prepared))
        done = replace(prepared, attestation=attestation)
        return _Entry(done, gold, keys, seals)


def _identity(task: Task, environment: Environment) -> tuple[str, ...]:
    """All of a task that its layers are made from."""
    patches = task.start_patch, task.test_patch, task.patch
    hidden = "\0".join(sorted(task.hidden))
    return environment.digest, task.instance_id, task.base_commit, task.kind, hidden, *patches


def _digest(tree: Tree, owner: tuple[int, int] | None, git: bool) -> str:
    """A layer's content hash."""
    total = hashlib.sha256(f"{_FORMAT} {owner} {git}\n".encode())
    for path in sorted(tree):
        file = tree[path]
        total.update(b"%s\0%s %d\0" % (os.fsencode(path), file.mode.encode(), len(file.data)))
        total.update(file.data)
    return total.hexdigest()


def _account(attestation: Attestation, prepared: Prepared) -> str:
    """Say what was found, for a person."""
    meanings = FILE_COUNTS | GIT_COUNTS
    findings = (f"{n} {name} ({meanings[name]})" for name, n in attestation.found.items() if n)
    return (
        f"its workspace would give the answer away or is not as it was written: "
        f"{'; '.join(findings)}. Where the cache was changed by hand, remove "
        f"{prepared.start} and {prepared.grading}"
    )
