"""What a run is pinned to: everything that, changed, would make it another run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

RUN_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Pins:
    """The content of ``run.json``.

    Attributes:
        codegym: Version that wrote the run.
        env_id: Gymnasium id, for example ``"CodeGym/FixTests-v0"``.
        kind: The kind tasks are presented as; ``""`` where each row's own is.
        tasks: The task source as it was named.
        tasks_digest: Digest of its content.
        environments: Name to digest of each environment in it.
        images: Name to digest of each environment's image.
        requirements: Name to SHA-256 of each environment's lock file.
        policy: The policy as it was named.
        policy_version: Version of the policy.
        sampling: How it samples, as text values; empty for a policy that has no such settings.
        samples: Episodes for each task.
        seed: Seed of the whole run.
        options: Every option of the env, as text values.
        format: Version of the folder's layout.
    """

    codegym: str
    env_id: str
    kind: str
    tasks: str
    tasks_digest: str
    environments: Mapping[str, str]
    images: Mapping[str, str]
    requirements: Mapping[str, str]
    policy: str
    policy_version: str
    sampling: Mapping[str, str]
    samples: int
    seed: int
    options: Mapping[str, str]
    format: int = RUN_FORMAT

    def differences(self, other: Pins) -> list[tuple[str, str, str]]:
        """Where two runs differ: name (dotted within a mapping), this one's value, the other's."""
        found = []
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if isinstance(mine, Mapping):
                for key in sorted({*mine, *theirs}):
                    if mine.get(key) != theirs.get(key):
                        pair = (str(mine.get(key, "absent")), str(theirs.get(key, "absent")))
                        found.append((f"{field.name}.{key}", *pair))
            elif mine != theirs:
                found.append((field.name, str(mine), str(theirs)))
        return found


def file_digest(path: Path | None) -> str:
    """SHA-256 of a file; ``""`` where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path else ""
