"""A task as a board: the edits that can be chosen, and what can be seen of each."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codegym.agents.edits.choices import choices
from codegym.agents.edits.context import BUCKETS, WIDTH, features
from codegym.envs.kinds import present, shown_tests
from codegym.errors import TaskError
from codegym.grading.fresh import run_fresh
from codegym.grading.ready import Ready
from codegym.grading.setting import Setting
from codegym.mutation.candidates import Candidate, sources
from codegym.mutation.suspicion import Counts, Heat, heat_of
from codegym.store import LayerStore
from codegym.syntax import Parsed
from codegym.types import WORKSPACE, Change, Manifest, RecordingRunner, Task
from codegym.version import __version__

Cells = NDArray[np.float32]
Observed = dict[str, Cells]

_RECORD = "heat.json"
_VERSION = "1"


@dataclass(frozen=True, eq=False)
class Board:
    """What can be done about one task.

    Attributes:
        ready: The task, as it is presented.
        edits: To choose from, the most suspicious first.
        cells: Their features, shape ``(limit, WIDTH)``, 0 to 1; rows of zeros where there is none.
        heat: How suspicious lines are.
    """

    ready: Ready
    edits: tuple[Candidate, ...]
    cells: Cells
    heat: Heat

    @property
    def task(self) -> Task:
        """The task."""
        return self.ready.task

    def work(self, choice: int) -> Manifest:
        """What a policy would leave that made one edit."""
        edit = self.edits[choice]
        mode = self.ready.prepared.start_tree[edit.path].mode
        return Manifest((Change(edit.path, edit.mutant, mode == "100755"),))


class Boards:
    """The boards of many tasks, each made once. For one event loop.

    Args:
        limit: Edits of a board, at most.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._made: dict[str, asyncio.Future[Board]] = {}

    async def get(self, setting: Setting, task: Task) -> Board:
        """A task's board. Raises as ``board_of``, and tries again the next time."""
        future = self._made.get(task.instance_id)
        if future is None or (future.done() and (future.cancelled() or future.exception())):
            making = board_of(setting, task, self.limit, LayerStore())
            future = self._made[task.instance_id] = asyncio.ensure_future(making)
        return await asyncio.shield(future)


async def board_of(setting: Setting, task: Task, limit: int, store: LayerStore) -> Board:
    """Prepare a task.

    All of it follows from what a policy can see: the start tree, and which lines the shown tests
    run there.

    Args:
        setting: Makes it ready, and runs the shown tests once; what they run is kept.
        task: The row; presented as ``FixTests``.
        limit: So many edits at most, >= 1.
        store: Keeps which tests run which lines.

    Raises:
        TaskError: It is broken, or there is no edit to choose from.
        UsageError: It cannot be presented so.
        SandboxError: The infrastructure broke, more than once.
    """
    ready = await setting.ready(present(task, "FixTests"))
    files = sources(ready.environment, ready.prepared.start_tree)
    heat = await _heat(setting, ready, frozenset(files), store)
    return await asyncio.to_thread(_laid, ready, files, heat, limit)


def _laid(ready: Ready, files: Mapping[str, Parsed], heat: Heat, limit: int) -> Board:
    edits = choices(files, heat, limit)
    if not edits:
        raise TaskError(ready.task.instance_id, "no operator finds an edit in its sources")
    return Board(ready, edits, cells_of(edits, heat, limit), heat)


def cells_of(edits: Sequence[Candidate], heat: Heat, limit: int) -> Cells:
    """What is seen of edits, shape ``(limit, WIDTH)``, 0 to 1."""
    cells = np.zeros((limit, WIDTH), np.float32)
    cells[: len(edits)] = features(edits, heat) / BUCKETS
    return cells


def observed(cells: Cells, tried: Iterable[int], spent: float) -> Observed:
    """An observation: edits that were tried are seen no more.

    Args:
        cells: Of all edits.
        tried: Numbers of some.
        spent: The share of attempts that were made.
    """
    left = cells.copy()
    left[list(tried)] = 0.0
    return {"cand": left, "left": np.array([max(0.0, 1.0 - spent)], np.float32)}


async def _heat(setting: Setting, ready: Ready, files: frozenset[str], store: LayerStore) -> Heat:
    """How suspicious lines are; nothing where the suite's runner cannot record them."""
    runner, ids = ready.runner, shown_tests(ready.task)
    if not isinstance(runner, RecordingRunner):
        return {}
    scope = [_VERSION, __version__, ready.image.digest, ready.prepared.digest, ready.suite.name]
    content = json.dumps([*scope, ids, sorted(files)])
    key = f"heat-{hashlib.sha256(content.encode()).hexdigest()}"
    found = store.find(key)
    if found is None:
        inside = {f"{WORKSPACE}/{path}": path for path in sorted(files)}
        limit_sec = 20.0 * ready.suite.timeout_sec
        run = await run_fresh(
            setting.backend, ready, ids=ids, timeout_sec=limit_sec, record=tuple(inside)
        )
        outcomes = {record.id: record.outcome for record in run.records}
        passed = {name for name, outcome in outcomes.items() if outcome == "passed"}
        counts, failing = _counted(runner.lines(run.result.report), inside, passed)
        record = {"failing": failing, "counts": counts}
        found = store.publish(key, lambda folder: _write(folder / _RECORD, record))
    kept = json.loads((found / _RECORD).read_text())
    counts = {
        path: {int(line): (fails, passes) for line, (fails, passes) in lines.items()}
        for path, lines in kept["counts"].items()
    }
    return heat_of(counts, kept["failing"])


def _write(path: Path, record: object) -> None:
    path.write_text(json.dumps(record))


def _counted(
    lines: Mapping[str, Mapping[str, frozenset[int]]],
    inside: Mapping[str, str],
    passed: set[str],
) -> tuple[Counts, int]:
    """How many tests run each line that a failing one runs, and how many fail."""
    fails: Counter[tuple[str, int]] = Counter()
    passes: Counter[tuple[str, int]] = Counter()
    tests = {name: files for name, files in lines.items() if name}
    for name, files in tests.items():
        counter = passes if name in passed else fails
        counter.update((inside[f], line) for f in files if f in inside for line in files[f])
    counts: dict[str, dict[int, tuple[int, int]]] = {}
    for (path, line), count in sorted(fails.items()):
        counts.setdefault(path, {})[line] = count, passes[path, line]
    return counts, len(tests.keys() - passed)
