"""The files of a run folder.

run.json                     what the run is pinned to
episodes.jsonl               one line for each finished episode, appended
trajectories/<index>.jsonl   a header, then one line for each turn, appended as it happens
checkpoints/<index>.json     where a long episode was, replaced atomically
network/<index>.jsonl        what an episode asked of the network, with each verdict, appended
network/<index>.index/       what registries answered in it
lock                         held by the one writer
"""

from __future__ import annotations

from pathlib import Path

RUN_FILE, EPISODES_FILE, LOCK_FILE = "run.json", "episodes.jsonl", "lock"
TRAJECTORIES, CHECKPOINTS, NETWORK = "trajectories", "checkpoints", "network"


def trajectory_file(run: Path, index: int) -> Path:
    """Where an episode's turns are."""
    return run / TRAJECTORIES / f"{index:06d}.jsonl"


def checkpoint_file(run: Path, index: int) -> Path:
    """Where a long episode's checkpoint is."""
    return run / CHECKPOINTS / f"{index:06d}.json"


def network_file(run: Path, index: int) -> Path:
    """Where what an episode asked of the network is."""
    return run / NETWORK / f"{index:06d}.jsonl"


def answers_folder(run: Path, index: int) -> Path:
    """Where what registries answered in an episode is."""
    return network_file(run, index).with_suffix(".index")
