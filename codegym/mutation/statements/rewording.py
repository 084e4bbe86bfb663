"""Statements that a model writes from the facts that the templates tell.

What it writes is looked through like any other statement. It has a few attempts; then the
template's text stays.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from codegym.errors import PolicyError
from codegym.grading.progress import SILENT, Progress
from codegym.mutation.statements.leaks import Secrets
from codegym.mutation.statements.telling import TEXTS, told
from codegym.mutation.statements.templates import Detail
from codegym.store import LayerStore
from codegym.types import Task, Tree

ATTEMPTS: Final = 3
_LENGTHS: Final = range(20, 4_000)
_RECORD: Final = "statement.json"
_VERSION: Final = "1"

SYSTEM: Final = (
    "You report problems of a program that you use, as its users do. You are given what was seen. "
    "Write the report: its text alone, no title, no greeting. Say what was done, what came of it "
    "and what should have, as far as you are told; make nothing up. You do not know the program's "
    "source: name no file, no line and no cause, and propose no repair."
)
_WANTED: Final[Mapping[Detail, str]] = {
    "low": "Write one or two sentences, without an example.",
    "medium": "Write a few sentences, with one example.",
    "high": "Write as much as helps to see the problem; keep the code that shows it.",
}


class Writer(Protocol):
    """Writes a text.

    Attributes:
        name: Of the model, for provenance: ``"chat:MODEL"``.
    """

    @property
    def name(self) -> str:
        """Its name."""
        ...

    async def say(self, system: str, prompt: str) -> str:
        """Answer a prompt.

        Raises:
            PolicyError: It could not this time.
            UnavailableError: It cannot at all.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reworded:
    """Tasks with statements of a model.

    Attributes:
        tasks: All, in order.
        counts: ``"written"``, ``"template"`` (where every attempt failed), ``"leaked"`` and
            ``"failed"`` (attempts).
    """

    tasks: tuple[Task, ...]
    counts: Mapping[str, int]


async def reword(
    tasks: Sequence[Task],
    tree: Tree,
    writer: Writer,
    detail: Detail,
    *,
    progress: Progress = SILENT,
    store: LayerStore | None = None,
) -> Reworded:
    """Have statements written anew, all at once; what was written is kept, so a rerun goes on.

    Args:
        tasks: Each with the templates' statements in its provenance; features stay as they are.
        tree: Their commit's files.
        writer: Writes.
        detail: The level that is told.
        progress: Told of each.
        store: Keeps what was written.

    Raises:
        UnavailableError: The writer cannot be reached.
    """
    kept, counts = store or LayerStore(), Counter[str](written=0, template=0, leaked=0, failed=0)
    progress.begin("statements", len(tasks))

    async def one(task: Task) -> Task:
        if task.kind == "ImplementFeature" or TEXTS not in task.provenance:
            return task
        text = await _written(task, Secrets.of(task, tree), writer, detail, kept, counts)
        progress.advance(task.instance_id)
        counts["template" if text is None else "written"] += 1
        if text is None:
            return task
        return told(task, {**task.provenance[TEXTS], detail: text}, detail, by=writer.name)

    made = await asyncio.gather(*(one(task) for task in tasks))
    return Reworded(tuple(made), dict(counts))


async def _written(
    task: Task, secrets: Secrets, writer: Writer, detail: Detail, store: LayerStore,
    counts: Counter[str],
) -> str | None:  # fmt: skip
    """A text that gives nothing away, or None where the attempts are used up."""
    facts = task.provenance[TEXTS][detail]
    prompt = f"What was seen:\n\n{facts}\n\n{_WANTED[detail]}"
    content = json.dumps([_VERSION, writer.name, task.instance_id, task.patch, SYSTEM, prompt])
    key = f"statement-{hashlib.sha256(content.encode('utf-8', 'replace')).hexdigest()}"
    if (found := store.find(key)) is not None:
        return str(json.loads((found / _RECORD).read_text()))
    asked = prompt
    for _ in range(ATTEMPTS):
        try:
            text = (await writer.say(SYSTEM, asked)).strip()
        except PolicyError:
            counts["failed"] += 1
            continue
        if len(text) not in _LENGTHS:
            counts["failed"] += 1
            continue
        leaks = secrets.leaks(text)
        if not leaks:
            store.publish(key, partial(_write, text))
            return text
        counts["leaked"] += 1
        asked = f"{prompt}\n\nDo not say: {'; '.join(leaks)}."
    return None


def _write(text: str, folder: Path) -> None:
    (folder / _RECORD).write_text(json.dumps(text))
