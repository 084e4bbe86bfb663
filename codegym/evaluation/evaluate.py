"""Several policies on the same tasks and seeds, in one folder that can be resumed.

evaluation.json        the policies, in order, each with the name of its folder
<policy>/              its run: see ``codegym.runs.layout``
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegym.agents import policy_options
from codegym.envs.options import EpisodeOptions
from codegym.errors import DataError, NotFoundError, UsageError
from codegym.evaluation.report import PolicyRun, read_run
from codegym.loop import RunConfig, Watcher, run
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
    folders = _claim(config.out, config.policies)
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
    for name, place in _read(folder / FILE).items():
        if (folder / place / "run.json").exists():
            found.append(read_run(name, open_run(folder / place)))
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


def _claim(out: Path, policies: Sequence[str]) -> dict[str, str]:
    """Note the policies, after those that are noted already."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file, where an evaluation's folder is wanted")
    if out.is_dir() and not (out / FILE).exists() and any(out.iterdir()):
        raise UsageError(
            f"{out} is no evaluation (no {FILE}) and not empty; choose another folder with --out"
        )
    out.mkdir(parents=True, exist_ok=True)
    with locked_folder(out):
        noted = _read(out / FILE) if (out / FILE).exists() else {}
        every = noted | {name: _folder(name) for name in policies}
        if every != noted:
            with replacing(out / FILE) as file:
                file.write(json.dumps({"policies": every}, indent=2).encode() + b"\n")
    return {name: every[name] for name in policies}


def _folder(policy: str) -> str:
    """A folder's name that says which policy it is, and is another for each."""
    readable = _UNSAFE.sub("-", policy).strip("-.")[-40:] or "policy"
    return f"{readable}-{hashlib.sha256(policy.encode()).hexdigest()[:8]}"


def _read(path: Path) -> dict[str, str]:
    try:
        value: Any = json.loads(path.read_bytes())
        policies: Any = value["policies"]
        return {str(name): str(folder) for name, folder in policies.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(path, f"is not what `codegym evaluate` wrote: {error}") from None
