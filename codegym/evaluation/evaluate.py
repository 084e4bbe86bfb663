"""Several policies on the same tasks and seeds, in one folder that can be resumed.

evaluation.json        the policies, in order, each with its folder and how many episodes it plays
<policy>/              its run: see ``codegym.runs.layout``
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from codegym.agents import policy_options
from codegym.envs.kinds import choose_rows
from codegym.envs.options import EpisodeOptions
from codegym.errors import DataError, NotFoundError, UsageError
from codegym.evaluation.report import PolicyRun, read_run
from codegym.loop import RunConfig, Watcher, run
from codegym.registration import resolve
from codegym.runs import open_run
from codegym.store import locked_folder, replacing

FILE = "evaluation.json"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """What to evaluate: see ``codegym evaluate --help``."""

    env_id: str
    out: Path
    policies: Sequence[str]
    tasks: str | None = None
    workers: int = 1
    samples: int = 1
    seed: int = 0
    policy_options: Mapping[str, str] = field(default_factory=dict)
    sandbox: str = "auto"
    options: EpisodeOptions = field(default_factory=EpisodeOptions)


async def evaluate(
    config: EvaluationConfig, watch: Callable[[str], Watcher] = lambda _: Watcher()
) -> list[PolicyRun]:
    """Play each policy in turn; go on where an earlier start was stopped.

    Args:
        config: What to do.
        watch: Makes what is told of one policy's run.

    Returns:
        One run for each policy, in order.

    Raises:
        UsageError: No policy, one twice, an option that none has, or a folder of something else.
        UnavailableError: This machine lacks a part.
    """
    shared = _options(config)
    source = choose_rows(resolve(config.tasks), config.options.kind)
    folders = _claim(config.out, config.policies, config.samples * sum(1 for _ in source))
    for name, folder in folders.items():
        one = RunConfig(
            env_id=config.env_id,
            out=config.out / folder,
            policy=name,
            tasks=config.tasks,
            workers=config.workers,
            samples=config.samples,
            seed=config.seed,
            policy_options=shared[name],
            sandbox=config.sandbox,
            options=config.options,
        )
        await run(one, watch(name))
    return open_evaluation(config.out)


def open_evaluation(folder: Path) -> list[PolicyRun]:
    """Read an evaluation, or a single run; of one that was stopped, what is there.

    Raises:
        NotFoundError: There is neither.
        DataError: A file is broken.
    """
    if not (folder / FILE).exists():
        if not folder.is_dir():
            raise NotFoundError("evaluation or run", str(folder), hint="there is no such folder")
        single = open_run(folder)
        return [read_run(single.pins.policy, single)]
    found = []
    policies, planned = _read(folder / FILE)
    for name, place in policies.items():
        if (folder / place / "run.json").exists():
            one = read_run(name, open_run(folder / place))
            found.append(replace(one, planned=planned.get(name, 0)))
    if not found:
        raise NotFoundError("run in an evaluation", str(folder), hint="no policy was played yet")
    return found


def _options(config: EvaluationConfig) -> dict[str, dict[str, str]]:
    """For each policy, those of the options that it has."""
    if not config.policies:
        raise UsageError("--policy: name at least one policy to evaluate")
    for name in config.policies:
        if config.policies.count(name) > 1:
            raise UsageError(f"--policy: {name!r} is there twice")
    known = {name: policy_options(name) for name in config.policies}
    every = sorted({option for each in known.values() for option in each})
    for option in config.policy_options:
        if option not in every:
            raise NotFoundError("option of these policies", option, every)
    return {
        name: {key: value for key, value in config.policy_options.items() if key in has}
        for name, has in known.items()
    }


def unplayed(folder: Path) -> list[str]:
    """Policies of an evaluation of which no episode was begun."""
    if not (folder / FILE).exists():
        return []
    policies, _ = _read(folder / FILE)
    return [name for name, place in policies.items() if not (folder / place / "run.json").exists()]


def _claim(out: Path, policies: Sequence[str], episodes: int) -> dict[str, str]:
    """Note the policies, after those that are noted already, and how many episodes each plays."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file, where an evaluation's folder is wanted")
    if out.is_dir() and not (out / FILE).exists() and any(out.iterdir()):
        raise UsageError(
            f"{out} is no evaluation (no {FILE}) and not empty; choose another folder with --out"
        )
    out.mkdir(parents=True, exist_ok=True)
    with locked_folder(out):
        noted, planned = _read(out / FILE) if (out / FILE).exists() else ({}, {})
        every = noted | {name: _folder(name) for name in policies}
        told = {"policies": every, "episodes": planned | dict.fromkeys(policies, episodes)}
        if told != {"policies": noted, "episodes": planned}:
            with replacing(out / FILE) as file:
                file.write(json.dumps(told, indent=2).encode() + b"\n")
    return {name: every[name] for name in policies}


def _folder(policy: str) -> str:
    """A folder's name that says which policy it is, and is another for each."""
    readable = _UNSAFE.sub("-", policy).strip("-.")[-40:] or "policy"
    return f"{readable}-{hashlib.sha256(policy.encode()).hexdigest()[:8]}"


def _read(path: Path) -> tuple[dict[str, str], dict[str, int]]:
    """The policies with their folders, and how many episodes each plays, where that is noted."""
    try:
        value: Any = json.loads(path.read_bytes())
        policies, episodes = value["policies"], value.get("episodes", {})
        folders = {str(name): str(folder) for name, folder in policies.items()}
        return folders, {str(name): int(count) for name, count in episodes.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(path, f"is not what `codegym evaluate` wrote: {error}") from None
