"""A task from a bug that a user wrote down as a patch; running it finds the tests that notice."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from codegym.authoring.proving import UNKNOWN_TESTS, Proof, prove
from codegym.errors import DataError, TaskError, UsageError
from codegym.grading.progress import SILENT, Progress
from codegym.grading.setting import Setting
from codegym.grading.trials import retried
from codegym.tasks import Environment, PackInfo, Suite, is_pack, read_rows
from codegym.tasks.pack import ROWS
from codegym.tasks.rewriting import require_writable, rewrite_pack
from codegym.tasks.sides import Sides
from codegym.types import Task, Tree
from codegym.workspace.history import open_history
from codegym.workspace.names import is_bytecode, is_tool_cache
from codegym.workspace.patch import apply_patch, diff_trees

GENERATOR = "from-patch"
GENERATOR_VERSION = "1"


@dataclass(frozen=True, slots=True)
class FromPatch:
    """The task that a patch became, and the pack that it is in now."""

    task: Task
    pack: PackInfo


async def from_patch(
    environment: Environment,
    patch: Path,
    setting: Setting,
    *,
    statement: str = "",
    progress: Progress = SILENT,
) -> FromPatch:
    """Make a task of a bug and add it to the environment's pack, as its next version.

    Args:
        environment: Whose newest commit the patch applies to.
        patch: A unified diff that puts the bug in.
        setting: Runs the suite, with and without the bug, several times.
        statement: What a policy is told; by default, that some tests fail.
        progress: Told what takes time.

    Raises:
        DataError: The patch cannot be read, does not apply, or changes nothing.
        UsageError: It is no task: it changes tests, no test notices it, or the suite breaks
            otherwise; or the pack has it already, or cannot be written.
        SandboxError: The infrastructure broke, more than once.
    """
    require_writable(environment.folder)
    base = await asyncio.to_thread(_head_tree, environment)
    broken = _broken(environment, base, patch)
    candidate = _candidate(environment, base, broken, statement)
    _require_new(environment, candidate)
    progress.note(f"running the tests of {environment.name} with and without the bug")
    proof = await _prove(setting, environment, candidate)
    if proof.task is None:
        raise UsageError(f"{patch}: no task: {_why(proof)}")
    return FromPatch(proof.task, rewrite_pack(environment, [proof.task]))


def _why(proof: Proof) -> str:
    if proof.reason == "no_failing_test":
        return "every test passes with the bug in it; a task needs one that notices"
    if proof.reason == "collection_error":
        return f"with the bug in it tests cannot be collected, and must run to fail: {proof.detail}"
    return f"{proof.detail} (the change is the repair of the bug)"


def _head_tree(environment: Environment) -> Tree:
    """The newest commit's files, as workspaces have them."""
    tree = open_history(environment).tree_at(environment.head)
    return {
        path: file
        for path, file in tree.items()
        if not is_bytecode(path) and not is_tool_cache(path)
    }


def _broken(environment: Environment, base: Tree, patch: Path) -> Tree:
    """The tree with the bug in it."""
    try:
        text = patch.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise DataError(patch, f"cannot be read: {error.strerror}") from error
    try:
        broken = apply_patch(base, text, where=str(patch))
    except TaskError as error:
        problem = (
            f"does not apply to the newest commit of {environment.name}: {error.problem}. Make it "
            "with `git diff` in a copy of that commit (paths begin with a/ and b/)"
        )
        raise DataError(patch, problem) from error
    changed = sorted(p for p in base.keys() | broken.keys() if base.get(p) != broken.get(p))
    if not changed:
        raise DataError(patch, "changes nothing")
    sides = Sides(environment)
    for path in changed:
        if sides.side(path) == "tests":
            raise UsageError(
                f"{patch}: {path} is a test, or configures tests. A bug lies in the code; those "
                "who grade it use tests of their own"
            )
        if sides.side(path) == "other":
            raise UsageError(
                f"{patch}: {path} is not where {environment.name} permits edits, so nobody could "
                f"repair it ({', '.join(environment.edits.permitted)})"
            )
    return broken


def _candidate(environment: Environment, base: Tree, broken: Tree, statement: str) -> Task:
    bug = diff_trees(base, broken)
    digest = hashlib.sha256(bug.encode("utf-8", "surrogateescape")).hexdigest()
    usual = (
        f"Something in {environment.name} is broken: tests that passed before fail now. "
        "Find out why, and repair it."
    )
    return Task(
        instance_id=f"{environment.name}-{digest[:8]}",
        environment=environment.name,
        repo=environment.name,
        base_commit=environment.head,
        start_patch=bug,
        patch=diff_trees(broken, base),
        fail_to_pass=UNKNOWN_TESTS,
        pass_to_pass=(),
        problem_statement=statement.strip() or usual,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        kind="FixTests",
        language=environment.language,
        suite=environment.suites[0].name,
        provenance={"generator": GENERATOR, "generator_version": GENERATOR_VERSION},
    )


def _require_new(environment: Environment, candidate: Task) -> None:
    if not is_pack(environment.folder):
        return
    for task in read_rows(environment.folder / ROWS):
        if task.instance_id == candidate.instance_id:
            raise UsageError(f"this bug is a task already: {task.instance_id}")


async def _prove(setting: Setting, environment: Environment, candidate: Task) -> Proof:
    """Try the suites in turn; the first whose tests notice the bug has the task."""
    refused: list[Proof] = []
    for suite in environment.suites:
        proof = await _prove_in(suite, setting, environment, candidate)
        if proof.task is not None:
            return proof
        refused.append(proof)
    return refused[0]


async def _prove_in(
    suite: Suite, setting: Setting, environment: Environment, candidate: Task
) -> Proof:
    task = replace(candidate, suite=suite.name)
    return await retried(lambda: prove(setting, environment, task))
