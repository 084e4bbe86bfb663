"""A run, in the order that data flows. Start reading here.

task source ─► policy ─► backend ─► setting ─► rollouts ─► run folder ─► summary
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import codegym
from codegym.agents import load_policy
from codegym.envs.options import EpisodeOptions
from codegym.envs.rollouts import Rollouts
from codegym.grading.setting import Setting
from codegym.registration import resolve
from codegym.runs import (
    EpisodeRecord,
    Pins,
    RunFolder,
    Summary,
    open_run,
    summarize,
)
from codegym.runs.recorder import Recorder
from codegym.sandbox import backends
from codegym.sandbox.images import build_image
from codegym.tasks import environment
from codegym.types import Image, Policy, TaskSource


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What to run: see ``codegym run --help``."""

    env_id: str
    out: Path
    policy: str
    tasks: str | None = None
    workers: int = 1
    samples: int = 1
    seed: int = 0
    policy_options: Mapping[str, str] = field(default_factory=dict)
    sandbox: str = "auto"
    network: str = "none"
    options: EpisodeOptions = field(default_factory=EpisodeOptions)


class Watcher:
    """Told how a run goes; override what is wanted."""

    def note(self, text: str) -> None:
        """Something that takes a while is being prepared."""

    def begin(self, total: int, finished: int) -> None:
        """There are so many episodes, of which so many were finished before."""

    def end(self, record: EpisodeRecord) -> None:
        """An episode ended."""


async def run(config: RunConfig, watcher: Watcher | None = None) -> Summary:
    """Play a policy on tasks, into a folder; go on where an earlier start was stopped.

    Raises:
        UsageError: An option that cannot be used, or a folder of another run.
        UnavailableError: No sandbox works here, or the disk is full.
    """
    watcher = watcher or Watcher()

    # Tasks come from a source, actions from a policy.
    source = resolve(config.tasks)
    policy = load_policy(config.policy, source, config.policy_options)

    # Sandboxes come from a backend. A setting makes tasks ready in them, and grades in fresh ones.
    async with open_setting(config.sandbox) as setting:
        images = await make_images(source, setting, watcher)

        # Whatever would make this another run is pinned; the folder refuses to go on with another.
        with RunFolder(config.out, pin(config, source, policy, images)) as folder:
            rollouts = Rollouts(
                setting,
                source,
                config.options,
                workers=config.workers,
                seed=config.seed,
                done=folder.finished,
                checkpoints=folder.checkpoints(),
                listener=Recorder(folder),
            )
            watcher.begin(config.samples * sum(1 for _ in source), len(folder.finished))

            # Episodes end in any order. Each is on the disk before the next is looked at.
            async with aclosing(rollouts.run(policy, samples=config.samples)) as results:
                async for result in results:
                    watcher.end(folder.finish(result))

    return summarize(open_run(config.out).episodes())


@asynccontextmanager
async def open_setting(sandbox: str) -> AsyncIterator[Setting]:
    """A setting over a backend, which are both closed at the end."""
    setting = Setting(backends.pick(sandbox))
    try:
        yield setting
    finally:
        await setting.close()


async def make_images(source: TaskSource, setting: Setting, watcher: Watcher) -> dict[str, Image]:
    """The image of each environment in the source; made where it is not in the cache."""
    names = sorted({task.environment for task in source})
    return {
        name: await build_image(environment(name), setting.backend, progress=watcher.note)
        for name in names
    }


def pin(config: RunConfig, source: TaskSource, policy: Policy, images: Mapping[str, Image]) -> Pins:
    """What the run is pinned to."""
    homes = {name: environment(name) for name in images}
    locks = {name: home.image.requirements for name, home in homes.items()}
    options = {**asdict(config.options), "sandbox": config.sandbox, "network": config.network}
    return Pins(
        codegym=codegym.__version__,
        env_id=config.env_id,
        kind=config.options.kind,
        tasks=config.tasks or "",
        tasks_digest=source.digest,
        environments={name: home.digest for name, home in homes.items()},
        images={name: image.digest for name, image in images.items()},
        requirements={
            name: hashlib.sha256(lock.read_bytes()).hexdigest() if lock else ""
            for name, lock in locks.items()
        },
        policy=config.policy,
        policy_version=policy.version,
        sampling=dict(config.policy_options),
        samples=config.samples,
        seed=config.seed,
        options={name: str(value) for name, value in options.items()},
    )
