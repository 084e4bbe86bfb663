"""Tasks from an environment's history: each commit that repaired something that tests show.

What running a commit showed is kept in the cache, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from codegym.authoring.commits import GENERATOR, GENERATOR_VERSION, Candidate, first_parents
from codegym.authoring.commits import candidate as candidate_of
from codegym.authoring.proving import REPEATS, Proof, prove
from codegym.authoring.sorting import REASONS, Reason
from codegym.errors import UsageError
from codegym.grading.progress import SILENT, Progress
from codegym.grading.setting import Setting
from codegym.grading.trials import retried, together, workers
from codegym.store import LayerStore
from codegym.tasks import Environment, PackInfo, from_row, to_row
from codegym.tasks.rewriting import rewrite_pack
from codegym.tasks.sides import Sides
from codegym.types import Task
from codegym.version import __version__
from codegym.workspace.history import open_history

_RECORD = "proof.json"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A commit that changes tests and source and is no task."""

    commit: str
    subject: str
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class FromHistory:
    """What became of a history.

    Attributes:
        tasks: Oldest first.
        dropped: The other commits that change both tests and source.
        commits: How many were looked at in all.
        pack: What was written.
    """

    tasks: tuple[Task, ...]
    dropped: tuple[Dropped, ...]
    commits: int
    pack: PackInfo

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many were dropped for each reason."""
        return dict(Counter(one.reason for one in self.dropped))


async def from_history(
    environment: Environment,
    setting: Setting,
    progress: Progress = SILENT,
    *,
    store: LayerStore | None = None,
) -> FromHistory:
    """Make tasks of an environment's history and write them as the next version of its pack.

    Tasks that came to the pack in another way stay in it. The pack is written at the end, or not at
    all; a run that was stopped goes on where it was, from the cache.

    Raises:
        UsageError: No commit becomes a task, or the pack cannot be written.
        SandboxError: The infrastructure broke, more than once.
        DataError: The environment is broken.
        UnavailableError: This machine lacks something.
    """
    repository = await asyncio.to_thread(open_history, environment)
    sides = Sides(environment)
    commits = first_parents(repository, environment.head)
    made = [candidate_of(environment, repository, commit, sides) for commit in commits]
    candidates = [one for one in made if one is not None]
    progress.begin(f"commits of {environment.name}", len(candidates))
    proofs = await _prove_all(environment, setting, candidates, progress, store or LayerStore())
    tasks = tuple(proof.task for proof in proofs if proof.task is not None)
    dropped = tuple(_dropped(candidates, proofs))
    if not tasks:
        told = "; ".join(
            f"{count}: {REASONS[reason]}"
            for reason, count in Counter(one.reason for one in dropped).items()
        )
        raise UsageError(
            f"no commit of {environment.name} becomes a task: of {len(commits)}, "
            f"{len(candidates)} change both tests and what may be edited"
            + (f"; {told}" * bool(told))
        )
    pack = rewrite_pack(environment, tasks, replacing_generator=GENERATOR)
    return FromHistory(tasks, dropped, len(commits), pack)


async def _prove_all(
    environment: Environment,
    setting: Setting,
    candidates: list[Candidate],
    progress: Progress,
    store: LayerStore,
) -> list[Proof]:
    """One proof for each candidate, in order; as many at once as there are cores."""
    free = asyncio.Semaphore(workers())

    async def one(each: Candidate) -> Proof:
        if each.task is None:
            proof = Proof(None, "not_text", REASONS["not_text"])
        else:
            async with free:
                proof = await _remembered(environment, setting, each.task, store)
        progress.advance(f"{each.commit.hash[:8]} {proof.reason or 'is a task'}")
        return proof

    return await together(one(each) for each in candidates)


async def _remembered(
    environment: Environment, setting: Setting, task: Task, store: LayerStore
) -> Proof:
    """What the cache knows of a candidate; else what running it shows, which is then kept."""
    by = [GENERATOR_VERSION, REPEATS, __version__, sys.version_info[:3]]
    content = json.dumps([*by, environment.digest, to_row(task)])
    key = f"proof-{hashlib.sha256(content.encode()).hexdigest()}"
    found = store.find(key)
    if found is None:
        proof = await retried(lambda: prove(setting, environment, task))
        found = store.publish(key, lambda folder: _write(folder / _RECORD, proof))
    return _read(found / _RECORD)


def _write(path: Path, proof: Proof) -> None:
    row = to_row(proof.task) if proof.task else None
    path.write_text(json.dumps({**asdict(proof), "task": row}))


def _read(path: Path) -> Proof:
    record = json.loads(path.read_text())
    task = from_row(record["task"], path) if record["task"] else None
    return Proof(task, record["reason"], record["detail"])


def _dropped(candidates: list[Candidate], proofs: list[Proof]) -> Iterator[Dropped]:
    for each, proof in zip(candidates, proofs, strict=True):
        if proof.reason is not None:
            yield Dropped(each.commit.hash, each.commit.subject, proof.reason, proof.detail)
