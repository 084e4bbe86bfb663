"""A running episode as data."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from codegym.sandbox.base import Sandbox
from codegym.types import Manifest, ShellState, Turn


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a running episode was: all that ``Episode.resume`` needs. Processes are not kept.

    Attributes:
        task_id: The task's ``instance_id``.
        seed: The episode's seed.
        turns: What happened so far.
        work: Files that differ from the start.
        state: The shell's directory and exported variables. Untrusted.
        seconds: Wall time used so far, of ``max_episode_sec``.
    """

    task_id: str
    seed: int
    turns: tuple[Turn, ...] = ()
    work: Manifest = field(default_factory=Manifest)
    state: ShellState = field(default_factory=ShellState)
    seconds: float = 0.0


async def restore(box: Sandbox, checkpoint: Checkpoint) -> None:
    """Bring a fresh sandbox to where the checkpoint was."""
    await box.apply(checkpoint.work.changes)
    state = checkpoint.state
    if state.exports or state.cwd:
        # Both came out of a sandbox's shell and go back into one; they are run nowhere else.
        go = f"cd -- {shlex.quote(state.cwd)}" if state.cwd else ":"
        await box.shell(f"{state.exports}\n{go}")
