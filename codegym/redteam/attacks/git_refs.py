"""The answer in git, under a name: every kind of ref and of record that refers to a commit."""

from __future__ import annotations

from codegym.redteam.attack import Finding, attack
from codegym.redteam.play import PROBE, Play

SWE_BENCH = "github.com/SWE-bench/SWE-bench/issues/465"


@attack("git-log-all", "git", "The history of every branch is printed with its patches", SWE_BENCH)
async def log_all(play: Play) -> Finding:
    """What a model tries first."""
    return await play.leak(f"git log --all -p --full-history 2>&1 | {PROBE} stdin")
